"""OWN-REF: references to counted pages, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import Severity

Build = Callable[..., Any]
Line = dict[str, Any]
C128 = {"name": "c128", "kind": "c128", "slots": 64, "page_size": 4, "reserved_slots": 4, "owner": "sidecar"}
POOLS = [{"name": "full", "kind": "full", "slots": 4096, "page_size": 128, "reserved_slots": 128}, C128]
TABLES = ["row_alloc", "row_free", "alloc", "free", "table_write", "page_ref", "forward", "cache"]
HEAD = {"pools": POOLS, "tables": TABLES, "from_start": True}
LATE = HEAD | {"from_start": False}


def take(holder: str | None, pages: list[int], counts: list[int] | None, **more: Any) -> Line:
    return _ref("retain", holder, pages, counts) | more


def give(holder: str | None, pages: list[int], counts: list[int] | None, **more: Any) -> Line:
    return _ref("release", holder, pages, counts) | more


def _ref(action: str, holder: str | None, pages: list[int], counts: list[int] | None) -> Line:
    line = {"event": "page_ref", "pool": "c128", "action": action, "holder": holder, "pages": pages}
    line |= {"count_after": counts}
    return {name: value for name, value in line.items() if value is not None}


def alloc(*pages: int) -> Line:
    return {"event": "alloc", "pool": "c128", "slots": [4 * page for page in pages], "reason": "extend"}


def free(*pages: int) -> Line:
    return {"event": "free", "pool": "c128", "slots": [4 * page for page in pages], "reason": "finish"}


def name(row: int, *pages: int, start: int = 0) -> Line:
    return {
        "event": "table_write",
        "pool": "c128",
        "row": row,
        "epoch": 1,
        "start": start,
        "slots": list(pages),
    }


def end(row: int) -> Line:
    return {"event": "row_free", "request": "a", "row": row, "epoch": 1}


def begin(row: int) -> Line:
    return {"event": "row_alloc", "request": "b", "row": row, "epoch": 2}


USE = {"event": "forward", "mode": "idle"}
HELD = [alloc(5), take("row:1", [5], [1]), name(1, 5), USE]
"""Row 1 holds page 5."""
SHARED = [*HELD, take("row:2", [5], [2]), name(2, 5), USE]
"""The article's page with two holders."""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        (HELD, ""),
        ([*SHARED, give("row:1", [5], [1]), name(1, 0), end(1), USE], ""),  # the page stays with row 2
        ([*SHARED, give("row:1", [5], [1]), free(5), USE], "page 5 goes to the free list while 1 reference to it is left"),
        ([*SHARED, free(5), USE], "page 5 goes to the free list while 2 references to it are left"),
        ([*HELD, give("row:1", [5], [0]), free(5), name(1, 0), end(1), USE, USE], ""),
        ([*HELD, give("row:1", [5], [0]), name(1, 0), end(1), USE, USE, USE], "page 5 lost its last reference and never"),
        ([*HELD, give("row:1", [5], [0]), free(5), give("row:1", [5], [-1]), USE], "row:1 gives up page 5, its count falls to -1"),
        ([*SHARED, give("row:1", [5], [1]), give("row:1", [5], [0])], "row:1 gives up page 5, which it does not hold"),
        ([*HELD, give("tree:9", [5], [0])], "tree:9 gives up page 5, which it does not hold"),
        ([*HELD, take("row:2", [5], [1])], "page 5 has count 1, 2 references are held"),
        ([*HELD, take("row:1", [5], [2])], "row:1 takes page 5 again while it holds it"),
        ([alloc(5), take("row:1", [5, 5], [2, 2])], "row:1 takes page 5 again while it holds it"),
        ([*HELD, name(2, 5), USE], "sidecar row 2 names page 5 (column 0), to which row 2 holds no reference"),
        ([*HELD, name(2, 5), take("row:2", [5], [2]), USE], ""),  # retained before it is used
        ([*HELD, name(2, 5), name(2, 0), USE], ""),
        ([*HELD, give("row:1", [5], [0]), free(5), end(1), USE], "row 1 has ended and its sidecar still names page 5"),
        ([*HELD, give("row:1", [5], [0]), free(5), end(1), name(1, 0), USE], ""),
        ([*HELD, give("row:1", [5], [0]), free(5), end(1), begin(1), name(1, 0), USE], "row 1 has ended and its sidecar"),
        ([*HELD, name(1, 0), end(1), USE], "row 1 has ended and still holds page 5"),
        ([*HELD, alloc(5)], "page 5 is granted while 1 reference to it is left"),
        ([take("row:1", [0], [1]), name(1, 0), give("row:2", [0], [0]), USE], ""),  # page 0 is a pad
        ([alloc(5), free(5), USE, *HELD], ""),  # never referenced
        ([*HELD, take("tree:3", [5], [2]), take("tree:3", [5], [3])], ""),  # nodes of the tree are one holder
        ([*HELD, take("tree:3", [5], [2]), give("tree:4", [5], [1])], ""),  # a split handed the page on
        ([*HELD, give("row:1", [5, 5], [0, 0]), free(5), name(1, 0), end(1), USE], ""),  # duplicates are taken out
        ([*HELD, give("row:1", [5], [0]), free(5), alloc(5), take("row:1", [5], [1])], ""),
        (
            [*HELD, give("row:1", [5], [0]), free(5), take("row:1", [5], [1])],
            "row:1 takes page 5 while it is in the free list: its own release before freed it",
        ),
        ([*HELD, {"event": "cache", "action": "reset"}, alloc(5), take("row:1", [5], [1]), USE], ""),
        ([take(None, [5], [1]), give(None, [5], [0]), free(5), USE], ""),  # no holder recorded
        ([take(None, [5], [1]), give(None, [5], [1])], "page 5 has count 1, 0 references are held"),
    ],
)  # fmt: skip
def test_references(judge: Build, lines: list[Line], wrong: str) -> None:
    result = judge("OWN-REF", *lines, **HEAD)
    found = [f.message for f in result.findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found


def test_a_replace_that_releases_first_is_noted(judge: Build) -> None:
    """`replace_req_c128_prefix` releases what changed, then retains: page 5 moves by one column and tree:1 saves it."""
    shared = [*HELD, take("tree:1", [5], [2])]
    moved = [give("row:1", [5], [1]), take("row:1", [6, 5], [1, 2]), name(1, 6, 5), USE]
    (note,) = judge("OWN-REF", *shared, alloc(6), *moved, **HEAD).findings
    assert note.severity is Severity.NOTE
    assert "page 5 stays with row:1 only because someone else holds it" in note.message


def test_a_row_that_ends_and_begins_anew_is_no_replace(judge: Build) -> None:
    lines = [*HELD, take("tree:1", [5], [2]), give("row:1", [5], [1]), name(1, 0), end(1), begin(1)]
    assert not judge("OWN-REF", *lines, take("row:1", [5], [2]), name(1, 5), USE, **HEAD).findings


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([give("row:1", [5], [0])], "frees of the pool were not recorded"),
        ([free(5), USE, take("row:1", [6], [1])], "references of the page were not seen before"),
        ([take("row:3", [6], [1]), name(1, 5), USE], "references of the page were not seen before"),
        ([take(None, [5], None)], "neither a count_after nor a holder"),
        ([take("row:1", [5], [3]), name(1, 5), give("row:1", [5], [2]), end(1)], "the recording ends before it is settled"),
        ([alloc(6), take("row:1", [5], [1]), give("row:1", [5], [0])], "the recording ends before it is settled"),
    ],
)  # fmt: skip
def test_what_can_t_be_judged(judge: Build, lines: list[Line], why: str) -> None:
    result = judge("OWN-REF", *lines, **LATE)
    assert not result.findings and why in [each.why for each in result.unknown]


