"""ST-MAMBA: which recurrent state a request keeps, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Build = Callable[..., Any]
Line = dict[str, Any]
POOLS = [
    {"name": "full", "kind": "full", "slots": 960, "page_size": 1, "reserved_slots": 1},
    {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1},
]
HEAD = {"pools": POOLS, "tables": ["accept", "state_commit", "cache"], "from_start": True}


def commit(step_index: int | None, **more: Any) -> Line:
    line = {
        "event": "state_commit",
        "step": 1,
        "pool": "mamba",
        "request": "a",
        "row": 1,
        "step_index": step_index,
    }
    return {name: value for name, value in (line | more).items() if value is not None}


def cache(action: str, *slots: int, **more: Any) -> Line:
    """Of node 1, behind 64 tokens."""
    line = {"event": "cache", "action": action, "pool": "mamba", "request": "a", "slots": list(slots)}
    line |= {"node": 1, "served_len" if action == "match" else "key_len": 64} | more
    return {name: value for name, value in line.items() if value is not None}


def other(verify: Build, **columns: Any) -> Line:
    """The next verify of the request, of which the root alone is accepted."""
    line = verify(step=2, seq_len=13, new_seq_len=14, accept_len=1, num_correct_drafts=0)
    return line | {"accept_index": [0, -1, -1], "draft_tokens": [31, 1, 2, 3]} | columns


def found(result: Any) -> list[str]:
    return [finding.message for finding in result.findings]


@pytest.mark.parametrize(
    ("index", "wrong"),
    [(3, []), (2, ["the state after verify row 2 is kept, the last accepted row is 3"]), (4, ["the state after verify row 4 is kept, the last accepted row is 3"])],
)  # fmt: skip
def test_the_last_accepted_row_is_kept(judge: Build, verify: Build, index: int, wrong: list[str]) -> None:
    """The path is rows 0, 1, 3: not row n - 1, and not the batch's row."""
    assert found(judge("ST-MAMBA", verify(), commit(index), **HEAD)) == wrong
    later = verify(block_start=8, accept_index=[8, 9, 11])
    assert found(judge("ST-MAMBA", later, commit(index), **HEAD)) == wrong


def test_a_commit_may_be_deferred_to_the_next_verify(judge: Build, verify: Build) -> None:
    for step in (1, 2, None):
        assert not found(judge("ST-MAMBA", verify(), commit(3, step=step), other(verify), **HEAD))
    wrong = judge("ST-MAMBA", verify(), commit(0, step=2), other(verify), **HEAD)
    assert "the last accepted row is 3" in found(wrong)[0]


def test_every_verify_that_a_request_goes_on_from_needs_a_commit(judge: Build, verify: Build) -> None:
    third = other(verify, step=3, seq_len=14)
    lines = [verify(), commit(3), other(verify)]
    assert not found(judge("ST-MAMBA", *lines, **HEAD))  # nobody goes on from the last one
    (message,) = found(judge("ST-MAMBA", *lines, third, **HEAD))
    assert message.startswith(
        "no state is kept after a verify whose last accepted row is 0: the next verify (event 3)"
    )
    assert not found(judge("ST-MAMBA", *lines, commit(0, step=2), third, **HEAD))
    assert not found(judge("ST-MAMBA", *lines, third | {"epoch": 2}, **HEAD))  # a retract: another life


def test_a_full_accept_may_keep_the_advanced_state(judge: Build, verify: Build) -> None:
    full = other(verify, accept_len=4, accept_index=[0, 1, 2, 3], new_seq_len=17, num_correct_drafts=3)
    third = other(verify, step=3, seq_len=17)
    assert not found(judge("ST-MAMBA", verify(), commit(3), full, third, **HEAD))


def test_a_missing_commit_is_evidence_only_where_commits_are_recorded(judge: Build, verify: Build) -> None:
    lines = [verify(), other(verify), other(verify, step=3, seq_len=14)]
    assert len(found(judge("ST-MAMBA", *lines, **HEAD))) == 1, (
        "not one commit, and commits are recorded whole"
    )
    partly = HEAD | {"tables": ["accept"]}  # an engine that commits in another way does not claim them
    assert not found(judge("ST-MAMBA", *lines, **partly))
    assert not found(judge("ST-MAMBA", *lines, commit(0, step=3), **partly))
    without = HEAD | {"pools": POOLS[:1]}
    assert not found(judge("ST-MAMBA", *lines, **without))


