"""A recording judged in windows gives what it gives when it is judged whole."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.checks import RULES, run, windowed
from speckv_debug.checks.progress import Progress
from speckv_debug.checks.races import UNTIMED
from speckv_debug.checks.run import check
from speckv_debug.checks.selection import Replay
from speckv_debug.checks.windowed import judge_windows
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay import window_ends, windows
from speckv_debug.replay.view import ProcessView, views
from tests.slot_batches import TABLES, Batches
from tests.told_lengths import Lengths
from tests.unit.conftest import PROCESS

RECORDINGS = Path(__file__).parents[2] / "recordings"
REAL = [
    RECORDINGS / "real" / f"{name}.jsonl.xz" for name in ("eagle_k1_p64", "eagle_k4_p64_sync", "ngram_b4_p1")
]
FAULTS = sorted(RECORDINGS.glob("real/fault-*.jsonl.xz"))

REPLAYED = ("RPL-ACCEPT", "RPL-BONUS", "RPL-LEN", "RPL-COMPACT")
PREFIXLESS = (
    "ACC-COUNT",
    "LOC-UNIQ",
    "LEN-SEQ",
    "LEN-STALE",
    "LEN-TOKEN",
    "OWN-UAF",
    "OWN-LEAK",
    "OWN-ROW",
    "TRC-GAP",
)
"""Rules of each kind of scope that a window decides."""
PROGRESS = Progress(lambda share: None, 1, 1)


@contextmanager
def windows_of(events: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOWED_FROM", 0)
        patch.setattr(windows, "WINDOW", events)
        yield


def judged(path: Path, replay: Replay = "off") -> CheckResult:
    raised: list[str] = []
    result = check(
        Recording.open(path), replay=replay, on_error=lambda rule, e: raised.append(f"{rule}: {e!r}")
    )
    assert not raised
    return result


@pytest.mark.parametrize(
    ("source", "events"),
    [*zip(REAL, (700, 300, 1), strict=True), *((fault, 200) for fault in FAULTS[::2])],
    ids=lambda value: value.name.partition(".")[0] if isinstance(value, Path) else str(value),
)
def test_windows_change_nothing(source: Path, events: int, tmp_path: Path) -> None:
    import_jsonl(source, tmp_path / "x.speckv")
    with windows_of(events):
        process = Recording.open(tmp_path / "x.speckv").processes[0]
        count = sum(1 for _ in windows.windows(ProcessView(process), keep=True))
        assert count > 1
        found = judged(tmp_path / "x.speckv")
    assert found == judged(tmp_path / "x.speckv")


@pytest.mark.parametrize("replay", ["on", "only"])
@pytest.mark.parametrize(
    ("source", "events"), [(REAL[2], 1), (FAULTS[0], 200), (FAULTS[-1], 100)], ids=["ngram", "first", "last"]
)
def test_replay_in_windows_changes_nothing(source: Path, events: int, replay: Replay, tmp_path: Path) -> None:
    import_jsonl(source, tmp_path / "x.speckv")
    with windows_of(events):
        found = judged(tmp_path / "x.speckv", replay)
    whole = judged(tmp_path / "x.speckv", replay)
    assert found == whole and sum(whole.checked[rule] for rule in REPLAYED) > 0


@pytest.mark.parametrize("seed", range(3))
def test_paths_that_windows_replayed_are_those_of_the_whole(seed: int, tmp_path: Path) -> None:
    lines = spoilt(Batches(seed).lines)
    text = "".join(json.dumps(line) + "\n" for line in (PROCESS | {"tables": TABLES}, *lines))
    import_jsonl(io.BytesIO(text.encode()), tmp_path / "x.speckv")
    ran: list[str] = []
    with windows_of(1):
        view = ProcessView(Recording.open(tmp_path / "x.speckv").processes[0])
        judge_windows(view, [RULES[rule] for rule in REPLAYED], lambda rule, e: ran.append(rule), PROGRESS)
        found = judged(tmp_path / "x.speckv", "only")
    whole = ProcessView(view.process)
    for name in ("values", "offsets", "present"):
        assert np.array_equal(
            getattr(view.replayed_paths.rows, name), getattr(whole.replayed_paths.rows, name)
        )
    assert whole.replayed_paths.again.any() and not ran
    assert found == judged(tmp_path / "x.speckv", "only")
    assert {finding.rule for finding in found.findings} >= {"RPL-ACCEPT", "RPL-LEN", "RPL-COMPACT"}


def spoilt(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same with one row less accepted where there are several, and numbers that don't fit."""
    for line in lines:
        if line["event"] == "accept" and line["accept_len"] > 1:
            line["accept_len"] -= 1
            line["accept_index"] = [*line["accept_index"][:-2], -1, -1]
            line |= {"new_seq_len": line["seq_len"] + 1, "bonus_token": 7}
    return lines