@pytest.mark.parametrize(
    "lines",
    [
        [give("row:1", [5], [1])],
        [give("row:1", [5], [0]), free(5), alloc(5), take("row:1", [5], [1])],
        [take("row:2", [5], [7]), give("row:1", [5], [6])],
        [name(1, 5), USE, take("row:2", [6], [1])],
    ],
)
def test_a_recording_that_begins_late_knows_no_holders(judge: Build, lines: list[Line]) -> None:
    assert not judge("OWN-REF", *lines, **LATE).findings


def test_what_was_lost_may_have_been_a_reference(judge: Build) -> None:
    numbered = [line | {"seq": seq} for seq, line in enumerate([*HELD, take("row:2", [5], [3])])]
    assert judge("OWN-REF", *numbered, **HEAD).findings
    hole = [*numbered[:-1], numbered[-1] | {"seq": len(numbered)}]
    assert not judge("OWN-REF", *hole, **HEAD).findings


def test_the_ledger_by_holder_is_shown(judge: Build) -> None:
    (finding,) = judge("OWN-REF", *SHARED, free(5), USE, **HEAD).findings
    (ledger,) = finding.evidence
    assert ledger.columns == ("seq", "holder", "action", "holder has", "references", "count_after")
    assert ledger.rows == ((1, "row:1", "retain", 1, 1, 1), (4, "row:2", "retain", 1, 2, 2))
    assert finding.pages == (5,)


