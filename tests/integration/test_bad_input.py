"""Every wrong input gets its message and exit code 2, and no file is touched."""

import json
import lzma
import os
import subprocess
import sys
from pathlib import Path

import pytest

from speckv_debug.cli import main
from speckv_debug.recording.jsonl import import_jsonl

PROCESS = '{"event":"process","engine":"sglang"}'
ACCEPT = '{"event":"accept","width":4,"draft_tokens":[1,2,3,4]'
POOLS = '{"event":"process","pools":[%s]}'


def tree(folder: Path) -> dict[str, tuple[bytes, int]]:
    """Every file below a folder, its bytes and time of change."""
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files} | {
        str(path): (b"", 0) for path in folder.rglob("*") if path.is_dir()
    }


def refused(capsys: pytest.CaptureFixture[str], folder: Path, *argv: str) -> str:
    """Run a command that must fail without touching anything; what it says on stderr."""
    before = tree(folder)
    assert main(list(argv)) == 2
    out, err = capsys.readouterr()
    assert out == "" and "Traceback" not in err and err.startswith("speckv-debug: ")
    assert tree(folder) == before
    return err


def test_a_line_without_an_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not read to its end, which may never come."""
    monkeypatch.setattr("speckv_debug.recording.jsonl_import.LONGEST_LINE", 1 << 20)
    assert ":1: the line goes on behind 1 MiB" in refused(capsys, tmp_path, "import", "/dev/zero")


@pytest.mark.parametrize(
    ("line", "says", "remedy"),
    [
        ("hello", "no JSON", "one JSON object on one line"),
        ('{"event":"alloc",', "no JSON", "one JSON object on one line"),
        ("[1]", "is no JSON object", '{"event": "alloc"'),
        pytest.param("[" * 100_000, "nested too deeply", "lists of lists", id="deep"),
        pytest.param('{"event":"alloc","row":' + "9" * 5000 + "}", "too many digits", "64 bits", id="digits"),
        ('{"event":"alloc","row":NaN}', "NaN is no JSON", '"nan"'),
        ('{"event":"alloc","row":1,"row":2}', '"row" is there twice', ""),
        ('{"step":1}', 'no "event"', "Known events"),
        ('{"event":7}', 'no "event"', "Known events"),
        ('{"event":"aloc"}', '"aloc" is no event', 'Did you mean "alloc"?'),
        ('{"event":"xyzzy"}', '"xyzzy" is no event', "Known events"),
        ('{"event":"alloc","row":"3"}', '"row" should be an integer, not "3"', "without quotes"),
        ('{"event":"alloc","row":3.0}', '"row" should be an integer, not 3.0', ""),
        ('{"event":"alloc","row":true}', '"row" should be an integer, not true', ""),
        ('{"event":"alloc","request":7}', '"request" should be a string, not 7', 'Write "7"'),
        ('{"event":"alloc","request":"\\ud800"}', "surrogate", ""),
        ('{"event":"alloc","granted":1}', '"granted" should be true or false', ""),
        ('{"event":"alloc","slots":7}', '"slots" should be a list', "brackets"),
        ('{"event":"alloc","slots":{"a":1}}', '"slots" should be a list', ""),
        ('{"event":"alloc","slots":[1,[2]]}', '"slots": [2] is neither', "half-open"),
        ('{"event":"alloc","slots":["9:3"]}', 'the range "9:3" is reversed', "3:9"),
        ('{"event":"alloc","slots":["9-3"]}', '"9-3" is neither a slot nor a range', "half-open"),
        ('{"event":"alloc","slots":["0:99999999999"]}', "more than", "check the bounds"),
        ('{"event":"accept","draft_tokens":["1:3"]}', 'draft_tokens[0]" should be an integer', ""),
        ('{"event":"accept","draft_tokens":[1,null]}', 'draft_tokens[1]" should be an integer', ""),
        ('{"event":"accept","draft_tokens":[2147483648]}', "out of range", "32-bit"),
        ('{"event":"move","src":[9223372036854775808]}', "out of range", "64-bit"),
        ('{"event":"alloc","row":2147483648}', "out of range", "32-bit"),
        ('{"event":"move","components":["k",1]}', '"components[1]" should be a string', ""),
        ('{"event":"state_clear","first_half":"big"}', '"first_half" should be a number', '"inf"'),
        ('{"event":"state_clear","first_half":1e39}', "out of range", '"inf"'),
        ('{"event":"state_clear","first_half":1e999}', "out of range", '"inf"'),
        (ACCEPT + ',"predict":[1,2,3]}', '"predict" has 3 items, "width" is 4', "one item a verify row"),
        (ACCEPT + ',"table_slots":[1,2,3,4,5]}', '"table_slots" has 5 items', ""),
        ('{"event":"move","src":[1,2],"tgt":["1:4"]}', '"tgt" has 3 items, "src" has 2', "item by item"),
        ('{"event":"page_ref","pages":[1],"count_after":[]}', '"count_after" has 0 items', ""),
        ('{"event":"note","seq":-1}', '"seq" is -1', "from 0 up"),
        ('{"event":"note","seq":9223372036854775807}', "out of range", ""),
        ('{"event":"note","seq":0}', '"seq" 0 is already that of line 2', ""),
        ('{"event":"recording","format_version":1}', "not the first line", ""),
        ('{"event":"process","rank":0}', '"rank" should be an object', "process line"),
        ('{"event":"process","rank":{"tp":"../../x"}}', '"rank.tp" should be an integer', ""),
        ('{"event":"process","pid":-1}', '"pid" should be an integer', ""),
        ('{"event":"process","pools":[{"kind":"full"}]}', '"pools"', "process line"),
        ('{"event":"process","pools":[{"name":"full","slots":"many"}]}', '"slots" of pool "full"', ""),
        (POOLS % '{"name":"full","kind":"fulll"}', '"fulll" of pool "full" is no kind', 'mean "full"'),
        (POOLS % '{"name":"full","kind":"ZZZ"}', '"ZZZ" of pool "full" is no kind', "c128_state"),
        (POOLS % '{"name":"full","page_size":0}', '"page_size" of pool "full" should be', "from 1"),
        (POOLS % '{"name":"full","slots":9223372036854775808}', '"slots" of pool "full"', "from 0"),
        (POOLS % '{"name":"full"},{"name":"full"}', 'two pools have the name "full"', "process line"),
        ('{"event":"process","tables":[1]}', '"tables"', ""),
        ('{"event":"process","from_start":1}', '"from_start" should be true or false', ""),
    ],
)
def test_a_wrong_line_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, says: str, remedy: str
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(f'{PROCESS}\n{{"event":"note"}}\n\n{line}\n{{"event":"note"}}\n')
    err = refused(capsys, tmp_path, "import", str(file))
    assert err.startswith(f"speckv-debug: {file}:4: ")
    assert says in err and remedy in err


def test_a_wrong_encoding_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_bytes(PROCESS.encode() + b'\n{"event":"note","text":"\xff"}\n')
    assert ":2: byte 25 is no UTF-8" in refused(capsys, tmp_path, "import", str(tmp_path / "x.jsonl"))
    (tmp_path / "x.jsonl").write_text(PROCESS, encoding="utf-16")
    assert ":1: byte 1 is no UTF-8" in refused(capsys, tmp_path, "import", str(tmp_path / "x.jsonl"))


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_a_file_without_events_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    (tmp_path / "x.jsonl").write_text(text)
    assert "holds no event" in refused(capsys, tmp_path, "import", str(tmp_path / "x.jsonl"))


def test_a_newer_version_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text('{"event":"recording","format_version":2}\n{"event":"process"}\n')
    err = refused(capsys, tmp_path, "import", str(tmp_path / "x.jsonl"))
    assert ":1: " in err and "format version 2" in err and "newer speckv-debug" in err


@pytest.mark.parametrize("size", [40, 100])
def test_a_cut_off_archive_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str], size: int) -> None:
    text = "".join(f'{{"event":"note","text":"{i * 7919 % 1000}"}}\n' for i in range(500)).encode()
    (tmp_path / "x.jsonl.xz").write_bytes(lzma.compress(text)[:size])
    assert "damaged after line" in refused(capsys, tmp_path, "import", str(tmp_path / "x.jsonl.xz"))


def test_an_import_that_fails_keeps_what_it_would_replace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl").write_text(f"{PROCESS}\n")
    assert main(["import", str(tmp_path / "x.jsonl")]) == 0
    capsys.readouterr()
    (tmp_path / "x.jsonl").write_text("wrong\n")
    refused(capsys, tmp_path, "import", "-f", str(tmp_path / "x.jsonl"))


def test_outputs_that_exist_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = str(tmp_path / "x.jsonl"), str(tmp_path / "x.speckv")
    Path(file).write_text(f'{PROCESS}\n{{"event":"note"}}\n')
    assert main(["import", file]) == 0
    capsys.readouterr()
    assert "x.speckv exists" in refused(capsys, tmp_path, "import", file)
    assert "x.jsonl exists" in refused(capsys, tmp_path, "export", out, "-o", file)
    assert "is the input itself" in refused(capsys, tmp_path, "export", out, "-f", "-o", out)
    assert "is the input itself" in refused(capsys, tmp_path, "import", file, "-f", "-o", file)
    missing = str(tmp_path / "no/x.jsonl")
    assert "does not exist" in refused(capsys, tmp_path, "export", out, "-o", missing)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters/mine.txt").write_text("dear")
    err = refused(capsys, tmp_path, "import", file, "-f", "-o", str(tmp_path / "letters"))
    assert "no recording" in err


READERS = ["info", "export", "check", "report"]


QUESTIONS = {"history": ("--slot", "5"), "state": ("--at", "1")}
"""Commands that ask something of a recording."""


@pytest.mark.parametrize("command", [*READERS, *QUESTIONS])
def test_what_is_no_recording_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "x.jsonl").write_text(PROCESS)
    asked = QUESTIONS.get(command, ())
    for name, says in (("none", "no such recording"), ("empty", "no recording"), ("x.jsonl", "is a file")):
        assert says in refused(capsys, tmp_path, command, str(tmp_path / name), *asked)


def test_a_file_of_a_recording_names_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text(f'{PROCESS}\n{{"event":"note"}}\n')
    home = tmp_path / "x.speckv"
    import_jsonl(tmp_path / "x.jsonl", home)
    for file in ("manifest.json", "tp0-pp0-dp0/note/00000.parquet"):
        err = refused(capsys, tmp_path, "check", str(home / file))
        assert f"is a file; a recording is a folder\n  Give the folder: {home}\n" in err
    err = refused(capsys, tmp_path, "check", str(tmp_path / "x.jsonl"))
    assert f"Import it first: speckv-debug import {tmp_path / 'x.jsonl'}\n" in err


def test_remedies_name_the_option_that_is_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text(f'{PROCESS}\n{{"event":"note"}}\n')
    home, folder = str(tmp_path / "x.speckv"), tmp_path / "folder"
    import_jsonl(tmp_path / "x.jsonl", Path(home))
    folder.mkdir()
    err = refused(capsys, tmp_path, "check", home, "--baseline", str(folder), "--write-baseline")
    assert "Choose another name with --baseline.\n" in err
    err = refused(capsys, tmp_path, "check", home, "--config", str(tmp_path / "none.toml"))
    assert "none.toml can't be read" in err and err.endswith("\n  Check the path.\n")
    err = refused(capsys, tmp_path, "check", home, "--config", str(folder))
    assert "Name a file that can be read with --config" in err
    for option in ("--rule", "--ignore"):
        err = refused(capsys, tmp_path, "check", home, option, "MOV-PAIR,MOV-HAZARD")
        assert f"{option} takes one rule id" in err
        assert f"Repeat it: {option} MOV-PAIR {option} MOV-HAZARD.\n" in err


def test_a_damaged_part_is_a_hole_in_every_answer(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    alloc = {"event": "alloc", "step": 1, "request": "a", "row": 1, "epoch": 1, "slots": [5]}
    lines = [PROCESS, json.dumps(alloc), json.dumps(alloc | {"event": "free"})]
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    part = tmp_path / "x.speckv/tp0-pp0-dp0/alloc/00000.parquet"
    part.write_bytes(part.read_bytes()[:-400] + b"x" * 400)
    before, recording = tree(tmp_path), str(tmp_path / "x.speckv")
    for asked in (("history", recording, "--slot", "5"), ("history", recording, "--request", "a")):
        assert main(list(asked)) == 0
        out, err = capsys.readouterr()
        assert (
            "alloc rows of the whole recording are missing" in out and "alloc/00000.parquet: damaged" in err
        )
    assert main(["state", recording, "--at", "1"]) in (0, 3)
    assert "alloc rows of the whole recording are missing" in capsys.readouterr().out
    assert tree(tmp_path) == before


@pytest.mark.parametrize("command", READERS)
def test_a_recording_of_a_newer_version_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    (tmp_path / "x.jsonl").write_text(PROCESS)
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    (tmp_path / "x.speckv/manifest.json").write_text(json.dumps({"format_version": 2}))
    err = refused(capsys, tmp_path, command, str(tmp_path / "x.speckv"))
    assert "format version 2" in err and "newer" in err


def test_a_truncated_part_is_named_and_the_rest_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl").write_text(f'{PROCESS}\n{{"event":"alloc"}}\n{{"event":"note"}}\n')
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    part = tmp_path / "x.speckv/tp0-pp0-dp0/alloc/00000.parquet"
    part.write_bytes(part.read_bytes()[:300])
    before = tree(tmp_path)
    assert main(["info", str(tmp_path / "x.speckv")]) == 0
    assert "tp0-pp0-dp0/alloc/00000.parquet: damaged" in capsys.readouterr().out
    assert main(["export", str(tmp_path / "x.speckv")]) == 0
    out, err = capsys.readouterr()
    assert "alloc/00000.parquet: damaged" in err
    assert [json.loads(line)["event"] for line in out.splitlines()] == ["recording", "process", "note"]
    assert tree(tmp_path) == before


def test_names_from_outside_are_escaped(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = str(tmp_path / "evil\x1b[31m")
    assert "\x1b" not in refused(capsys, tmp_path, "info", name)
    (tmp_path / "x.jsonl").write_text('{"event":"process","engine":"\\u001b[31m\\u202e"}\n')
    assert main(["import", str(tmp_path / "x.jsonl")]) == 0
    assert main(["info", str(tmp_path / "x.speckv")]) == 0
    out, _ = capsys.readouterr()
    assert "\x1b" not in out and "\u202e" not in out and r"\x1b[31m\u202e" in out


def test_the_installed_program_says_it_too(tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("speckv-debug")
    env = {**os.environ, "PYTHONWARNINGS": "error"}
    done = subprocess.run(
        [program, "import", "-", "-o", "x.speckv"],
        input="hello\n",
        text=True,
        capture_output=True,
        cwd=tmp_path,
        env=env,
        check=False,
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("speckv-debug: <stdin>:1: this is no JSON")
    assert list(tmp_path.iterdir()) == []


def test_an_output_that_cannot_be_written_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "x.jsonl", tmp_path / ("y" * 300)
    file.write_text(f'{PROCESS}\n{{"event":"note"}}\n')
    assert "can't be written" in refused(capsys, tmp_path, "import", str(file), "-o", str(out))
    assert main(["import", str(file)]) == 0
    capsys.readouterr()
    recording = str(tmp_path / "x.speckv")
    assert "can't be written" in refused(capsys, tmp_path, "export", recording, "-o", str(out))


def test_many_problems_are_counted_not_hidden(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x.jsonl").write_text(f'{PROCESS}\n{{"event":"alloc"}}\n')
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    for number in range(1, 31):
        (tmp_path / f"x.speckv/tp0-pp0-dp0/alloc/{number:05}.parquet").write_text("rubbish")
    assert main(["export", str(tmp_path / "x.speckv")]) == 0
    err = capsys.readouterr().err
    assert err.count("damaged") == 20 and "and 10 more" in err
