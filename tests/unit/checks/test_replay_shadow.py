"""RPL-SHADOW: what is a wrong prefix, what only looks like one, and what nobody can tell."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any, cast

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.replay.view import ProcessView
from tests.ledgers import Line, Run, span

TABLES = ["accept", "forward", "move", "table_write", "alloc", "free", "row_alloc", "row_free", "release"]
CASES = sorted((Path(__file__).parents[2] / "recordings" / "cases").glob("*.jsonl"))
OUTPUTS = ("accept_index", "accept_len", "num_correct_drafts", "predict", "new_seq_len", "bonus_token")
PATHS = {"A": [0, 1, 3], "B": [0, 2], "R": [0]}


class Case(Run):
    """Requests over slots of page size 1; verify rows are R, A, B and C, a child of A."""

    def __init__(self, *tables: str, **head: Any) -> None:
        super().__init__(tables=list(tables or TABLES), from_start=True, **head)

    def prompt(self, row: int, slots: list[int], reserve: list[int], tokens: list[int] | None = None) -> None:
        """A prompt is computed into `slots`; the row has room in `reserve`."""
        self.add("row_alloc", **self.who(row, None, 1))
        self.write(row, 0, slots + reserve)
        self.extend(row, 0, slots, tokens)

    def extend(self, row: int, start: int, slots: list[int], tokens: list[int] | None = None) -> None:
        places = span(start, start + len(slots))
        tokens = tokens or [100 + place for place in places]
        self.forward(row, start, slots, "extend", tokens=tokens, positions=places)
        self.step += 1

    def decode(self, row: int, position: int, slot: int) -> None:
        self.forward(row, position, [slot], "decode", tokens=[9], positions=[position])
        self.step += 1

    def verify(self, row: int, start: int, loc: list[int], path: str = "A", **columns: Any) -> None:
        """A target verify at `loc`, without its move."""
        depth = columns.setdefault("positions", [start, start + 1, start + 1, start + 2])
        tokens = columns.pop("draft_tokens", [11, 21, 22, 23])
        if columns.pop("forwarded", True):
            self.forward(row, start, loc, "target_verify", tokens=tokens, positions=depth)
        line: Line = {
            "algorithm": "eagle",
            "layout": "tree",
            "sampling": "rejection",
            "width": 4,
            "block_start": 0,
        }
        line |= {"batch_index": 0, "seq_len": start, "draft_tokens": tokens}
        line |= {"next_token": [1, 3, -1, -1], "next_sibling": [-1, 2, -1, -1], "out_cache_loc": loc}
        line |= {"accept_index": PATHS[path], "accept_len": len(PATHS[path]), "table_slots": loc}
        self.add("accept", **self.who(row, None, 1), **(line | columns))

    def move(self, *pairs: tuple[int, int], **columns: Any) -> None:
        """Moves (source, target)."""
        line = {"pool": "full", "caller": "accept"} | columns
        self.add("move", src=[s for s, _ in pairs], tgt=[t for _, t in pairs], **line)

    def judged(self) -> CheckResult:
        return self.check("RPL-SHADOW")

    def says(self) -> str:
        """The message of the one finding."""
        [finding] = self.judged().findings
        return finding.message


def reasons(result: CheckResult) -> set[str]:
    return {unknown.why for unknown in result.unknown}


def accepted(**columns: Any) -> Case:
    """A prompt of three and a verify whose rows R, A, C are accepted; nothing has been moved."""
    case = Case()
    case.prompt(1, [10, 11, 12], span(20, 30))
    case.verify(1, 3, [20, 21, 22, 23], **columns)
    return case


def read(case: Case) -> None:
    """The next forward reads six positions."""
    case.step += 1
    case.decode(1, 6, 23)


def test_a_right_move() -> None:
    case = accepted()
    case.move((23, 22))
    read(case)
    result = case.judged()
    assert not result.findings and not result.unknown and result.checked["RPL-SHADOW"] == 3


def test_what_a_finding_says() -> None:
    case = accepted()
    case.move((21, 22))
    read(case)
    [finding] = case.judged().findings
    assert finding.message == (
        "position 5 (slot 22) holds token 21 of position 4 of request r1, moved here from slot 21 by event 5, "
        "not token 23"
    )
    assert (finding.request, finding.step, finding.slots) == ("r1", 3, (22, 23))
    assert finding.expected == "token 23, written to slot 23 at step 2 (event 3)"
    assert finding.actual == "token 21 of position 4 of request r1, written to slot 21 at step 2 (event 3)"
    (table,) = finding.evidence
    assert table.title == "committed prefix, as kernels.move.move_slots leaves it"
    assert dict(zip(table.columns, table.rows[0], strict=True)) == {
        "position": 5,
        "slot": 22,
        "token due": 23,
        "written to": 23,
        "token held": 21,
        "of position": 4,
        "of": "request r1",
        "moved from": 21,
    }


def test_no_move_at_all() -> None:
    case = accepted()
    read(case)
    assert "holds token 22 of position 4" in case.says()


def test_a_cousin_of_the_same_token_and_depth() -> None:
    """Rows 2 and 3 hold one token at one position, below other parents: only the row itself tells them apart."""
    case = Case()
    case.prompt(1, [10, 11, 12], span(20, 30))
    case.verify(1, 3, [20, 21, 22, 23], "B", draft_tokens=[11, 21, 21, 5])
    read(case)
    assert case.says().startswith("position 4 (slot 21) holds token 21 of position 4")


def test_an_accepted_row_that_the_target_did_not_choose() -> None:
    case = accepted(sampling="greedy", target_predict=[22, 0, 31, 0], accept_index=[0, 1], accept_len=2)
    case.step += 1
    case.decode(1, 5, 22)
    assert case.says().startswith("position 4 (slot 21) holds token 21 of position 4")


@pytest.mark.parametrize(("parent", "wrong"), [(0, 0), (1, 1)])
def test_another_row_of_the_same_token(parent: int, wrong: int) -> None:
    """A sibling holds the same KV; a row below another parent does not."""
    child, sibling = ([1, 2, -1], [-1, -1, -1]) if parent else ([1, -1, -1], [-1, 2, -1])
    case = Case()
    case.prompt(1, [10, 11, 12], span(20, 30))
    columns = {"next_token": child, "next_sibling": sibling, "width": 3, "draft_tokens": [11, 21, 21]}
    columns |= {"sampling": "greedy", "target_predict": [21, 5, 5], "accept_index": [0, 2], "accept_len": 2}
    case.verify(1, 3, [20, 21, 22], positions=[3, 4, 4 + parent], **columns)
    case.move((22, 21))
    case.step += 1
    case.decode(1, 5, 22)
    assert len(case.judged().findings) == wrong


def test_a_verify_that_nobody_reads() -> None:
    case = accepted()
    assert reasons(case.judged()) == {"nobody reads the rows before the recording ends"}
    case.move((22, 23))
    assert case.says().startswith("position 5 (slot 22)")


def test_rejected_rows_are_nobodys() -> None:
    case = accepted()
    case.move((23, 22), (20, 23), (21, 24))
    read(case)
    assert not case.judged().findings


def test_slots_that_are_taken_again_while_a_last_verify_is_in_flight() -> None:
    case = accepted()
    case.end(1, span(20, 30))
    case.move((23, 22), step=2)
    case.prompt(2, [20, 21, 22], span(23, 26))
    case.decode(2, 3, 23)
    assert not case.judged().findings


def test_a_late_move_into_slots_that_are_taken_again() -> None:
    case = accepted()
    case.end(1, span(20, 30))
    case.prompt(2, [20, 21, 22], span(23, 26))
    case.move((10, 22), step=2)
    case.decode(2, 3, 23)
    assert case.says().startswith("position 2 (slot 22) holds token 100 of position 0 of request r1")


def test_a_prefix_that_another_request_overwrites() -> None:
    case = accepted()
    case.move((23, 22))
    read(case)
    case.prompt(2, [11, 40], [])
    case.decode(1, 7, 24)
    assert case.says().startswith("position 1 (slot 11) holds token 100 of position 0 of request r2")


def takeover(token: int) -> Case:
    """Another request's copy of the prompt takes the place of the own one."""
    case = Case()
    case.prompt(2, [40, 41, 42], [], [100, 101, token])
    case.prompt(1, [10, 11, 12], span(20, 30))
    case.write(1, 0, [40, 41, 42])
    case.prompt(3, [10, 11, 12], [], [1, 2, 3])
    case.decode(1, 3, 20)
    return case


