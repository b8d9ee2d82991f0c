"""ST-RING: what compressions read from rings, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Build = Callable[..., Any]
Line = dict[str, Any]
POOLS = [
    {"name": "full", "kind": "full", "slots": 960, "page_size": 1, "reserved_slots": 1},
    {"name": "c128_state", "kind": "c128_state", "slots": 64, "page_size": 1, "reserved_slots": 0},
    {"name": "c4_state", "kind": "c4_state", "slots": 64, "page_size": 1, "reserved_slots": 0},
]
HEAD = {
    "pools": POOLS,
    "settings": {},
    "tables": ["accept", "state_access", "state_clear", "row_alloc"],
    "from_start": True,
}
LATE = HEAD | {"from_start": False}


def access(action: str, positions: list[int], rings: list[int] | None = None, **more: Any) -> Line:
    line = {
        "event": "state_access",
        "step": 1,
        "pool": "c128_state",
        "request": "a",
        "row": 1,
        "action": action,
    }
    line |= {"ring_rows": [p % 8 for p in positions] if rings is None else rings, "positions": positions}
    return {name: value for name, value in (line | more).items() if value is not None}


def write(*positions: int, **more: Any) -> Line:
    return access("write", list(positions), **more)


def read(*positions: int, **more: Any) -> Line:
    return access("read", list(positions), **more)


def clear(*rings: int, **more: Any) -> Line:
    line = {"event": "state_clear", "step": 1, "pool": "c128_state", "request": "a", "row": 1, "seq_len": 10}
    line |= {"accept_len": 3, "width": 4, "ring_size": 8, "ring_rows": list(rings)} | more
    return {name: value for name, value in line.items() if value is not None}


ALLOC = {"event": "row_alloc", "request": "a", "row": 1, "epoch": 1}
AGAIN = {"event": "row_alloc", "request": "b", "row": 1, "epoch": 2}


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([ALLOC, write(8, 9), read(8, 9)], ""),
        ([ALLOC, write(8, 9), read(9, 8)], ""),
        ([ALLOC, write(8, 9), write(16), read(8, 9)], "ring row 0 is read for position 8 and holds position 16, written by event 2"),
        ([ALLOC, write(8, 9), read(16, 9)], "ring row 0 is read for position 16 and holds position 8"),
        ([ALLOC, write(8), read(8, 9)], "ring row 1 is read for position 9 and holds nothing: it was never written"),
        ([ALLOC, write(8, 9), clear(1), read(8, 9)], "ring row 1 is read for position 9 and holds nothing: event 2 cleared it"),
        ([ALLOC, write(8, 9), clear(1), write(9), read(8, 9)], ""),
        ([ALLOC, write(8), clear(0), read(-1, rings=[0])], ""),
        ([ALLOC, read(-8)], ""),  # never written: neutral
        ([ALLOC, write(8), read(-8)], "ring row 0 is read for the neutral state and holds position 8"),
        ([ALLOC, write(8), AGAIN, read(8, request="b")], "ring row 0 is read for position 8 and holds position 8 of another request"),
        ([ALLOC, write(8), AGAIN, write(8, request="b"), read(8, request="b")], ""),
        ([ALLOC, write(8), ALLOC | {"epoch": 2}, read(8)], "ring row 0 is read for position 8 and holds position 8 of another"),
        ([ALLOC, write(8), ALLOC, read(8)], ""),  # a chunked prompt keeps its row
        ([ALLOC, write(8), write(8, row=2, request="c"), read(8)], ""),
        ([ALLOC, write(8), write(16, pool="c4_state"), read(8)], ""),
    ],
)  # fmt: skip
def test_wanted_and_stored(judge: Build, lines: list[Line], wrong: str) -> None:
    result = judge("ST-RING", *lines, **HEAD)
    found = [f.message for f in result.findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    assert not result.unknown


def test_a_rejected_draft_is_stale_until_it_is_cleared_or_overwritten(judge: Build, verify: Build) -> None:
    """The verify writes positions 10 to 13 and accepts 10 to 12."""
    drafted = [ALLOC, write(8, 9), write(10, 11, 12, 13), verify()]
    wrong = "ring row 5 is read for position 13 and holds a rejected draft of position 13, written by event 2"
    (finding,) = judge("ST-RING", *drafted, read(12, 13, step=2), **HEAD).findings
    assert finding.message == wrong
    assert not judge("ST-RING", *drafted, read(10, 11, 12, step=2), **HEAD).findings
    assert not judge("ST-RING", *drafted, write(13, 14, step=2), read(12, 13, step=2), **HEAD).findings
    assert not judge(
        "ST-RING", *drafted, clear(5, ring_size=256), write(13, step=2), read(12, 13, step=2), **HEAD
    ).findings


def test_a_forward_may_read_its_own_drafts(judge: Build, verify: Build) -> None:
    """C4 writes before it reads; whether they are accepted shows later."""
    assert not judge("ST-RING", ALLOC, write(8, 9, 10, 11, 12, 13), read(12, 13), verify(), **HEAD).findings


def test_a_verify_that_does_not_say_what_it_accepted_leaves_it_open(judge: Build, verify: Build) -> None:
    lines = [
        ALLOC,
        write(10, 11, 12, 13),
        verify(accept_len=None, num_correct_drafts=None, accept_index=None),
    ]
    result = judge("ST-RING", *lines, read(12, 13, step=2), **HEAD)
    assert not result.findings
    assert [each.why for each in result.unknown] == ["what a ring row holds was not seen"]


def test_a_ring_that_is_too_small_for_the_verify(judge: Build, verify: Build) -> None:
    """C4 looks at 8 positions: a ring of 8 serves 2 rows, one of 16 serves 10."""
    for size, wrong in ((4, True), (8, True), (9, True), (10, False), (16, False), (None, False)):
        head = HEAD | {"settings": {"c4_ring_size": size}}
        result = judge("ST-RING", write(10, 11, 12, 13, pool="c4_state"), verify(), **head)
        assert len(result.findings) == wrong
        assert all("can serve" in finding.message for finding in result.findings)
        room = f"at most ring - window + 2 = {size} - 8 + 2 = {size - 6} " if wrong and size else ""
        assert all(room in (finding.expected or "") for finding in result.findings)


def test_a_ring_of_a_page_that_is_too_small_for_the_verify_of_a_request(judge: Build, verify: Build) -> None:
    for size, wrong in ((8, True), (16, False)):
        head = PAGED | {"settings": {"c4_ring_size": size}}
        result = judge("ST-RING", paged("write", [10, 11, 12, 13], [42, 43, 44, 45]), verify(), **head)
        assert len(result.findings) == wrong
    assert not judge(
        "ST-RING", paged("write", [10, 11, 12, 13], [42, 43, 44, 45], request="b"), verify(), **head
    ).findings


def test_the_settings_say_how_large_the_ring_of_c128_is(judge: Build, verify: Build) -> None:
    for size, wrong in ((128, True), (256, False)):
        head = HEAD | {"settings": {"c128_ring_size": size}}
        assert len(judge("ST-RING", write(10, 11, 12, 13), verify(), **head).findings) == wrong


def test_a_clear_without_a_size_does_not_make_the_ring_unknown(judge: Build, verify: Build) -> None:
    lines = [write(10, 11, 12, 13), verify(), clear(ring_size=128), clear(ring_size=None)]
    assert len(judge("ST-RING", *lines, **HEAD).findings) == 1


def test_c128_says_its_ring_with_a_clear(judge: Build, verify: Build) -> None:
    for size, wrong in ((128, True), (256, False)):
        result = judge("ST-RING", write(10, 11), verify(), clear(ring_size=size), **HEAD)
        assert len(result.findings) == wrong


CHAIN = {"layout": "chain", "topk": 1, "draft_tokens": [1, 2, 3, 4], "next_token": None, "next_sibling": None}


@pytest.mark.parametrize(
    ("start", "written", "missing"),
    [
        (10, [10, 11, 12, 13], ""),
        (10, [10, 11, 13], "position 12"),
        (126, [126, 127, 128, 129], ""),
        (126, [126, 128, 129], ""),  # if 127 is accepted its group is complete
        (126, [128, 129], "position 126"),  # if the root alone is accepted, 126 is wanted later
        (127, [128, 129, 130], ""),
        (127, [128, 129], "position 130"),
    ],
)
def test_a_verify_writes_what_any_acceptance_leaves_to_be_compressed(
    judge: Build, verify: Build, start: int, written: list[int], missing: str
) -> None:
    accept = verify(seq_len=start, new_seq_len=start + 3, accept_index=[0, 1, 2], **CHAIN)
    for lines in ([write(*written)], [write(*written[:1]), write(*written[1:])]):
        lines = [line | {"ring_rows": line["positions"]} for line in lines]
        result = judge("ST-RING", *lines, accept, **HEAD)
        found = [finding.message for finding in result.findings]
        due = f"a verify from position {start} does not write {missing} to the ring"
        assert len(found) == bool(missing) and all(message.startswith(due) for message in found), found
        assert not missing or result.findings[0].step == 1


def test_c4_wants_the_whole_verify(judge: Build, verify: Build) -> None:
    for written in ([11, 12, 13], [12, 13, 14]):
        line = write(*written, pool="c4_state", rings=[p % 16 for p in written])
        accept = verify(seq_len=11, new_seq_len=14, accept_index=[0, 1, 2], **CHAIN)
        assert judge("ST-RING", line, accept, **HEAD).findings


def test_a_tree_writes_each_depth(judge: Build, verify: Build) -> None:
    accept = verify(positions=[10, 11, 11, 12])
    whole, short = write(10, 11, 11, 12, rings=[2, 3, 4, 5]), write(10, 11, 11, rings=[2, 3, 4])
    assert not judge("ST-RING", whole, accept, **HEAD).findings
    assert judge("ST-RING", short, accept, **HEAD).findings


def test_what_is_written_behind_the_accept_are_the_accepted_rows(judge: Build, verify: Build) -> None:
    accept = verify(algorithm="dspark", accept_index=None, **CHAIN)
    assert not judge("ST-RING", accept, write(10, 11, 12), **HEAD).findings
    assert judge("ST-RING", accept, write(10, 11), **HEAD).findings
    assert not judge("ST-RING", write(10, 11, 12), accept, **HEAD).findings  # it commits by prefix


def test_what_was_lost_may_have_been_a_write_of_the_verify(judge: Build, verify: Build) -> None:
    accept = verify(accept_index=[0, 1, 2], **CHAIN)
    lines = [line | {"seq": seq} for seq, line in enumerate([ALLOC, write(10, 11), accept])]
    assert judge("ST-RING", *lines, **HEAD).findings
    lines[-1]["seq"] += 1
    assert not judge("ST-RING", *lines, **HEAD).findings


def test_verifies_of_other_layouts_are_not_held_to_it(judge: Build, verify: Build) -> None:
    """Without positions a tree does not say which it has, and UNO begins one past the frontier."""
    assert not judge("ST-RING", write(10), verify(), **HEAD).findings
    uno = verify(algorithm="uno", accept_index=[0, 1, 2], **CHAIN)
    assert not judge("ST-RING", write(10), uno, **HEAD).findings


@pytest.mark.parametrize(
    ("lines", "head", "why"),
    [
        ([read(8)], LATE, "what a ring row holds was not seen"),
        ([ALLOC, read(8)], HEAD | {"tables": ["state_clear"]}, "what a ring row holds was not seen"),
        ([ALLOC, write(8, row=None)], HEAD, "no action, row, ring_rows and positions"),
        ([ALLOC, write(8) | {"positions": None}], HEAD, "no action, row, ring_rows and positions"),
        ([write(8), read(9)], HEAD | {"settings": {"online_c128": True}}, "the online variant of C128 has no ring of positions"),
        ([write(8), read(16)], HEAD | {"pools": [POOLS[1] | {"owner": "page"}]}, "the state is bound to pages"),
        (
            [ALLOC, {"event": "transfer", "action": "end", "pool": "c128_state", "request": "a"}, read(8)],
            HEAD,
            "what a ring row holds was not seen",
        ),
    ],
)  # fmt: skip
def test_what_can_t_be_judged(judge: Build, lines: list[Line], head: Line, why: str) -> None:
    lines = [{name: value for name, value in line.items() if value is not None} for line in lines]
    result = judge("ST-RING", *lines, **head)
    assert not result.findings and {each.why for each in result.unknown} == {why}


PAGED = HEAD | {"pools": [POOLS[0], POOLS[2] | {"owner": "page"}]}


def paged(action: str, positions: list[int], at: list[int], **more: Any) -> Line:
    """State that is bound to pages: no row, and addresses."""
    return access(action, positions, at, pool="c4_state", row=None, **more)


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([paged("write", [8, 9], [40, 41]), paged("read", [8, 9], [40, 41])], ""),
        # whoever shares the page shares its states
        ([paged("write", [8], [40]), paged("read", [8], [40], request="b")], ""),
        ([paged("write", [8], [40]), paged("write", [4], [40], request="b"), paged("read", [8], [40])], "holds position 4"),
        ([paged("read", [8], [40])], "it was never written"),
    ],
)  # fmt: skip
def test_state_that_is_bound_to_pages(judge: Build, lines: list[Line], wrong: str) -> None:
    result = judge("ST-RING", *lines, **PAGED)
    found = [f.message for f in result.findings]
    assert len(found) == bool(wrong) and all(wrong in message for message in found), found
    assert not result.unknown


def test_a_rejected_draft_in_a_page_is_that_of_the_request_that_wrote_it(judge: Build, verify: Build) -> None:
    """Request a accepts 10 to 12; b, which shares the page, reads 13 that it did not."""
    drafted = [ALLOC, paged("write", [10, 11, 12, 13], [42, 43, 44, 45]), verify()]
    kept = paged("read", [12], [44], request="b", step=2)
    left = paged("read", [13], [45], request="b", step=2)
    assert not judge("ST-RING", *drafted, kept, **PAGED).findings
    (finding,) = judge("ST-RING", *drafted, left, **PAGED).findings
    assert "a rejected draft of position 13" in finding.message


def test_a_transfer_of_kv_brings_no_state(judge: Build) -> None:
    transfer = {"event": "transfer", "action": "end", "pool": "full", "request": "a"}
    assert judge("ST-RING", ALLOC, write(8), transfer, read(16), **HEAD).findings


@pytest.mark.parametrize(("request_", "open_"), [("a", True), (None, True), ("b", False)])
def test_a_transfer_of_another_request_hides_nothing(judge: Build, request_: str | None, open_: bool) -> None:
    transfer = {"event": "transfer", "action": "end", "pool": "c128_state"}
    transfer |= {"request": request_} if request_ else {}
    result = judge("ST-RING", ALLOC, write(8), transfer, read(16), **HEAD)
    assert (not result.findings, bool(result.unknown)) == (open_, open_)


def test_a_transfer_of_whoever_shares_the_page_brings_its_state(judge: Build) -> None:
    lines = paged("write", [8], [40]), paged("read", [16], [40])
    transfer = {"event": "transfer", "action": "end", "pool": "c4_state", "request": "b"}
    assert judge("ST-RING", *lines, **PAGED).findings
    assert not judge("ST-RING", lines[0], transfer, lines[1], **PAGED).findings


def test_what_was_lost_may_have_written(judge: Build) -> None:
    lines = [line | {"seq": seq} for seq, line in enumerate([ALLOC, write(8), write(16), read(8)])]
    assert judge("ST-RING", *lines, **HEAD).findings
    lines[-1]["seq"] += 1
    assert not judge("ST-RING", *lines, **HEAD).findings


def test_the_strip_shows_wanted_beside_stored(judge: Build) -> None:
    (finding,) = judge("ST-RING", ALLOC, write(8, 9, 10), write(17), read(8, 9, 10), **HEAD).findings
    (strip,) = finding.evidence
    assert strip.columns == ("ring row", "wanted", "stored", "by event", "")
    assert strip.rows == ((1, 9, 17, 2, ""), (2, 10, 10, 1, ""))
    assert strip.marked == (0,)


def without(*tables: str) -> Line:
    return HEAD | {"tables": [table for table in HEAD["tables"] if table not in tables]}


@pytest.mark.parametrize(
    ("lines", "table"),
    [
        ([ALLOC, write(8), read(-8)], "state_clear"),  # a clear may not have been recorded
        ([ALLOC, write(8), read(16)], "state_access"),  # nor a write
        ([ALLOC, write(8), AGAIN, read(8, request="b")], "state_access"),
    ],
)
def test_what_a_ring_row_still_holds_is_evidence_only_where_its_changes_are_recorded(
    judge: Build, lines: list[Line], table: str
) -> None:
    assert judge("ST-RING", *lines, **HEAD).findings
    result = judge("ST-RING", *lines, **without(table))
    assert not result.findings
    assert [each.why for each in result.unknown] == ["what a ring row holds was not seen"]


def test_another_position_than_the_wanted_one_needs_no_clear_to_be_recorded(judge: Build) -> None:
    assert judge("ST-RING", ALLOC, write(8), read(16), **without("state_clear")).findings


def test_whether_a_draft_was_accepted_is_not_known_where_accepts_are_not_recorded(judge: Build) -> None:
    lines = [ALLOC, write(8, 9), read(8, 9)]
    assert not judge("ST-RING", *lines, **HEAD).unknown
    result = judge("ST-RING", *lines, **without("accept"))
    assert not result.findings
    assert [each.why for each in result.unknown] == ["what a ring row holds was not seen"]


def test_an_accept_that_was_recorded_tells_of_a_rejected_draft(judge: Build, verify: Build) -> None:
    lines = [ALLOC, write(10, 11, 12, 13), verify(), read(12, 13, step=2)]
    (finding,) = judge("ST-RING", *lines, **without("accept")).findings
    assert "a rejected draft of position 13" in finding.message


def test_the_next_turn_of_a_session_reads_what_the_turn_before_wrote(judge: Build) -> None:
    """Another request id, the same row and epoch."""
    turn = {"event": "cache", "action": "session_restore", "request": "a2", "node": 1, "slots": [1]}
    for head in (HEAD, LATE):
        for alloc in ([ALLOC], []):
            result = judge("ST-RING", *alloc, write(8), turn, read(8, request="a2"), **head)
            assert not result.findings and not result.unknown


@pytest.mark.parametrize(
    ("reader", "found", "unknown"), [({"request": "b"}, 1, 0), ({"request": None}, 0, 1), ({}, 0, 0)]
)
def test_requests_tell_lives_apart_where_no_epoch_is_known(
    judge: Build, reader: Line, found: int, unknown: int
) -> None:
    for lines, head in (([], without("row_alloc")), ([ALLOC], without("row_alloc")), ([ALLOC], LATE)):
        result = judge("ST-RING", write(8), *lines, read(8, **reader), **head)
        assert (len(result.findings), len(result.unknown)) == (found, unknown)
    (finding,) = judge("ST-RING", ALLOC, write(8), AGAIN, read(8), **without("row_alloc")).findings
    assert "of another request or life" in finding.message, "by the epochs that were seen"


def test_a_request_uses_the_ring_of_its_own_row(judge: Build, verify: Build) -> None:
    """Whether or not whoever has the other row reads what was written there."""
    stray = write(10, 11, 12, 13, row=2)
    told = {"event": "forward", "step": 1, "mode": "extend", "request": "a", "row": 1, "epoch": 1}
    for line in (verify(), told):
        (finding,) = judge("ST-RING", ALLOC, stray, line, **HEAD).findings
        assert (
            finding.message
            == "the ring of request row 2 is written for request a, which has row 1 in the step"
        )
        assert (finding.expected, finding.actual) == (
            "the ring of request row 1",
            "the ring of request row 2",
        )
        assert not judge("ST-RING", ALLOC, stray | {"row": 1}, line, **HEAD).findings
        assert not judge("ST-RING", ALLOC, stray | {"step": 2}, line, **HEAD).findings, "of another step"
        assert not judge("ST-RING", ALLOC, stray | {"request": "b"}, line, **HEAD).findings, (
            "of whom nothing is told"
        )
    assert not judge("ST-RING", ALLOC, stray, told, told | {"row": 2}, **HEAD).findings, "its rows differ"


def test_a_verify_of_which_not_all_writes_were_seen(judge: Build, verify: Build) -> None:
    """A recording may begin behind the first of them."""
    why = "not all that the verify writes was seen"
    lines = write(12, 13), verify(positions=[10, 11, 12, 13])
    assert [f.message for f in judge("ST-RING", *lines, **HEAD).findings]
    part = HEAD | {"tables": ["accept", "state_clear", "row_alloc"]}
    for head in (LATE, part):
        result = judge("ST-RING", *lines, **head)
        assert not result.findings and [each.why for each in result.unknown] == [why]
    before = verify(step=0, seq_len=9, new_seq_len=10, request="c", row=3)
    assert judge("ST-RING", before, *lines, **LATE).findings, "what another step left lies between"


def test_more_clears_than_reads_and_writes(judge: Build) -> None:
    result = judge("ST-RING", ALLOC, *[clear(k) for k in range(6)], read(-3, rings=[5]), **HEAD)
    assert not result.findings and result.checked["ST-RING"] == 1
