"""MOV-ALLPOOLS and MOV-CONTENT: all of a moved row arrives, and what is no loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult

Line = dict[str, Any]
Judge = Callable[..., CheckResult]
FULL = {"name": "full", "kind": "full", "slots": 1000, "page_size": 1, "reserved_slots": 1}
KV = FULL | {"components": ["k", "v"]}
INDEXER = FULL | {
    "name": "indexer",
    "kind": "indexer",
    "allocated_by": "full",
    "components": ["key", "scale"],
}


def move(**columns: Any) -> Line:
    """The smallest example's move: row C comes to position 12."""
    line: Line = {"event": "move", "step": 1, "pool": "full", "caller": "accept", "components": ["k", "v"]}
    return line | {"src": [100, 101, 103, 0], "tgt": [100, 101, 102, 0]} | columns


def parts(judge: Judge, *moves: Line, pools: tuple[Line, ...] = (KV,)) -> CheckResult:
    return judge("MOV-ALLPOOLS", *moves, pools=list(pools))


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


@pytest.mark.parametrize(
    "moves",
    [
        [move()],
        [move(components=["k"]), move(components=["v"])],
        [move(components=["v", "scale", "k"])],
        [move(src=[103], tgt=[102]), move(src=[203], tgt=[202])],
    ],
    ids=["one call", "one a component", "more than is declared", "one a request"],
)
def test_all_that_is_declared_moves(judge: Judge, moves: list[Line]) -> None:
    result = parts(judge, *moves)
    assert reasons(result) == {} and result.checked["MOV-ALLPOOLS"] == 1


def test_a_component_that_stays_behind(judge: Judge, verify: Callable[..., Line]) -> None:
    (finding,) = parts(judge, verify(), move(components=["k"])).findings
    assert "v of pool full" in finding.message and finding.request == "a" and finding.slots == (103, 102)
    assert finding.evidence[0].rows[1] == ("full", "v", 0, 1, "102 <- 103") and finding.evidence[
        0
    ].marked == (1,)


def test_a_pair_that_one_component_lacks(judge: Judge) -> None:
    whole = {"src": [103, 203], "tgt": [102, 202]}
    moves = move(components=["k"], **whole), move(components=["v"], src=[203], tgt=[202])
    (finding,) = parts(judge, *moves).findings
    assert finding.slots == (103, 102) and finding.actual == "k: 2, v: 1"


def test_an_indexer_with_the_same_slots_moves_too(judge: Judge) -> None:
    both = move(), move(pool="indexer", components=["key", "scale"])
    assert reasons(parts(judge, *both, pools=(KV, INDEXER))) == {}
    (finding,) = parts(judge, both[0], pools=(KV, INDEXER)).findings
    assert "key of pool indexer, scale of pool indexer" in finding.message


def test_a_call_that_is_not_there_is_evidence_only_where_moves_are_recorded_whole(judge: Judge) -> None:
    for tables in (["swa_map"], ["move"]):
        result = judge("MOV-ALLPOOLS", move(), pools=[KV, INDEXER], tables=tables)
        assert len(result.findings) == ("move" in tables)
        assert [unknown.why for unknown in result.unknown] == ["moves were not recorded whole"] * (
            "move" not in tables
        )


SWA = {
    "name": "swa",
    "kind": "swa",
    "slots": 99,
    "page_size": 1,
    "reserved_slots": 1,
    "components": ["k", "v"],
}
TOLD = {"tables": ["accept", "move", "swa_map", "cache"], "from_start": True}


def peers(*pairs: tuple[int, int], **more: Any) -> Line:
    """Full slots and their peers."""
    full, swa = zip(*pairs, strict=True)
    return {"event": "swa_map", "step": 1, "full_slots": list(full), "swa_slots": list(swa)} | more


MAPPED = peers((100, 10), (101, 11), (102, 12), (103, 13))
WINDOW = {"pool": "swa", "src": [10, 11, 13, 0], "tgt": [10, 11, 12, 0]}


def windowed(judge: Judge, *lines: Line, pool: Line = SWA, **head: Any) -> CheckResult:
    """Where the pool of a window goes along."""
    return judge("MOV-ALLPOOLS", *lines, pools=[KV, pool], **(TOLD | head))


@pytest.mark.parametrize(
    "lines",
    [
        [MAPPED, move(**WINDOW), move()],
        [MAPPED, move(), move(**WINDOW)],
        [MAPPED, move(**WINDOW, components=["k"]), move(**WINDOW, components=["v"]), move()],
        [peers((100, 10), (101, 11), (102, 12)), move()],  # row C has left the window
        [peers((100, 10), (101, 11), (103, 13)), move()],  # its place has
        [MAPPED, peers((102, 0), (103, 0)), move()],
        [peers((102, 9), (103, 8)), MAPPED, move(**WINDOW), move()],  # the mapping as it stands at the call
        [MAPPED, move(**WINDOW), move(), peers((102, 0), (103, 0))],
        [MAPPED, {"event": "cache", "action": "reset"}, move()],  # all allocators started over
        [peers((102, 12), (103, 12)), move()],  # one peer for both: there is nothing to move
        [MAPPED, move(src=[100], tgt=[100])],
    ],
)
def test_the_windows_rows_go_to_the_peers_of_the_targets(judge: Judge, lines: list[Line]) -> None:
    assert reasons(windowed(judge, *lines)) == {}