def test_the_tree_takes_a_prefix_over() -> None:
    result = takeover(102).judged()
    assert not result.findings and not result.unknown


def test_the_tree_takes_a_prefix_over_by_other_tokens() -> None:
    assert takeover(7).says().startswith("position 2 (slot 42) holds token 7 of position 2 of request r2")


def test_a_cached_prefix_is_another_requests_and_stays_so() -> None:
    case = Case()
    case.prompt(2, [40, 41, 42], [])
    case.add("row_alloc", **case.who(1, None, 1))
    case.write(1, 0, [40, 41, 42, 20, 21, 22])
    case.extend(1, 3, [20, 21])
    assert not case.judged().findings and not case.judged().unknown
    case.prompt(3, [41], [])
    case.decode(1, 5, 22)
    assert case.says().startswith("position 1 (slot 41) holds token 100 of position 0 of request r3")


def test_a_prefix_that_was_loaded_from_the_host() -> None:
    case = Case()
    case.prompt(2, [40, 41, 42], [])
    case.end(2, [40, 41, 42])
    case.add("alloc", pool="full", slots=[40, 41, 42], reason="load_back")
    case.add("row_alloc", **case.who(1, None, 1))
    case.write(1, 0, [41, 40, 42, 20])
    case.extend(1, 3, [20])
    result = case.judged()
    assert not result.findings
    assert reasons(result) == {"the recording does not show what was written to the slots"}