NOBODYS = [alloc(5), name(1, 5), USE, name(1, 0), free(5), end(1), USE]


def test_without_references_that_are_recorded_there_is_no_instance(judge: Build) -> None:
    partly = HEAD | {"tables": [table for table in TABLES if table != "page_ref"]}
    result = judge("OWN-REF", *NOBODYS, **partly)
    assert not result.checked["OWN-REF"] and not result.findings


def test_a_sidecar_row_may_not_name_a_page_before_anybody_took_one(judge: Build) -> None:
    (finding,) = judge("OWN-REF", *NOBODYS, **HEAD).findings
    assert (finding.row, finding.pages) == (1, (5,))
    assert not judge("OWN-REF", *NOBODYS, **LATE).findings


def test_a_grant_that_goes_on_in_a_page_grants_no_page(judge: Build) -> None:
    """Page 3 holds 4 entries: the second comes with the next 128 positions."""
    more = {"event": "alloc", "pool": "c128", "slots": [13], "reason": "spec_reserve"}
    opened = [alloc(3), take("row:1", [3], [1]), name(1, 3)]
    assert not judge("OWN-REF", *opened, more, **HEAD).findings
    again = more | {"slots": [12]}
    (finding,) = judge("OWN-REF", *opened, again, **HEAD).findings
    assert finding.message == "page 3 is granted while 1 reference to it is left"


RING = {
    "name": "c128_state",
    "kind": "c128_state",
    "slots": 64,
    "page_size": 1,
    "reserved_slots": 0,
    "owner": "request",
}
RINGED = HEAD | {"pools": [*POOLS, RING], "tables": [*TABLES, "state_access", "state_clear"]}
DONE = [give("row:1", [5], [0]), free(5), name(1, 0)]


def ring(action: str, row: int = 1) -> Line:
    line = {"event": "state_access", "pool": "c128_state", "row": row, "action": action}
    return line | {"ring_rows": [3], "positions": [3]}


def empty(row: int = 1, **more: Any) -> Line:
    """The whole ring."""
    line = {"event": "state_clear", "pool": "c128_state", "row": row, "ring_size": 8}
    return line | {"ring_rows": list(range(8))} | more


ELSEWHERE = [begin(2), ring("write", 2), empty(2), end(2)]
"""The engine empties rings as rows end."""
PART = empty(width=4, accept_len=3, seq_len=10)


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([ring("write"), *DONE, empty(), end(1), begin(1), ring("read")], False),
        ([ring("write"), *DONE, end(1), begin(1), ring("read")], True),
        ([ring("write"), *DONE, PART, end(1), begin(1), ring("write")], True),  # rejected rows of a verify
        ([ring("write"), *DONE, end(1), begin(1), empty(), ring("read")], False),  # before it is used
        ([ring("write"), *DONE, end(1), begin(1)], False),  # nobody uses it
        ([ring("write"), empty(2), *DONE, end(1), begin(1), ring("read")], True),  # another row's
        ([*DONE, end(1), begin(1), ring("read")], False),  # it wrote none
        ([ring("read"), *DONE, end(1), begin(1), ring("read")], False),
    ],
)  # fmt: skip
def test_the_end_of_a_row_empties_its_ring(judge: Build, lines: list[Line], wrong: bool) -> None:
    first = begin(1) | {"epoch": 1, "request": "a"}
    lines = [first, *HELD, *lines, USE, USE]
    found = judge("OWN-REF", *ELSEWHERE, *lines, **RINGED).findings
    assert len(found) == wrong
    assert all("its ring of C128 state is not emptied" in finding.message for finding in found)
    assert not judge(
        "OWN-REF", *lines[:0], *[x for x in lines if x != empty(2)], **(RINGED | {"tables": TABLES})
    ).findings