def test_a_window_that_stays_behind(judge: Judge, verify: Callable[..., Line]) -> None:
    (finding,) = windowed(judge, MAPPED, verify(), move()).findings
    assert finding.message.endswith("k of pool swa, v of pool swa stay where they were")
    assert (finding.request, finding.slots) == ("a", (103, 102)), "by the slots of the main pool"
    assert finding.evidence[0].rows[2:] == (("swa", "k", 0, 1, "12 <- 13"), ("swa", "v", 0, 1, "12 <- 13"))
    assert finding.actual == "k: 1, v: 1, k of swa: 0, v of swa: 0"


@pytest.mark.parametrize(
    "call",
    [
        WINDOW | {"components": ["k"]},
        WINDOW | {"src": [10, 11, 12], "tgt": [10, 11, 13]},
        WINDOW | {"src": [103], "tgt": [102]},  # slots that nobody translated
        WINDOW | {"step": 2},
        WINDOW | {"caller": "draft_tail"},
        WINDOW | {"src": [10, 11, 9], "tgt": [10, 11, 8]},  # by the mapping of an earlier holder
    ],
)
def test_a_window_that_moves_otherwise(judge: Judge, call: Line) -> None:
    told = windowed(judge, peers((102, 8), (103, 9)), MAPPED, move(**call), move())
    alone = [2] if call.get("step") == 2 else []
    assert [finding.step for finding in told.findings] == [*alone, 1], (
        "a call of another step moves the window alone"
    )


@pytest.mark.parametrize(
    ("lines", "head", "why"),
    [
        ([move()], {"from_start": False}, "which slots of the window's pool a moved row has is not known"),
        ([move()], {"tables": ["move"]}, "which slots of the window's pool a moved row has is not known"),
        ([MAPPED, move(), move(**WINDOW, components=None)], {},
         "a mover call of the window's pool does not name its components"),
        ([MAPPED, move()], {"tables": ["move"]}, "which slots of the window's pool a moved row has is not known"),
        ([MAPPED, move()], {"tables": ["swa_map"]}, "moves were not recorded whole"),
        ([MAPPED, move()], {"pool": SWA | {"components": None}},
         "the process line does not declare the components of the window's pool"),
        ([MAPPED, move(), peers((103, 0))], {},
         "a peer in the window's pool was given up in the move's own step: only the stream's order tells which came first"),
        ([MAPPED, peers((103, 0), swa_slots=None), move()], {},
         "which slots of the window's pool a moved row has is not known"),
    ],
)  # fmt: skip
def test_what_is_not_said_of_a_window_is_unknown(
    judge: Judge, lines: list[Line], head: Line, why: str
) -> None:
    assert reasons(windowed(judge, *lines, **head)) == {why: 1}


def test_what_surely_stays_behind_is_found_whatever_is_not_known_of_the_window(judge: Judge) -> None:
    result = windowed(judge, move(components=["k"]), from_start=False)
    assert [finding.message for finding in result.findings] == [
        "accepted rows are moved without all they consist of: v of pool full stays where it was"
    ]


def test_a_peer_that_is_given_up_in_the_own_step_counts_where_nothing_overlaps(judge: Judge) -> None:
    settings = {"overlap": False}
    assert windowed(judge, MAPPED, move(), peers((103, 0)), settings=settings).findings
    assert windowed(judge, MAPPED, move(), peers((103, 0), step=2)).findings


def test_a_hole_behind_what_the_peers_rest_on_hides_them(judge: Judge) -> None:
    first, *later = MAPPED | {"seq": 0}, move(seq=5)
    assert list(reasons(windowed(judge, first, *later))) == ["events 1 to 4 are missing"]


def test_a_window_that_moves_alone(judge: Judge) -> None:
    (finding,) = windowed(judge, MAPPED, move(**WINDOW)).findings
    assert finding.message.startswith("1 row of pool swa moves and nothing of pool full in the step")
    assert finding.evidence[0].rows == (("swa", "k", 1, 1, ""), ("swa", "v", 1, 1, ""))
    other = windowed(
        judge, MAPPED, move(**WINDOW), move(src=[103], tgt=[102], step=2), move(**WINDOW | {"step": 2})
    )
    assert [found.step for found in other.findings] == [1], "another step's call brings nothing along"
    unrecorded = windowed(judge, MAPPED, move(**WINDOW), tables=["swa_map"])
    assert reasons(unrecorded) == {"moves were not recorded whole": 1}
    assert reasons(windowed(judge, MAPPED, move(**WINDOW, caller="draft_tail"))) == {}


