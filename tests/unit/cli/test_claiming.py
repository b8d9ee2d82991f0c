"""What stood in the place of a new recording goes only when the new one is sure to stand."""

from pathlib import Path

import pytest

from speckv_debug.cli.claiming import Claim
from speckv_debug.cli.output import clear
from speckv_debug.errors import UsageError
from speckv_debug.recording.manifest import create_manifest


def recording(path: Path, word: str) -> Path:
    create_manifest(path, [word])
    return path


def words(path: Path) -> str:
    return (path / "manifest.json").read_text()


def test_an_error_before_keep_brings_the_old_one_back(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.speckv", "old")
    with pytest.raises(RuntimeError), Claim(path, force=True):
        recording(path, "new")
        raise RuntimeError
    assert "old" in words(path)
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_after_keep_leaves_the_new_one(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.speckv", "old")
    with pytest.raises(RuntimeError), Claim(path, force=True) as claim:
        recording(path, "new")
        claim.keep()
        raise RuntimeError
    assert "new" in words(path)
    assert list(tmp_path.iterdir()) == [path]


def test_an_error_leaves_nothing_where_nothing_was(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), Claim(tmp_path / "run.speckv", force=False):
        recording(tmp_path / "run.speckv", "new")
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_a_new_one_that_is_gone_at_the_end_brings_the_old_one_back(tmp_path: Path) -> None:
    path = recording(tmp_path / "run.speckv", "old")
    with Claim(path, force=True) as claim:
        clear(recording(path, "new"))
    assert claim.restored and "old" in words(path)
    with Claim(path, force=True) as claim:
        recording(path, "new")
    assert not claim.restored and "new" in words(path)
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_never_gives_way_to_a_recording(tmp_path: Path) -> None:
    (tmp_path / "run.speckv").write_text("mine")
    with pytest.raises(UsageError, match="is a file"):
        Claim(tmp_path / "run.speckv", force=True)
    assert (tmp_path / "run.speckv").read_text() == "mine"