def test_a_ring_that_is_left_full_is_shown_from_its_last_write_to_the_next_request_that_reads_it(
    judge: Build,
) -> None:
    ended, begun = ({"event": name, "row": 1, "epoch": n} for name, n in (("row_free", 1), ("row_alloc", 2)))
    life = [begin(1) | {"epoch": 1, "request": "a"}, *HELD, ring("write"), *DONE, ended | {"request": "a"}]
    lines = [*life, begin(3), begun | {"request": "b"}, ring("read") | {"request": "b"}, USE, USE]
    (found,) = judge("OWN-REF", *ELSEWHERE, *lines, **RINGED).findings
    (evidence,) = found.evidence
    assert [row[2:] for row in evidence.rows] == [
        ("ring write", None, 1),
        ("row_free", "a", 1),
        ("row_alloc", "b", 2),
        ("ring read, not emptied before", "b", 2),
    ]
    assert evidence.marked == (3,) and found.pool == "c128_state"
    assert [row[0] for row in evidence.rows] == sorted(row[0] for row in evidence.rows)


def test_an_engine_that_empties_no_ring_is_not_held_to_it(judge: Build) -> None:
    first = begin(1) | {"epoch": 1, "request": "a"}
    lines = [first, *HELD, ring("write"), *DONE, end(1), begin(1), ring("read"), USE, USE]
    assert not judge("OWN-REF", *lines, **RINGED).findings


def stat(available: int, total: int | None = 64) -> Line:
    return {"event": "pool_stat", "pool": "c128", "available": available, "total": total}


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([*SHARED, stat(60)], ""),  # a page of four entries is held, however often
        ([*SHARED, give("row:1", [5], [1]), stat(60)], ""),
        ([*HELD, give("row:1", [5], [0]), free(5), stat(64)], ""),
        ([*SHARED, stat(64)], "the engine counts 64 slots available in pool c128, the references leave 60"),
        ([*HELD, give("row:1", [5], [0]), free(5), stat(60)], "the engine counts 60 slots available in pool c128, the references"),
    ],
)  # fmt: skip
def test_what_is_available_is_what_no_reference_holds(judge: Build, lines: list[Line], wrong: str) -> None:
    found = [f for f in judge("OWN-REF", *lines, **HEAD).findings if "available" in f.message]
    assert [f.message[: len(wrong)] for f in found] == ([wrong] if wrong else [])


def test_what_is_available_is_unknown_where_references_were_not_seen(judge: Build) -> None:
    result = judge("OWN-REF", *HELD, stat(64), **LATE)
    assert result.findings == ()
    assert "references of the page were not seen before" in {u.why for u in result.unknown if u.instances}
    assert judge("OWN-REF", *HELD, stat(64, None), **HEAD).findings == ()


def test_a_counted_page_goes_to_the_free_list_once(judge: Build) -> None:
    again, head = (
        [*HELD, give("row:1", [5], [0]), free(5), free(5)],
        HEAD | {"tables": [*TABLES, "free_group"]},
    )
    (finding,) = judge("OWN-DFREE", *again, **head).findings
    assert finding.pages == (5,) and finding.pool == "c128"
    sound = judge("OWN-DFREE", *again[:-1], alloc(5), free(5), **head)
    assert sound.findings == () and sound.checked["OWN-DFREE"] == 2


def test_a_counted_page_goes_back_at_once_inside_a_group_of_the_main_pool(judge: Build) -> None:
    head, group = HEAD | {"tables": [*TABLES, "free_group"]}, {"event": "free_group", "group": 1}
    of_main = {"event": "free", "pool": "full", "slots": [128], "reason": "finish", "group": 1}
    granted = {"event": "alloc", "pool": "full", "slots": [128], "reason": "extend", "granted": True}
    lines = [
        granted,
        *HELD,
        group | {"action": "begin"},
        of_main,
        give("row:1", [5], [0]),
        free(5),
        alloc(5),
        free(5),
    ]
    result = judge("OWN-DFREE", *lines, group | {"action": "end"}, **head)
    assert not [unknown for unknown in result.unknown if "group" in unknown.why] and result.findings == ()
    (finding,) = judge("OWN-DFREE", *lines, free(5), group | {"action": "end"}, **head).findings
    assert finding.pages == (5,)


UNSURE = "references, names of pages or grants were not recorded whole"
UNSEEN = "references of the page were not seen before"


