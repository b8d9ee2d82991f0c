"""The end of a request's hold."""

from types import SimpleNamespace

import pytest

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.sglang.release import ReleaseHooks


class FINISH_ABORT:
    """An abort's finish reason."""


class FINISH_LENGTH:
    """A finish at max_new_tokens."""


def released(toy, inside=lambda: None, **request):
    """Run release_kv_cache of a request; `inside` stands for what the engine does."""
    req = toy.request("a", 1, **request)
    req.kv_committed_len, req.kv_allocated_len = 10, 24
    steps = ReleaseHooks(toy.scene).release(Call({"req": 0}, (req,), {}))
    next(steps)
    inside()
    with pytest.raises(StopIteration):
        steps.send(None)
    return toy.sink.of("release")[0]


def test_it_says_its_boundary_before_its_frees(paged_toy):
    row = released(paged_toy)
    assert (row["kind"], row["committed"], row["allocated"]) == ("finish", 10, 24)
    assert (row["free_start"], row["page_size"]) == (12, 4)
    assert paged_toy.sink.of("lengths") == []


def test_an_abort_is_known_by_its_reason(toy):
    assert released(toy, finished_reason=FINISH_ABORT())["kind"] == "abort"


def test_a_retract_is_known_by_who_releases(toy):
    toy.scene.activity.retracting = True
    assert released(toy)["kind"] == "retract"


def test_a_shorter_length_that_is_kept_is_said_first(toy):
    row = released(toy, finished_reason=FINISH_LENGTH(), owned_kv_len=lambda: 8)
    assert (row["committed"], row["free_start"]) == (8, 8)
    assert toy.sink.of("lengths", "committed", "cause", "cut") == [(8, "finish", "max_len")]
    assert [row["event"] for row in toy.sink.rows] == ["lengths", "release"]


def test_frees_inside_belong_to_the_request(toy):
    seen = []
    released(toy, inside=lambda: seen.append(toy.scene.activity.request.request))
    assert seen == ["a"]
    assert toy.scene.activity.request.request is None


def test_a_request_without_a_row_releases_nothing(toy):
    steps = ReleaseHooks(toy.scene).release(
        Call({"req": 0}, (SimpleNamespace(rid="w", req_pool_idx=None),), {})
    )
    next(steps)
    assert toy.sink.rows == []
