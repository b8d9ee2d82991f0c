"""Replay on the device finds what it finds on the CPU: on a demo with a fault and on random batches, whole and in windows."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.cli import main
from speckv_debug.collectors.reference.demo import record_demo
from speckv_debug.collectors.reference.faults.catalogue import FAULTS, fault_named
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay import windows
from tests.slot_batches import TABLES, Batches

pytestmark = pytest.mark.gpu

HEAD = {"event": "process", "engine": "sglang", "engine_version": "0.5.23", "tables": TABLES}
POOLS = [
    {"name": "full", "kind": "full", "slots": 100_000, "page_size": 16, "reserved_slots": 16},
    {"name": "c", "kind": "c128_state", "slots": 64, "page_size": 1, "reserved_slots": 0},
    {"name": "m", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1},
]
OF_DEMO = {
    f"RPL-{name}" for name in ("ACCEPT", "BONUS", "LEN", "LOC", "MOVE", "COMPACT", "RESERVE", "SHADOW")
}
OF_BATCHES = {f"RPL-{name}" for name in ("ACCEPT", "MOVE", "COMPACT", "STATE")}


def agree(path: Path, rules: set[str]) -> None:
    """Both devices say the same, and these rules judged something."""
    raised: list[str] = []
    here, there = (
        check(
            Recording.open(path),
            replay="only",
            device=device,
            on_error=lambda rule, error: raised.append(f"{rule}: {error!r}"),
        )
        for device in ("cpu", "cuda")
    )
    assert here == there and not raised
    assert rules <= {rule for rule, count in there.checked.items() if count} <= set(RULES)
    assert there.findings


@pytest.mark.parametrize("windowed", [False, True])
@pytest.mark.parametrize("fault", ["move-direction-swapped", "predict-left-in-tree-order"])
def test_a_demo_with_a_fault(
    fault: str, windowed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record_demo(tmp_path / "x.speckv", seed=7, fault=fault_named(fault))
    if windowed:
        monkeypatch.setattr(windows, "WINDOWED_FROM", 0)
        monkeypatch.setattr(windows, "WINDOW", 100)
    agree(tmp_path / "x.speckv", OF_DEMO)


@pytest.mark.parametrize("seed", range(5))
def test_random_batches_with_rings_and_recurrent_state(seed: int, tmp_path: Path) -> None:
    head = HEAD | {"pools": POOLS, "settings": {"accept_index_rows": "flat"}}
    text = "".join(json.dumps(line) + "\n" for line in (head, *Batches(seed).lines))
    import_jsonl(io.BytesIO(text.encode()), tmp_path / "x.speckv")
    agree(tmp_path / "x.speckv", OF_BATCHES)


@pytest.mark.parametrize("fault", [None, *(fault.name for fault in FAULTS)])
def test_the_command_says_the_same_of_either_device(
    fault: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """All rules, laws and replay, from the recording to the output."""
    record_demo(tmp_path / "x.speckv", seed=7, fault=fault_named(fault) if fault else None)
    capsys.readouterr()
    said = []
    for device in ("cpu", "cuda"):
        code = main(["check", str(tmp_path / "x.speckv"), "--format", "json", "--device", device])
        said.append((code, capsys.readouterr()))
    assert said[0] == said[1]
    report = json.loads(said[1][1].out)
    assert report["checked"].keys() == RULES.keys()
    assert report["findings"] if fault else report["verdict"] == "clean"