@pytest.mark.parametrize(
    ("lines", "table", "why"),
    [
        ([give("row:1", [5], [0]), free(5), end(1), USE], "table_write", UNSURE),
        ([name(2, 5), USE], "table_write", UNSURE),
        ([name(1, 0), end(1), USE], "page_ref", UNSURE),
        ([take("row:2", [5], [1])], "page_ref", UNSURE),
        ([take("row:1", [5], [2])], "page_ref", UNSURE),
        ([give("row:2", [5], [0]), free(5)], "page_ref", UNSEEN),
        ([free(5), USE], "page_ref", UNSEEN),
        ([name(2, 5), USE], "page_ref", UNSEEN),
        ([stat(64)], "page_ref", UNSEEN),
        ([give("row:1", [5], [0]), free(5), take("row:1", [5], [1])], "alloc", UNSURE),
    ],
)  # fmt: skip
def test_what_is_left_is_evidence_only_where_what_would_end_it_is_recorded(
    judge: Build, lines: list[Line], table: str, why: str
) -> None:
    partly = HEAD | {"tables": [each for each in TABLES if each != table]}
    assert judge("OWN-REF", *HELD, *lines, **HEAD).findings
    result = judge("OWN-REF", *HELD, *lines, **partly)
    assert not result.findings and why in [each.why for each in result.unknown]


def test_a_count_below_zero_is_a_fault_whatever_was_recorded(judge: Build) -> None:
    partly = HEAD | {"tables": [each for each in TABLES if each != "page_ref"]}
    assert judge("OWN-REF", *HELD, give("row:1", [5], [-1]), **partly).findings


def test_an_end_that_leaves_one_page_named(judge: Build) -> None:
    """One cell of three is left."""
    lines = [alloc(5, 6), take("row:1", [5, 6], [1, 1]), name(1, 5, 6), USE]
    done = [give("row:1", [5, 6], [0, 0]), free(5, 6), name(1, 0), end(1), USE]
    (finding,) = judge("OWN-REF", *lines, *done, **HEAD).findings
    assert finding.message.startswith("row 1 has ended and its sidecar still names page 6")


def test_an_end_that_leaves_the_first_page_named(judge: Build) -> None:
    """Page 1 is the first that a row may hold: page 0 is the pad."""
    lines = [alloc(1), take("row:1", [1], [1]), name(1, 1), USE]
    (finding,) = judge("OWN-REF", *lines, give("row:1", [1], [0]), free(1), end(1), USE, **HEAD).findings
    assert finding.message.startswith("row 1 has ended and its sidecar still names page 1")


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([*HELD, take("row:1", [7], [1])], "row:1 takes page 7, which nobody was granted"),
        ([*HELD, take("tree:1", [5], [2])], ""),
        ([*HELD, {"event": "cache", "action": "reset"}, take("row:1", [5], [1])], "row:1 takes page 5, which nobody was"),
        ([take("row:1", [7], [1])], ""),  # no grant of the pool is seen at all
    ],
)  # fmt: skip
def test_a_reference_to_what_nobody_was_granted(judge: Build, lines: list[Line], wrong: str) -> None:
    found = [finding.message for finding in judge("OWN-REF", *lines, **HEAD).findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    if wrong:
        part = HEAD | {"tables": [table for table in TABLES if table != "alloc"]}
        untold = judge("OWN-REF", *lines, **part)
        assert not untold.findings
        assert "references, names of pages or grants were not recorded whole" in {
            u.why for u in untold.unknown
        }
    if "7" in wrong:
        assert not judge("OWN-REF", *lines, **LATE).findings, "its grant may lie before the recording"


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        ([alloc(6), USE, USE], "no reference to a page that was granted, nor its free"),
        ([alloc(6), USE], "the recording ends before it is settled"),
        ([alloc(6), USE, take("row:1", [6], [1]), USE], ""),
        ([alloc(6), free(6), USE, USE], ""),
        ([alloc(6), {"event": "cache", "action": "reset"}, USE, USE], ""),
    ],
)
def test_a_granted_page_without_a_reference_is_unknown(judge: Build, lines: list[Line], why: str) -> None:
    result = judge("OWN-REF", *HELD, *lines, **HEAD)
    assert not result.findings
    assert [each.why for each in result.unknown] == [why] * bool(why)


def test_an_ended_row_that_still_holds_is_evidence_only_where_its_next_life_would_be_seen(
    judge: Build,
) -> None:
    lines = [*HELD, end(1), USE]
    assert judge("OWN-REF", *lines, **HEAD).findings
    part = HEAD | {"tables": [table for table in TABLES if table != "row_alloc"]}
    result = judge("OWN-REF", *lines, **part)
    assert not result.findings
    assert [u.why for u in result.unknown] == ["references, names of pages or grants were not recorded whole"]