def test_a_state_may_be_kept_twice(judge: Build, verify: Build) -> None:
    assert not found(judge("ST-MAMBA", verify(), commit(3), commit(3), **HEAD))


def test_a_commit_of_an_older_verify(judge: Build, verify: Build) -> None:
    lines = [verify(), commit(3), other(verify), commit(0, step=2), commit(3, step=1)]
    (message,) = found(judge("ST-MAMBA", *lines, **HEAD))
    assert message == "the state of an older verify (event 0) is kept after that of event 2"


def test_a_commit_to_the_row_of_another_request(judge: Build, verify: Build) -> None:
    second = verify(request="b", row=2, batch_index=1, block_start=4, accept_index=[4, 5, 7])
    lines = [verify(), second, commit(3), commit(3, request="b", row=1)]
    assert found(judge("ST-MAMBA", *lines, **HEAD)) == [
        "the state is kept for request row 1, the request has row 2 in its accept"
    ]


def test_rows_that_pad_the_batch_are_no_instances(judge: Build, verify: Build) -> None:
    result = judge("ST-MAMBA", verify(), commit(0, request=None, row=0), **HEAD)
    assert not result.checked["ST-MAMBA"] and not found(result)


def test_prefix_hits_load_what_the_tree_tracks(judge: Build) -> None:
    insert, evict, match = cache("insert", 3), cache("evict", 3), cache("match", 3)
    assert not found(judge("ST-MAMBA", insert, match, commit(None), **HEAD))
    assert not found(judge("ST-MAMBA", cache("match"), commit(None), **HEAD))  # none is claimed
    for lines in ([insert, evict, match], [match]):
        (message,) = found(judge("ST-MAMBA", *lines, commit(None), **HEAD))
        assert message.startswith("a prefix hit loads recurrent state 3, which the tree does not track")
    late = judge("ST-MAMBA", match, commit(None), **(HEAD | {"from_start": False}))
    assert not found(late) and "what the tree tracks was not seen" in {each.why for each in late.unknown}


def test_a_hit_behind_a_reset_finds_nothing_in_the_tree(judge: Build) -> None:
    insert, match, reset = cache("insert", 3), cache("match", 3), {"event": "cache", "action": "reset"}
    (message,) = found(judge("ST-MAMBA", insert, reset, match, commit(None), **HEAD))
    assert message.startswith("a prefix hit loads recurrent state 3, which the tree does not track")
    assert not found(judge("ST-MAMBA", insert, reset, insert, match, commit(None), **HEAD))
    assert found(judge("ST-MAMBA", insert, reset, match, commit(None), **(HEAD | {"from_start": False})))
    untold = judge("ST-MAMBA", insert, reset, match, commit(None), **(HEAD | {"tables": ["state_commit"]}))
    assert not found(untold) and "what the tree tracks was not seen" in {each.why for each in untold.unknown}


FIRST, SECOND = cache("insert", 3), cache("insert", 4, node=2, key_len=128)


def test_a_prefix_hit_loads_the_state_of_its_own_node(judge: Build) -> None:
    of_second = cache("match", 4, node=2, served_len=128)
    assert not found(judge("ST-MAMBA", FIRST, SECOND, of_second, commit(None), **HEAD))
    wrong = of_second | {"slots": [3]}
    (message,) = found(judge("ST-MAMBA", FIRST, SECOND, wrong, commit(None), **HEAD))
    assert message.endswith(
        "recurrent state 3, which is that behind 64 tokens, for 128 tokens that it serves"
    )


def test_a_longer_hit_of_the_same_node_goes_on_from_too_early_a_state(judge: Build) -> None:
    (message,) = found(judge("ST-MAMBA", FIRST, cache("match", 3, served_len=68), commit(None), **HEAD))
    assert message.endswith("recurrent state 3, which is that behind 64 tokens, for 68 tokens that it serves")


@pytest.mark.parametrize(
    ("more", "open_"),
    [
        ({"node": None, "served_len": None}, True),
        ({"node": 2, "served_len": None}, True),
        ({"node": None, "served_len": 128}, True),
        ({"node": 2, "served_len": 64}, False),  # a node that was split has another number
        ({"node": 1, "served_len": 60}, False),  # what was inserted ended inside a page
    ],
)
def test_one_of_node_and_length_tells_that_it_is_the_state(judge: Build, more: Line, open_: bool) -> None:
    result = judge("ST-MAMBA", FIRST, cache("match", 3, **more), commit(3), **HEAD)
    why = "neither nodes nor lengths of the state and of the hit"
    assert not found(result) and (why in {each.why for each in result.unknown}) == open_


