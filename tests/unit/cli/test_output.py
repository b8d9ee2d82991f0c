"""Names of outputs, and what may be replaced."""

from pathlib import Path

import pytest

from speckv_debug.cli.output import claim, clear, default_output
from speckv_debug.errors import UsageError


@pytest.mark.parametrize(
    ("input", "suffix", "output"),
    [
        ("a/run.jsonl", ".speckv", "a/run.speckv"),
        ("a/run.jsonl.xz", ".speckv", "a/run.speckv"),
        ("run.v2.jsonl.gz", ".speckv", "run.v2.speckv"),
        ("run.speckv", ".html", "run.html"),
        ("run", ".html", "run.html"),
        (".jsonl", ".speckv", ".jsonl.speckv"),
    ],
)
def test_the_default_name_is_the_stem_with_the_new_suffix(input: str, suffix: str, output: str) -> None:
    assert default_output(Path(input), suffix) == Path(output)


def test_the_current_folder_has_a_name_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.speckv").mkdir()
    monkeypatch.chdir(tmp_path / "run.speckv")
    assert default_output(Path("."), ".html").resolve() == tmp_path / "run.html"


def test_a_pipe_has_no_default_name() -> None:
    with pytest.raises(UsageError, match="pipe") as caught:
        default_output(Path("-"), ".speckv")
    assert "-o" in caught.value.remedy


def test_a_free_name_is_given_and_a_taken_one_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "out.html"
    assert claim(path, False) == path
    path.write_text("old")
    with pytest.raises(UsageError, match="exists") as caught:
        claim(path, False)
    assert "-f" in caught.value.remedy
    assert claim(path, True) == path and path.read_text() == "old"
    clear(path)
    assert not path.exists()


def test_force_never_replaces_what_is_no_recording(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    assert claim(home, True) == home
    (home / "letters.txt").write_text("mine")
    with pytest.raises(UsageError, match="no recording"):
        claim(home, True)
    (home / "manifest.json").write_text('{"name": "an app of mine"}')
    with pytest.raises(UsageError, match="no recording"):
        claim(home, True, kind="folder")
    (home / "manifest.json").write_text('{"format_version": 1}')
    assert claim(home, True, kind="folder") == home
    with pytest.raises(UsageError, match="a file would take its place"):
        claim(home, True, kind="file")
    with pytest.raises(UsageError, match="a folder would take its place"):
        claim(home / "letters.txt", True, kind="folder")
    with pytest.raises(UsageError, match="the input itself"):
        claim(home, True, input=tmp_path / "home")


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder it should go to"):
        claim(tmp_path / "no/where.html", False)


def test_a_dangling_link_is_an_output_that_exists(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(UsageError, match="exists"):
        claim(tmp_path / "link", False)
    clear(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
