"""Names of outputs, and what may be replaced."""

import os
from pathlib import Path
from typing import Literal

import pytest

from speckv_debug.cli.output import claim, clear, default_output, typed
from speckv_debug.errors import UsageError
from speckv_debug.recording.jsonl import export_jsonl, import_jsonl
from speckv_debug.recording.reader import Recording

KINDS: tuple[Literal["file", "folder"], ...] = ("file", "folder")


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
    with pytest.raises(UsageError, match="something else lies"):
        claim(home, True, kind="folder")
    (home / "letters.txt").unlink()
    assert claim(home, True, kind="folder") == home
    with pytest.raises(UsageError, match="a file would take its place"):
        claim(home, True, kind="file")
    letters = tmp_path / "letters.txt"
    letters.write_text("mine")
    with pytest.raises(UsageError, match="a folder would take its place"):
        claim(letters, True, kind="folder")
    with pytest.raises(UsageError, match="the input itself"):
        claim(home, True, input=tmp_path / "home")


@pytest.mark.parametrize("force", [False, True])
def test_nobody_is_advised_to_overwrite_what_is_no_recording(force: bool, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "beach.jpg").write_text("mine")
    (tmp_path / "letters.txt").write_text("mine")
    for name in ("photos", "letters.txt"):
        with pytest.raises(UsageError, match="no recording|a folder would take its place") as caught:
            claim(tmp_path / name, force, kind="folder")
        assert caught.value.remedy == "Choose another name with -o."


def test_a_missing_folder_is_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="folder it should go to"):
        claim(tmp_path / "no/where.html", False)


def test_a_dangling_link_is_an_output_that_exists(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nothing")
    with pytest.raises(UsageError, match="exists"):
        claim(tmp_path / "link", False)
    assert claim(tmp_path / "link", True, kind="file") == (tmp_path / "nothing").resolve()
    clear(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()


def test_a_link_is_followed_and_a_pipe_is_written_to(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("old")
    (tmp_path / "link").symlink_to("page.html")
    assert claim(tmp_path / "link", True, kind="file") == (tmp_path / "page.html").resolve()
    os.mkfifo(tmp_path / "pipe")
    for stream in (tmp_path / "pipe", Path("/dev/null")):
        assert claim(stream, False, kind="file") == stream
        with pytest.raises(UsageError, match="no file that can be replaced"):
            claim(stream, True, kind="folder")


def test_an_export_goes_through_a_named_pipe_that_stays(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"event":"process","engine":"toy"}\n{"event":"note","text":"hello"}\n')
    import_jsonl(tmp_path / "a.jsonl", tmp_path / "a.speckv")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    export_jsonl(Recording.open(tmp_path / "a.speckv"), pipe)
    text = os.read(reader, 65536)
    os.close(reader)
    assert b"hello" in text and pipe.is_fifo()


def test_nothing_is_written_into_a_recording(tmp_path: Path) -> None:
    run = tmp_path / "run.speckv"
    run.mkdir()
    (run / "x.jsonl").write_text("{}")
    with pytest.raises(UsageError, match="lies inside the recording"):
        claim(run / "page.html", True, kind="file", input=run)
    with pytest.raises(UsageError, match="the folder that holds the input"):
        claim(run, True, kind="folder", input=run / "x.jsonl")
    (run / "manifest.json").write_text('{"format_version": 1}')
    for kind in KINDS:
        with pytest.raises(UsageError, match="lies inside the recording"):
            claim(run / "deep.speckv", False, kind=kind)


@pytest.mark.parametrize("name", ["notes.txt", "notes", ".git"])
def test_what_somebody_put_into_a_recording_is_kept(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.jsonl").write_text('{"event":"process","engine":"toy"}\n{"event":"note","text":"hello"}\n')
    run = tmp_path / "run.speckv"
    import_jsonl(tmp_path / "a.jsonl", run)
    assert claim(run, True, kind="folder") == run
    (run / name).mkdir() if name != "notes.txt" else (run / name).write_text("mine")
    with pytest.raises(UsageError, match=f"something else lies .{name}."):
        claim(run, True, kind="folder")


def test_a_path_is_printed_as_one_can_type_it() -> None:
    assert typed(Path("a b")) == "'a b'"
    assert typed(Path("-o")) == "./-o"
    assert typed(Path("caf\udce9's\x1b\n")) == r"$'caf\xe9\'s\x1b\x0a'"