def test_moves_of_the_draft_pool_are_not_the_targets() -> None:
    pools = [
        {"name": "full", "kind": "full", "slots": 64, "page_size": 1, "reserved_slots": 1},
        {"name": "draft", "kind": "draft", "slots": 64, "page_size": 1, "allocated_by": "full"},
    ]
    case = accepted()
    case.head["pools"] = pools
    case.move((23, 22))
    case.move((10, 11), (10, 12), pool="draft", caller="draft_tail")
    case.move((10, 11), pool=None, caller="draft_tail")
    read(case)
    assert not case.judged().findings
    case.move((10, 11), caller="other")
    case.decode(1, 7, 24)
    assert case.says().startswith("position 1 (slot 11)")


@pytest.mark.parametrize(("first", "wrong"), [("k", 0), ("v", 1)])
def test_a_call_for_each_component(first: str, wrong: int) -> None:
    """Twice the same chain is one move of each component, if the calls say that they are of different ones."""
    case = Case()
    case.prompt(1, [10, 11, 12], span(20, 30))
    case.verify(1, 3, [20, 21, 22, 23], accept_index=[0, 2, 3], next_token=[1, -1, 3, -1])
    for part in ([first], ["v"]):
        case.move((22, 21), (23, 22), components=part)
    read(case)
    assert len(case.judged().findings) == wrong


def test_a_verify_without_a_recorded_forward_reported_behind_its_move() -> None:
    case = Case()
    case.prompt(1, [10, 11, 12], span(20, 30))
    case.move((23, 22))
    case.verify(1, 3, [20, 21, 22, 23], forwarded=False)
    read(case)
    result = case.judged()
    assert not result.findings and not result.unknown


def test_accepts_and_moves_alone() -> None:
    case = Case("accept", "move")
    case.verify(1, 3, [20, 21, 22, 23], forwarded=False)
    case.move((23, 22))
    assert case.judged().checked["RPL-SHADOW"] == 1 and not case.judged().findings
    case.lines[-1]["src"] = [21]
    assert case.says().startswith("position 5 (slot 22)")


def test_moves_that_may_be_missing() -> None:
    case = accepted()
    case.head["tables"] = [name for name in TABLES if name != "move"]
    read(case)
    result = case.judged()
    assert not result.findings and "move was not recorded whole" in reasons(result)


@pytest.mark.parametrize("missing", [4, 6])
def test_a_hole_may_hide_what_put_it_right(missing: int) -> None:
    case = accepted()
    case.move((21, 22))
    read(case)
    for number, line in enumerate(case.lines):
        line["seq"] = number + (number >= missing)
    result = case.judged()
    assert not result.findings
    assert f"event {missing} is missing" in reasons(result)


def test_a_slot_that_the_row_names_and_the_forward_does_not_write() -> None:
    case = Case()
    case.prompt(1, [10, 11, 12], span(20, 30))
    case.lines[-1]["slots"] = [10, 31, 12]
    case.decode(1, 3, 20)
    assert case.says() == ("position 1 (slot 11) holds nothing that was written, not token 101")


@pytest.mark.parametrize("readers", [20, 200])
def test_a_life_that_goes_back_and_forth_lists_its_prefix_once(readers: int) -> None:
    case = Case(slots=400)
    case.prompt(1, span(100, 150), span(200, 210))
    for number in range(readers):
        case.decode(1, 50 if number % 2 else 10, 200 if number % 2 else 110)
    replay = ProcessView(cast(ProcessRecording, case.stream())).shadow
    assert len(replay.dues) == 50 + readers
    assert not case.judged().findings


@pytest.mark.parametrize("pads", [1, 100])
def test_what_pads_write_to_the_dummy_is_not_looked_at(pads: int) -> None:
    case = Case()
    case.prompt(1, [0, 0, 12], span(20, 30))
    for _ in range(pads):
        case.decode(1, 3, 20)
        case.add("forward", mode="decode", pool="full", slots=[0], padded=True)
    replay = ProcessView(cast(ProcessRecording, case.stream())).shadow
    at_dummy = replay.entries.slot[replay.looks.entry] == 0
    assert int(at_dummy.sum()) == 2
    assert not case.judged().findings and "dummy slot" in " ".join(reasons(case.judged()))


def test_no_recorded_result_is_read_where_the_target_s_choices_are_there(tmp_path: Path) -> None:
    found = []
    for case in CASES:
        lines = [json.loads(line) for line in case.read_text().splitlines()]
        blank = [
            {name: value for name, value in line.items() if line["event"] != "accept" or name not in OUTPUTS}
            for line in lines
        ]
        told, untold = (
            shadowed(tmp_path / f"{case.stem}-{n}", each) for n, each in enumerate((lines, blank))
        )
        assert told == untold and told.checked["RPL-SHADOW"], case.stem
        found += [case.stem] * bool(told.findings)
    assert {"move-direction-swapped", "move-skipped"} <= set(found)


def shadowed(path: Path, lines: list[Line]) -> CheckResult:
    """What the shadow says of a recording of these lines."""
    import_jsonl(io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()), path)
    return check(Recording.open(path), only=["RPL-SHADOW"])
