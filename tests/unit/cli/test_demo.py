"""`demo` refuses what it can't do before it records."""

from pathlib import Path

import pytest

from speckv_debug import cli


@pytest.mark.parametrize("seed", [-1, 2**63, 10**26])
def test_a_seed_out_of_range_is_refused(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cli.main(["demo", f"--seed={seed}"]) == 2
    assert "out of range" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