def test_a_commit_whose_accept_lies_several_windows_back_is_judged(tmp_path: Path) -> None:
    run = Lengths(tables=["accept", "lengths", "release"])
    run.told(10, 20, "extend")
    for step, (start, accepted) in enumerate([(10, 3), (13, 2), (15, 2), (17, 1)], start=2):
        run.step = step
        run.verify(start, accepted)
    for run.step, committed in ((2, 13), (3, 15), (4, 17)):
        run.told(committed, 20, "verify_commit")
    head = {"event": "process", "engine": "sglang"} | run.head
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(line) + "\n" for line in (head, *run.lines)))
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    view = ProcessView(Recording.open(tmp_path / "x.speckv").processes[0])
    with windows_of(1):
        verdict = judge_windows(view, [RULES["LEN-COMMIT"]], lambda rule, error: None, PROGRESS)["LEN-COMMIT"]
    assert (verdict.instances, dict(verdict.unknown), verdict.whole) == (3, {}, False)


@pytest.mark.parametrize("left_behind", [False, True])
def test_peers_that_were_told_in_an_earlier_window_count(left_behind: bool, tmp_path: Path) -> None:
    lines = (RECORDINGS / "rules" / "MOV-ALLPOOLS" / "pass.jsonl").read_text().splitlines(keepends=True)
    if left_behind:
        del lines[-2]  # the move of the window's pool in the second step
    import_jsonl(io.BytesIO("".join(lines).encode()), tmp_path / "x.speckv")
    with windows_of(1):
        assert len(list(windows.windows(views(Recording.open(tmp_path / "x.speckv"))[0], keep=False))) == 2
        found = judged(tmp_path / "x.speckv")
    assert found == judged(tmp_path / "x.speckv")
    told = [(finding.rule, finding.step) for finding in found.findings if finding.rule == "MOV-ALLPOOLS"]
    assert told == [("MOV-ALLPOOLS", 2)] * left_behind


def test_no_window_is_read_for_rules_that_need_the_whole(tmp_path: Path) -> None:
    import_jsonl(REAL[2], tmp_path / "x.speckv")
    view = ProcessView(Recording.open(tmp_path / "x.speckv").processes[0])
    with windows_of(1), pytest.MonkeyPatch.context() as patch:
        patch.setattr(windowed, "windows", lambda view, keep: pytest.fail("read for nothing"))
        whole = [RULES[rule] for rule in ("RPL-SHADOW", "RPL-RESERVE")]
        assert judge_windows(view, whole, lambda rule, error: None, PROGRESS) == {}


def test_a_clean_run_is_judged_without_a_column_of_the_whole(tmp_path: Path) -> None:
    import_jsonl(REAL[0], tmp_path / "x.speckv")
    read: list[str] = []
    with windows_of(700), pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows.KeptColumns, "_column", lambda columns, name: read.append(name))
        found = check(Recording.open(tmp_path / "x.speckv"), only=PREFIXLESS, replay="off")
    assert sum(found.checked.values()) > 1000 and not read