def test_a_hole_in_the_step_may_hide_the_call_that_is_missing(judge: Judge) -> None:
    """The step goes from the call or verify of another one before to the next one behind."""
    step = {"event": "forward", "step": 1, "mode": "idle"}
    alone = [MAPPED | {"seq": 0}, step | {"seq": 1}, move(**WINDOW, seq=2)]
    assert windowed(judge, *alone).findings
    behind = move(seq=6, step=2), move(**WINDOW | {"step": 2, "seq": 7})
    for at in (1, 3, 4):
        lines = [line for seq, line in enumerate([*alone, step | {"seq": 3}, step | {"seq": 4}]) if seq != at]
        assert windowed(judge, *lines, step | {"seq": 5}, *behind).findings == (), at
    lost = [move(seq=0), step | {"seq": 1}, step | {"seq": 3}]
    assert reasons(parts(judge, *lost, pools=(KV, INDEXER))) == {"event 2 is missing": 1}
    assert parts(judge, lost[0], lost[1], step | {"seq": 2}, pools=(KV, INDEXER)).findings


def test_a_step_that_may_have_begun_before_the_recording(judge: Judge) -> None:
    why = "the step of the calls may have begun before the recording"
    late = {"from_start": False}
    before = move(src=[100], tgt=[100], step=0)
    assert reasons(windowed(judge, MAPPED, move(**WINDOW), **late)) == {why: 1}
    assert windowed(judge, before, MAPPED, move(**WINDOW), **late).findings


def test_a_window_with_the_same_slots_moves_too(judge: Judge) -> None:
    shared = SWA | {"allocated_by": "full"}
    assert reasons(windowed(judge, move(), move(pool="swa"), pool=shared)) == {}
    (finding,) = windowed(judge, move(), pool=shared).findings
    assert finding.message.endswith("k of pool swa, v of pool swa stay where they were")


def test_whose_peers_are_told_of_two_windows_is_not_known(judge: Judge) -> None:
    head = TOLD | {"pools": [KV, SWA, SWA | {"name": "other"}]}
    why = "there are several windows' pools: whose slots the peers of moved rows are is not said"
    assert reasons(judge("MOV-ALLPOOLS", MAPPED, move(), move(**WINDOW), **head)) == {why: 1}
    assert judge("MOV-ALLPOOLS", MAPPED, move(components=["k"]), **head).findings


@pytest.mark.parametrize("kind", ["draft", "mamba"])
def test_other_pools_are_not_moved_by_these_calls(judge: Judge, kind: str) -> None:
    other = INDEXER | {"name": kind, "kind": kind}
    assert reasons(parts(judge, move(), pools=(KV, other))) == {}


@pytest.mark.parametrize(
    "line",
    [move(src=[100, 0], tgt=[100, 0]), move(caller="draft_tail"), move(tgt=[0, 0, 0, 0])],
    ids=["identities", "a prefix's tail", "into the dummy"],
)
def test_calls_that_move_no_accepted_row(judge: Judge, line: Line) -> None:
    result = parts(judge, line | {"components": ["k"]})
    assert reasons(result) == {} and result.checked["MOV-ALLPOOLS"] == 0


def test_what_is_not_said_is_unknown(judge: Judge) -> None:
    assert reasons(parts(judge, move(), pools=(FULL,))) == {
        "the process line does not declare the pool's components": 1
    }
    named = parts(judge, move(), move(components=None))
    assert reasons(named) == {"a mover call does not name its components": 1}
    stepless = parts(judge, move(step=None, components=["k"]), move(step=None, components=["v"]))
    assert reasons(stepless) == {"no step tells which calls move the same batch": 2}


def content(judge: Judge, *lines: Line) -> CheckResult:
    return judge("MOV-CONTENT", *lines)


def test_what_was_there_before_arrives(judge: Judge) -> None:
    result = content(judge, move(src_before=[1, 2, 4, 9], tgt_after=[1, 2, 4, 8]))
    assert reasons(result) == {} and result.checked["MOV-CONTENT"] == 1


def test_something_else_arrives(judge: Judge, verify: Callable[..., Line]) -> None:
    (finding,) = content(judge, verify(), move(src_before=[1, 2, 4, 9], tgt_after=[1, 2, 3, 9])).findings
    assert finding.slots == (102,) and finding.request == "a"
    assert finding.evidence[0].rows == ((2, 103, f"{4:016x}", 102, f"{3:016x}"),)


def test_a_target_that_two_pairs_name_holds_one_of_them(judge: Judge) -> None:
    twice = move(src=[101, 103], tgt=[102, 102], src_before=[2, 4], tgt_after=[4, 4])
    assert reasons(content(judge, twice)) == {}
    (finding,) = content(judge, twice | {"tgt_after": [5, 5]}).findings
    assert finding.slots == (102,)


def test_any_caller_is_judged(judge: Judge) -> None:
    tail = move(
        caller="draft_tail", pool="draft", src=[7, 7], tgt=[8, 9], src_before=[1, 1], tgt_after=[1, 2]
    )
    (finding,) = content(judge, tail).findings
    assert finding.slots == (9,)


@pytest.mark.parametrize(
    "columns",
    [{}, {"src_before": [1, 2, 4, 0]}],
    ids=["none", "half"],
)
def test_without_fingerprints_nothing_is_known(judge: Judge, columns: Line) -> None:
    assert reasons(content(judge, move(**columns))) == {"no fingerprints were taken of the moved slots": 1}
