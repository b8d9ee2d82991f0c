"""No clean recording is blamed, and no loss of the recorder is taken for a fault of the engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from benchmarks import mutants


@pytest.fixture(autouse=True)
def as_many_threads_as_before() -> Iterator[None]:
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize("seeds", ["5000:5008", pytest.param("0:2000", marks=pytest.mark.full)])
def test_no_false_alarm_on_clean_recordings(seeds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert mutants.main(["--clean", "--seeds", seeds]) == 0
    assert capsys.readouterr().out.startswith("0 false alarms on ")


@pytest.mark.parametrize("changes", [6, pytest.param(400, marks=pytest.mark.full)])
@pytest.mark.parametrize("kind", ["reference", "real", "hand"])
def test_no_rule_raises_and_no_loss_is_a_fault(kind: str, changes: int) -> None:
    seeds = range(50) if changes > 100 else range(2, 3)
    outcomes = list(mutants.run(kind, seeds, changes))
    assert outcomes
    assert not [o for o in outcomes if o.false_alarm or any("raised" in rule for rule in o.rules)]


def test_a_run_that_was_stopped_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "outcomes.jsonl"
    mutants.main(["--seeds", "7:8", "--changes", "6", "--out", str(out)])
    kept = out.read_text()
    capsys.readouterr()
    in_two = ["--seeds", "7:9", "--changes", "9", "--by", "column", "--missed"]
    mutants.main([*in_two, "--out", str(out)])
    assert out.read_text().startswith(kept) and len(out.read_text()) > len(kept)
    printed = capsys.readouterr().out
    mutants.main(in_two)
    assert capsys.readouterr().out == printed
