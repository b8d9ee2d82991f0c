"""A recording judged in windows gives what it gives when it is judged whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay import windows
from speckv_debug.replay.view import ProcessView

RECORDINGS = Path(__file__).parents[2] / "recordings"
REAL = [
    RECORDINGS / "real" / f"{name}.jsonl.xz" for name in ("eagle_k1_p64", "eagle_k4_p64_sync", "ngram_b4_p1")
]
FAULTS = sorted(RECORDINGS.glob("real/fault-*.jsonl.xz"))


@contextmanager
def windows_of(events: int) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOWED_FROM", 0)
        patch.setattr(windows, "WINDOW", events)
        yield


def judged(path: Path) -> CheckResult:
    raised: list[str] = []
    result = check(
        Recording.open(path), replay="off", on_error=lambda rule, e: raised.append(f"{rule}: {e!r}")
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
        count = sum(1 for _ in windows.windows(ProcessView(process)))
        assert count > 1
        found = judged(tmp_path / "x.speckv")
    assert found == judged(tmp_path / "x.speckv")


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
    seq = np.arange(len(steps), dtype=np.int64) * 3 + 5
    with windows_of(events):
        ends = windows._chosen(*windows._spans(seq, np.array(steps, dtype=np.int64)), int(seq[-1]) + 4)
    assert ends == sorted(set(ends)) and ends[-1] == int(seq[-1]) + 4
    for end in ends[:-1]:
        before = {step for step, at in zip(steps, seq.tolist(), strict=True) if at <= end}
        assert not before & {step for step, at in zip(steps, seq.tolist(), strict=True) if at > end}
