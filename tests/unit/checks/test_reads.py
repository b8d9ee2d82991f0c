"""LEN-READ: forwards that read too little or too much, and what only looks so."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from speckv_debug.model.text import quantity
from tests.ledgers import Run

RULE = "LEN-READ"
WIDTH = 3
TWO_DRAFTS = {"num_draft_tokens": WIDTH, "num_steps": 3}


class Reads(Run):
    """A run of one request whose verify of this step starts at length 8 and has three rows."""

    def __init__(self, *, verify: dict[str, Any] | None = None, **head: Any) -> None:
        super().__init__(**({"settings": {"num_draft_tokens": WIDTH}} | head))
        line = {"algorithm": "eagle", "layout": "chain", "width": WIDTH, "seq_len": 8, "accept_len": 1}
        if verify is not None:
            self.add("accept", **(self.who(1, None, 1) | line | verify))

    def row(self, mode: str, first: int, read: int | None, rows: int = WIDTH, **columns: Any) -> None:
        positions = [first + k for k in range(rows)]
        line = {"start": first, "positions": positions, "slots": [first + 20 + k for k in range(rows)]}
        line |= {"mode": mode, "read_len": read, "pool": "draft" if mode.startswith("draft") else "full"}
        self.add("forward", **(self.who(1, None, 1) | line | columns))

    def judged(self) -> CheckResult:
        return self.check(RULE)


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


def clean(result: CheckResult, instances: int = 1) -> bool:
    return not result.findings and not result.unknown and result.checked[RULE] == instances


# ---- the target -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "rows"), [("extend", 5), ("decode", 1), ("target_verify", WIDTH)])
def test_prefix_and_own_rows(mode: str, rows: int) -> None:
    run = Reads(verify={} if mode == "target_verify" else None)
    run.row(mode, 8, 8 + rows, rows)
    assert clean(run.judged())


@pytest.mark.parametrize(("mode", "rows"), [("extend", 5), ("decode", 1), ("target_verify", WIDTH)])
@pytest.mark.parametrize("off", [-2, -1, 1, 7])
def test_another_read_length(mode: str, rows: int, off: int) -> None:
    run = Reads()
    run.row(mode, 8, 8 + rows + off, rows)
    (finding,) = run.judged().findings
    assert finding.expected == f"a read length of {8 + rows} = 8 + {quantity(rows, 'row')}"
    assert ("missing" in finding.message) == (off < 0) and ("rejected" in finding.message) == (off > 0)
    assert bool(finding.slots) == (off < 0)


def test_a_verify_that_begins_behind_its_length_reads_rejected_rows() -> None:
    run = Reads(verify={})
    run.row("target_verify", 9, 12)
    (finding,) = run.judged().findings
    assert finding.message == "the target_verify begins at position 9, its verify at length 8"


def test_positions_say_where_a_forward_begins_and_its_start_does_where_they_are_absent() -> None:
    run = Reads()
    run.row("extend", 8, 11, start=None)
    run.row("decode", 8, 9, rows=1, positions=None)
    assert clean(run.judged(), 2)


def test_siblings_of_a_tree_share_a_position() -> None:
    run = Reads(verify={"layout": "tree", "positions": [8, 9, 9]})
    run.row("target_verify", 8, 11, positions=[8, 9, 9])
    assert clean(run.judged())


def test_rows_that_pad_the_batch() -> None:
    run = Reads()
    run.row("target_verify", 0, 99, row=0, request=None, padded=True)
    run.row("idle", 0, 99, row=0, request=None)
    assert run.judged().checked[RULE] == 0


def test_another_request_or_step_has_a_length_of_its_own() -> None:
    run = Reads(verify={})
    run.row("target_verify", 5, 8, row=2, request="b")
    run.step = 2
    run.row("target_verify", 5, 8)
    assert clean(run.judged(), 2)


def test_an_extend_beside_a_verify_of_its_step() -> None:
    """Mixed chunks: rows of a prompt are in one batch with verifies of others."""
    run = Reads(verify={})
    run.row("extend", 4, 9, rows=5, row=2, request="b")
    assert clean(run.judged())


def test_a_forward_that_does_not_say_what_it_reads_is_no_instance() -> None:
    run = Reads(verify={})
    run.row("target_verify", 8, None)
    assert run.judged().checked[RULE] == 0


def test_a_forward_that_does_not_say_what_it_computes() -> None:
    run = Reads()
    run.row("extend", 8, 11, start=None, positions=None, slots=None)
    assert reasons(run.judged()) == {"no positions, start or rows": 1}


# ---- drafters -------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", [8, 9, 10, 11])
def test_a_draft_within_its_window(read: int) -> None:
    run = Reads(verify={})
    run.row("draft", 8, read, rows=1)
    assert clean(run.judged())


@pytest.mark.parametrize("read", [3, 7, 12, 40])
def test_a_draft_outside_of_it(read: int) -> None:
    run = Reads(verify={})
    run.row("draft", 8, read, rows=1)
    (finding,) = run.judged().findings
    assert finding.expected == "an end in [8, 11]"
    assert ("missing" in finding.message) == (read < 8)


@pytest.mark.parametrize("first", [7, 9])
def test_the_first_draft_of_a_round_is_at_the_end_of_the_prefix(first: int) -> None:
    run = Reads(verify={}, settings=TWO_DRAFTS)
    run.row("draft", first, None, positions=[first, first])
    run.row("draft", first + 1, None, positions=[first + 1, first + 1])
    (finding,) = run.judged().findings
    assert (finding.first_seq, finding.expected) == (1, "a first position of 8")
    assert finding.actual == f"first position {first}"


@pytest.mark.parametrize("lost", ["absent", "dropped", "hole", "before_the_recording"])
def test_a_second_draft_is_not_taken_for_the_first_one(lost: str) -> None:
    run = Reads(settings=TWO_DRAFTS, from_start=False)
    if lost == "absent":
        run.row("draft", 8, None, rows=1, positions=None)
    if lost == "dropped":
        run.add("drop", table="forward", rows=1)
    if lost == "hole":
        run.row("extend", 0, 8, rows=8)
    run.row("draft", 9, None, rows=1)
    line = {"algorithm": "eagle", "layout": "chain", "width": WIDTH, "seq_len": 8, "accept_len": 1}
    run.add("accept", **(run.who(1, None, 1) | line))
    if lost == "hole":
        for at, event in enumerate(run.lines[1:]):
            event["seq"] = 2 + at
    assert sum(reasons(run.judged()).values()) >= 1


def test_another_algorithm_may_begin_its_drafts_elsewhere() -> None:
    run = Reads(verify={"algorithm": "frozen_kv_mtp"})
    run.row("draft", 7, None, positions=[7])
    assert clean(run.judged())


def test_the_positions_of_a_draft_say_how_far_it_reads() -> None:
    run = Reads(verify={})
    run.row("draft", 8, None, positions=[8, 8, 8])
    assert clean(run.judged())
    run.row("draft", 12, None, positions=[12, 12])
    assert len(run.judged().findings) == 1


def test_a_drafter_that_computes_a_block_reads_all_of_it() -> None:
    run = Reads(verify={"algorithm": "dflash"})
    run.row("draft", 8, None, rows=8)
    assert clean(run.judged())


def test_a_ragged_verify_is_narrower_than_what_was_drafted() -> None:
    run = Reads(verify={"width": 1})
    run.row("draft", 8, 11, rows=3)
    assert clean(run.judged())


def test_a_draft_extend_of_several_layers_begins_before_the_window() -> None:
    run = Reads(verify={})
    run.row("draft_extend", 6, 11, rows=5)
    assert clean(run.judged())


def test_drafts_without_a_verify_are_no_instances() -> None:
    run = Reads()
    run.row("draft_extend", 0, 99)
    run.row("extend", 0, 99, pool="draft")
    assert run.judged().checked[RULE] == 0


def test_a_verify_of_unknown_width() -> None:
    run = Reads(verify={"width": None}, settings={})
    run.row("draft", 8, 40, rows=1)
    assert reasons(run.judged()) == {"the width of the verify is not known": 1}


def test_uno_verifies_from_one_past_the_frontier() -> None:
    run = Reads(verify={}, settings={"num_non_draft": 2})
    run.row("target_verify", 9, 12)
    run.row("draft", 8, 20)
    assert sum(reasons(run.judged()).values()) == 2
    run.row("target_verify", 9, 14)
    assert len(run.judged().findings) == 1


@pytest.mark.parametrize("row", [(1 << 31) - 1, 3])
def test_rows_and_steps_too_large_for_one_key(row: int) -> None:
    run = Reads()
    run.step = 1 << 50
    who = {"row": row, "epoch": 1, "request": "a"}
    run.add("accept", **who, algorithm="eagle", width=WIDTH, seq_len=8)
    run.step = 1
    run.add("accept", **who, algorithm="eagle", width=WIDTH, seq_len=5)
    run.row("target_verify", 5, 8, **who)
    run.row("target_verify", 6, 9, **who)
    assert len(run.judged().findings) == 1
