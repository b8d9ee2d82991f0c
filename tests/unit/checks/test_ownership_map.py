"""OWN-MAP: peers of full slots in the window's pool, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Build = Callable[..., Any]
Line = dict[str, Any]
FULL = {"name": "full", "kind": "full", "slots": 64, "page_size": 1, "reserved_slots": 1}
SWA = {"name": "swa", "kind": "swa", "slots": 32, "page_size": 1, "reserved_slots": 1}
HEAD = {
    "pools": [FULL, SWA],
    "tables": ["alloc", "free", "free_group", "cache", "swa_map", "pool_stat"],
    "from_start": True,
}


def peers(*pairs: tuple[int, int], **more: Any) -> Line:
    full, swa = ([pair[k] for pair in pairs] for k in (0, 1))
    return {"event": "swa_map", "step": 1, "full_slots": full, "swa_slots": swa} | more


def alloc(*slots: int, pool: str = "full", **more: Any) -> Line:
    return {"event": "alloc", "step": 1, "pool": pool, "slots": list(slots), "reason": "extend"} | more


def free(*slots: int, pool: str = "full", **more: Any) -> Line:
    return {"event": "free", "step": 1, "pool": pool, "slots": list(slots), "reason": "finish"} | more


def group(action: str) -> Line:
    return {"event": "free_group", "action": action, "group": 1}


def stat(available: int, **more: Any) -> Line:
    return {"event": "pool_stat", "pool": "swa", "available": available, "total": 32} | more


GRANTED = [alloc(1, 2), peers((1, 11), (2, 12))]


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (GRANTED, ""),
        ([*GRANTED, alloc(3), peers((3, 12))], "full slot 3 gets the peer 12, which full slot 2 still has"),
        ([alloc(1, 2), peers((1, 11), (2, 11))], "full slot 2 gets the peer 11, which full slot 1 still has"),
        ([alloc(3), *GRANTED, peers((1, 0), (3, 11))], ""),  # the tree takes the peer over, the other has lost it
        ([*GRANTED, peers((3, 11), (1, 0))], "full slot 3 gets the peer 11, which full slot 1 still has"),
        ([alloc(3), *GRANTED, peers((3, 11)), peers((1, 0))], ""),  # by the event behind
        ([*GRANTED, peers((3, 11)), alloc(4), peers((1, 0))], "full slot 3 gets the peer 11, which full slot 1 still"),
        ([*GRANTED, peers((3, 11)), peers((1, 12))], "full slot 3 gets the peer 11, which full slot 1 still has"),
        ([*GRANTED, peers((1, 13))], "full slot 1 gets the peer 13 while it has 11, which nobody gives back"),
        ([*GRANTED, peers((1, 11))], ""),  # said again
        ([*GRANTED, peers((1, 0)), peers((1, 0))], ""),  # a tombstone
        ([*GRANTED, peers((1, 0)), peers((1, 13))], ""),
        ([*GRANTED, free(1), peers((1, 0)), alloc(1), peers((1, 13))], ""),
        ([*GRANTED, free(1), alloc(1), peers((1, 13))], "full slot 1 is granted with the peer 11"),
        ([*GRANTED, free(1), alloc(1), peers((1, 11))], "full slot 1 is granted with the peer 11"),
        ([*GRANTED, free(1), peers((1, 0)), peers((1, 13))], "full slot 1 gets the peer 13 while it is in the free"),
        ([*GRANTED, group("begin"), free(1), peers((1, 0)), peers((1, 13)), group("end")], ""),  # free at its end
        ([*GRANTED, free(1, reason="swa_window"), peers((1, 0)), peers((1, 13))], ""),  # its peer alone went back
        ([*GRANTED, free(11, pool="swa", reason="swa_window"), peers((1, 0))], ""),
        ([alloc(1, 2), peers((1, 0), (2, 12))], ""),  # the tail alone
        ([*GRANTED, {"event": "cache", "action": "reset"}, alloc(1), peers((1, 13))], ""),
        ([*GRANTED, {"event": "cache", "action": "reset"}, alloc(5), peers((5, 11))], ""),
        ([*GRANTED, stat(30)], ""),
        ([*GRANTED, stat(29)], "3 pages of pool swa are not available, 2 hold the peer of a full slot"),
        ([*GRANTED, peers((1, 0)), stat(31)], ""),
        ([*GRANTED, peers((1, 0), (2, 0)), stat(32)], ""),
        ([*GRANTED, peers((1, 0)), stat(30)], "2 pages of pool swa are not available, 1 hold"),
        ([*GRANTED, {"event": "cache", "action": "reset"}, stat(32)], ""),
    ],
)  # fmt: skip
def test_peers(judge: Build, lines: list[Line], wrong: str) -> None:
    result = judge("OWN-MAP", *lines, **HEAD)
    found = [f.message for f in result.findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    assert not result.unknown


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([alloc(1), alloc(11, pool="swa"), peers((1, 11))], ""),
        ([alloc(1), alloc(11, pool="swa"), peers((1, 12))], "full slot 1 gets the peer 12, which pool swa has not granted"),
        (
            [alloc(1), alloc(11, pool="swa"), free(11, pool="swa"), peers((1, 11))],
            "full slot 1 gets the peer 11, which pool swa has not granted",
        ),
    ],
)  # fmt: skip
def test_peers_that_the_windows_allocator_has_granted(judge: Build, lines: list[Line], wrong: str) -> None:
    found = [f.message for f in judge("OWN-MAP", *lines, **HEAD).findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    late = judge("OWN-MAP", *lines, **(HEAD | {"from_start": False}))
    assert len(late.findings) == (bool(wrong) and "free" in [line["event"] for line in lines])


def test_pages_of_peers(judge: Build) -> None:
    head = HEAD | {"pools": [FULL | {"page_size": 4, "reserved_slots": 4}, SWA | {"page_size": 4}]}
    lines = [alloc(4, 5, 6), peers((4, 8), (5, 9), (6, 10)), alloc(7), peers((7, 11)), stat(28)]
    assert not judge("OWN-MAP", *lines, **head).findings
    freed = [free(4), peers((4, 0), (5, 0), (6, 0), (7, 0)), stat(32)]
    assert not judge("OWN-MAP", *lines, *freed, **head).findings
    partly = [*lines, *freed[:1], peers((4, 0)), stat(28), alloc(4, 5)]
    kept, granted = judge("OWN-MAP", *partly, **head).findings
    assert kept.message.startswith("full slot 5 is free and still has the peer 9"), "a page goes back whole"
    assert kept.slots == (5, 6, 7)
    assert granted.message.startswith("full slot 5 is granted with the peer 9")
    assert granted.slots == (5,)


@pytest.mark.parametrize(
    ("lines", "head", "why"),
    [
        (
            [peers((1, 11)) | {"full_slots": None}],
            {},
            "no full_slots and swa_slots of one length, or no slots",
        ),
        ([*GRANTED, stat(29)], {"from_start": False}, "the mapping was not recorded from its beginning"),
    ],
)
def test_what_can_t_be_judged(judge: Build, lines: list[Line], head: Line, why: str) -> None:
    lines = [{name: value for name, value in line.items() if value is not None} for line in lines]
    result = judge("OWN-MAP", *lines, **(HEAD | head))
    assert not result.findings and [each.why for each in result.unknown] == [why]


def test_what_was_lost_may_have_cleared_the_mapping(judge: Build) -> None:
    numbered = [line | {"seq": seq} for seq, line in enumerate([*GRANTED, alloc(3), peers((3, 12))])]
    hole = [*numbered[:2], *(line | {"seq": line["seq"] + 1} for line in numbered[2:])]
    assert judge("OWN-MAP", *numbered, **HEAD).findings
    assert not judge("OWN-MAP", *hole, **HEAD).findings


USE = {"event": "forward", "mode": "idle"}


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([free(1), USE], "full slot 1 is free and still has the peer 11 at the next launch (event 3)"),
        ([free(1, 2), USE], "full slot 1 is free and still has the peer 11 at the next launch (event 3); the same of 1 more slot"),
        ([free(1), peers((1, 0)), USE], ""),
        ([peers((1, 0)), free(1), USE], ""),
        ([free(1), alloc(1), USE], "full slot 1 is granted with the peer 11"),
        ([free(1, reason="swa_window"), peers((1, 0)), USE], ""),
        ([group("begin"), free(1), USE, group("end"), peers((1, 0)), USE], ""),
        ([group("begin"), free(1), USE, group("end"), USE, peers((1, 0))], "full slot 1 is free and still has"),
        ([free(1), {"event": "cache", "action": "reset"}, USE], ""),
        ([free(11, pool="swa"), USE], "slot 11 of pool swa is free and still the peer of full slot 1 at the next launch (event 3)"),
        ([free(11, pool="swa", reason="swa_window"), USE, peers((1, 0))], "slot 11 of pool swa is free and still the peer"),
        ([free(11, pool="swa"), peers((1, 0)), USE], ""),
    ],
)  # fmt: skip
def test_a_free_that_leaves_the_mapping(judge: Build, lines: list[Line], wrong: str) -> None:
    """Nobody need be granted the slot again for it to show."""
    result = judge("OWN-MAP", *GRANTED, *lines, **HEAD)
    found = [finding.message for finding in result.findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    assert not result.unknown


def test_a_free_at_the_end_may_still_clear_the_mapping(judge: Build) -> None:
    result = judge("OWN-MAP", *GRANTED, free(1), **HEAD)
    assert not result.findings
    assert [each.why for each in result.unknown] == ["the recording ends before the free is settled"]


def test_without_a_mapping_that_is_recorded_there_is_no_instance(judge: Build) -> None:
    partly = HEAD | {"tables": [table for table in HEAD["tables"] if table != "swa_map"]}
    for head in (partly, HEAD | {"pools": [FULL]}):
        result = judge("OWN-MAP", alloc(1, 2), stat(29), **head)
        assert not result.checked["OWN-MAP"] and not result.findings


def test_pages_of_the_window_that_nobody_ever_mapped(judge: Build) -> None:
    (finding,) = judge("OWN-MAP", alloc(1, 2), stat(29), **HEAD).findings
    assert finding.message.startswith("3 pages of pool swa are not available, 0 hold")
    assert not judge("OWN-MAP", alloc(1, 2), stat(32), **HEAD).findings


def written(*slots: int, **more: Any) -> Line:
    line = {"event": "forward", "mode": "extend", "pool": "full", "row": 1, "epoch": 1, "start": 0}
    return line | {"slots": list(slots)} | more


END = {"event": "row_free", "row": 1, "epoch": 1}
ENTIRE = [*HEAD["tables"], "forward", "row_free"]


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([written(1, 2)], ""),
        ([peers((1, 0)), written(1, 2)], "full slot 1 is written and has no peer in pool swa: its mapping was cleared"),
        ([alloc(3), written(2, 3)], "full slot 3 is written and has no peer in pool swa: it never got one"),
        ([alloc(3, 4), written(3, 4)], "full slot 3 is written and has no peer in pool swa: it never got one; the same of 1 more"),
        ([alloc(3), written(3), peers((3, 13))], "full slot 3 is written and has no peer"),
        ([alloc(3), written(3, mode="draft")], ""),
        ([alloc(3), written(3, pool="draft")], ""),
        ([alloc(3), written(3, padded=True)], ""),
        ([alloc(3), END, written(3)], ""),  # the request has ended meanwhile
        ([alloc(3), END | {"epoch": 0}, written(3)], "full slot 3 is written and has no peer"),
        ([written(0)], ""),  # padding
        ([written(7)], ""),  # whoever writes what nobody was granted breaks another law
    ],
)  # fmt: skip
def test_what_is_written_has_a_peer(judge: Build, lines: list[Line], wrong: str) -> None:
    head = HEAD | {"tables": ENTIRE}
    result = judge("OWN-MAP", *GRANTED, *lines, **head)
    found = [finding.message for finding in result.findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    assert not result.unknown
    if wrong:
        untold = judge("OWN-MAP", *GRANTED, *lines, **(head | {"tables": without("swa_map")["tables"]}))
        assert not untold.findings and untold.unknown
    ring = judge("OWN-MAP", *GRANTED, *lines, **(head | {"pools": [FULL, SWA | {"owner": "request"}]}))
    assert not ring.findings, "a ring of each request has no peers to map"


def test_a_peer_that_was_not_seen(judge: Build) -> None:
    late = HEAD | {"tables": ENTIRE, "from_start": False}
    result = judge("OWN-MAP", alloc(3), written(3), **late)
    assert [each.why for each in result.unknown] == ["the peer of the slot was not seen"]
    assert not result.findings


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([peers((3, 13))], "full slot 3 gets the peer 13 while nobody was ever granted it"),
        ([peers((0, 13))], "full slot 0, which pads the batch and is nobody's, gets the peer 13"),
        ([peers((0, 0))], ""),
        (
            [{"event": "cache", "action": "reset"}, peers((1, 11))],
            "full slot 1 gets the peer 11 while nobody",
        ),
    ],
)
def test_a_peer_for_what_nobody_was_granted(judge: Build, lines: list[Line], wrong: str) -> None:
    found = [finding.message for finding in judge("OWN-MAP", *GRANTED, *lines, **HEAD).findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    if "nobody was" in wrong:
        late = judge("OWN-MAP", *GRANTED, *lines, **(HEAD | {"from_start": False}))
        assert not late.findings
        assert [each.why for each in late.unknown] == ["a grant of the slot may not have been recorded"]


def test_the_history_of_the_mapping_is_shown(judge: Build) -> None:
    (finding,) = judge("OWN-MAP", *GRANTED, alloc(3), peers((3, 12)), **HEAD).findings
    assert finding.slots == (2, 3)
    assert finding.evidence[1].rows == ((1, 1, 12),)


@pytest.mark.parametrize(
    "lines",
    [
        [alloc(3), peers((3, 12))],
        [peers((1, 13))],
        [free(1), alloc(1)],
        [free(1), USE],
    ],
    ids=["shared", "replaced", "left over", "kept"],
)
def test_a_peer_that_is_still_there_is_evidence_only_where_clears_are_recorded(
    judge: Build, lines: list[Line]
) -> None:
    assert judge("OWN-MAP", *GRANTED, *lines, **HEAD).findings
    result = judge("OWN-MAP", *GRANTED, *lines, **without("swa_map"))
    assert not result.findings
    assert [each.why for each in result.unknown] == ["a change of the mapping may not have been recorded"]


def without(table: str) -> Line:
    return HEAD | {"tables": [each for each in HEAD["tables"] if each != table]}


def test_a_peer_of_a_free_slot_is_evidence_where_grants_are_recorded(judge: Build) -> None:
    lines = [alloc(1), free(1), peers((1, 11))]
    assert judge("OWN-MAP", *lines, **without("swa_map")).findings
    result = judge("OWN-MAP", *lines, **without("alloc"))
    assert not result.findings
    assert [each.why for each in result.unknown] == ["a grant of the slot may not have been recorded"]