def test_each_pool_has_states_of_its_own(judge: Build) -> None:
    head = HEAD | {"pools": [*POOLS, POOLS[1] | {"name": "mamba2"}]}
    lines = [cache("insert", 3), cache("evict", 3, pool="mamba2"), cache("match", 3), commit(None)]
    assert not found(judge("ST-MAMBA", *lines, **head))
    assert found(judge("ST-MAMBA", *lines[:2], cache("match", 3, pool="mamba2"), commit(None), **head))


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (commit(None), "no step_index"),
        (commit(3, row=7, request="b"), "no accept whose path is known"),
        (commit(3, row=None), "events of state_commit have no row"),
    ],
)
def test_what_can_t_be_judged(judge: Build, verify: Build, line: Line, why: str) -> None:
    result = judge("ST-MAMBA", verify(), line, **HEAD)
    assert not found(result) and [each.why for each in result.unknown] == [why]


@pytest.mark.parametrize("table", ["accept", "state_commit"])
def test_what_was_dropped_may_have_been_the_commit(judge: Build, verify: Build, table: str) -> None:
    drop = {"event": "drop", "table": table, "rows": 1, "why": "queue full"}
    third = other(verify, step=3, seq_len=14)
    result = judge("ST-MAMBA", verify(), commit(3), other(verify), drop, third, **HEAD)
    assert not found(result) and result.unknown


def test_a_tree_path_that_ends_in_the_last_row_needs_its_commit(judge: Build, verify: Build) -> None:
    """Rows 0, 1, 3 of four: the advanced state went through row 2 as well."""
    (message,) = found(judge("ST-MAMBA", verify(), other(verify), **HEAD))
    assert "whose last accepted row is 3" in message


@pytest.mark.parametrize("lives", [[{"event": "row_alloc", "request": "b", "row": 1, "epoch": 2}], []])
def test_a_commit_of_a_new_life_is_not_judged_by_the_accept_of_the_life_before(
    judge: Build, verify: Build, lives: list[Line]
) -> None:
    """Its own accept is still to come; without epochs the requests tell the lives apart."""
    last = other(verify, request="b", step=3, epoch=2)
    result = judge("ST-MAMBA", verify(), commit(3), *lives, commit(0, request="b", step=3), last, **HEAD)
    assert not found(result)
    assert [each.why for each in result.unknown] == ["no accept whose path is known"]


def test_a_session_keeps_the_life_of_its_row(judge: Build, verify: Build) -> None:
    """The next turn has another request id: the epochs tell that the life is the same."""
    head = HEAD | {"tables": [*HEAD["tables"], "row_alloc"]}
    lines = [{"event": "row_alloc", "request": "a", "row": 1, "epoch": 1}, verify()]
    assert found(judge("ST-MAMBA", *lines, commit(2, request="b", step=3), **head))
    assert not found(judge("ST-MAMBA", *lines, commit(3, request="b", step=3), **head))


def test_a_commit_whose_accept_may_be_lost_is_not_judged_by_the_one_before(
    judge: Build, verify: Build
) -> None:
    lines = verify(), commit(2, step=2)
    assert found(judge("ST-MAMBA", *lines, **HEAD)), "it is deferred"
    part = HEAD | {"tables": ["state_commit", "cache"]}
    result = judge("ST-MAMBA", *lines, **part)
    assert not found(result) and "no accept whose path is known" in {each.why for each in result.unknown}


def test_a_lost_beginning_of_a_life_does_not_take_its_commits_away(judge: Build, verify: Build) -> None:
    """The row's last allocation that was recorded is of the life before."""
    before = {"event": "row_alloc", "request": "z", "row": 1, "epoch": 0, "step": 1}
    lines = [
        before | {"seq": 0},
        verify(seq=2),
        commit(3, seq=3),
        other(verify, seq=4),
        commit(0, step=2, seq=5),
    ]
    head = HEAD | {"tables": [*HEAD["tables"], "row_alloc"]}
    assert not found(judge("ST-MAMBA", *lines, **head))