def test_no_column_of_the_whole_is_read_where_a_rule_has_no_event_of_its_own(tmp_path: Path) -> None:
    import_jsonl(REAL[0], tmp_path / "x.speckv")
    read: list[str] = []
    rules = ("OWN-RACE", "OWN-MAP", "OWN-REF", "LOC-GROUP", "LEN-COMMIT")
    with windows_of(700), pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows.KeptColumns, "_column", lambda columns, name: read.append(name))
        found = check(Recording.open(tmp_path / "x.speckv"), only=rules, replay="off")
    assert found.checked["LEN-COMMIT"] > 100 and not read
    assert [each.why for each in found.unknown if each.rule == "OWN-RACE"] == [UNTIMED]


def test_nothing_is_kept_of_a_process_that_was_judged(tmp_path: Path) -> None:
    import_jsonl(REAL[2], tmp_path / "x.speckv")
    recording, held = Recording.open(tmp_path / "x.speckv"), list[int]()
    made = views(recording)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "views", lambda recording, device: made)
        patch.setattr(run, "with_causes", lambda findings, same: held.append(len(vars(made[0]))) or findings)
        check(recording)
    assert len(held) == 2, "what the laws say is told before replay begins"
    assert held[-1] == len(vars(ProcessView(made[0].process)))


def test_progress_goes_up_to_one(tmp_path: Path) -> None:
    import_jsonl(REAL[0], tmp_path / "x.speckv")
    for events in (500, 1 << 40):
        told: list[float] = []
        with windows_of(events):
            check(Recording.open(tmp_path / "x.speckv"), replay="off", on_progress=told.append)
        assert told == sorted(told) and told[-1] == 1.0 and len(told) > 20


def test_damage_that_shows_only_when_a_part_is_read_counts(tmp_path: Path) -> None:
    import_jsonl(REAL[0], tmp_path / "x.speckv")
    part = next(tmp_path.glob("x.speckv/*/accept/*.parquet"))
    data = bytearray(part.read_bytes())
    data[len(data) // 2] ^= 0xFF
    part.write_bytes(data)
    with windows_of(500):
        found = judged(tmp_path / "x.speckv")
    whole = judged(tmp_path / "x.speckv")
    assert any("damaged file of accept" in unknown.why for unknown in whole.unknown)
    assert found == whole


@given(st.lists(st.integers(0, 12), min_size=1, max_size=80), st.integers(1, 20))
def test_no_step_goes_on_behind_the_end_of_a_window(steps: list[int], events: int) -> None:
    seq, spans = np.arange(len(steps), dtype=np.int64) * 3 + 5, window_ends.Spans()
    half = len(steps) // 2
    for part in (slice(0, half), slice(half, None)):
        spans.look({"accept": pa.table({"seq": seq[part], "step": np.array(steps[part], dtype=np.int64)})})
    closed = spans.closed()
    ends = window_ends.chosen(closed, spans.granting(closed), int(seq[0]), int(seq[-1]) + 4, events)
    assert ends == sorted(set(ends)) and ends[-1] == int(seq[-1]) + 4
    for end in ends[:-1]:
        before = {step for step, at in zip(steps, seq.tolist(), strict=True) if at <= end}
        assert not before & {step for step, at in zip(steps, seq.tolist(), strict=True) if at > end}


def test_a_window_does_not_end_behind_a_grant_if_another_end_is_near() -> None:
    seq, grants = np.arange(10, dtype=np.int64), np.array([3, 4], dtype=np.int64)
    spans = window_ends.Spans()
    spans.look({"alloc": pa.table({"seq": grants, "step": np.array([3, 4], dtype=np.int64)})})
    assert window_ends.chosen(seq, spans.granting(seq), 0, 9, 3) == [5, 8, 9]
    assert window_ends.chosen(grants, spans.granting(grants), 0, 9, 2) == [4, 9]
