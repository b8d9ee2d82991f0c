"""The command line's outer edge: streams that can't take the output, files that can't be written."""

import argparse
import errno
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from speckv_debug import cli
from speckv_debug.cli import explain, program
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode
from speckv_debug.recording.jsonl import import_jsonl

PROGRAM = [sys.executable, "-m", "speckv_debug"]


def failing(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> int:
    def run(args: argparse.Namespace) -> int:
        raise error

    monkeypatch.setattr(explain, "run", run)
    return cli.main(["explain", "x"])


def test_a_terminal_without_the_characters_gets_them_escaped() -> None:
    words = "import sys; from speckv_debug.cli.streams import ready_streams as r; r(); print('\\u2713')"
    ascii_ = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", words], capture_output=True, env=ascii_, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"\\u2713\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("where", [">/dev/full", ">&-"])
def test_an_output_that_takes_nothing_is_said(where: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    shell = ["sh", "-c", f'"$@" {where}', "sh", *PROGRAM, "rules"]
    done = subprocess.run(shell, env=environment, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == ExitCode.USAGE
    assert "the output can't be written" in done.stderr
    assert "Traceback" not in done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-", "2</dev/null"])
@pytest.mark.parametrize(("command", "code"), [("check nowhere.speckv", 2), ("rules --nix", 2), ("rules", 0)])
def test_narration_that_can_t_be_written_changes_no_exit_code(where: str, command: str, code: int) -> None:
    shell = ["sh", "-c", f'"$@" {command} {where}', "sh", *PROGRAM]
    done = subprocess.run(shell, stdout=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == code and (len(done.stdout) > 1000) == (command == "rules")


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/no/x.html"), "permissions"),
        (OSError(errno.ENOSPC, "No space left on device", "/no/x.html"), "room"),
    ],
)
def test_a_refusal_of_the_system_is_a_message_with_path_and_remedy(
    error: OSError, remedy: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(error, monkeypatch) == ExitCode.USAGE
    said = capsys.readouterr().err
    assert "/no/x.html" in said and str(error.strerror) in said and remedy in said
    assert "Traceback" not in said


def test_an_error_message_reaches_the_terminal_without_control_characters(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(UsageError("no \x1b[31mX\nY", "try \x9b"), monkeypatch) == ExitCode.USAGE
    assert capsys.readouterr().err == "speckv-debug: no \\x1b[31mX\\nY\n  try \\x9b\n"
    with pytest.raises(SystemExit):
        cli.main(["explain", "x", "\x1b[31mY"])
    assert "\x1b" not in capsys.readouterr().err


INTERRUPTED_AT = """
import importlib.abc, os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background is born without
class CtrlC(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == sys.argv[1]:
            try:
                for _ in range(int(sys.argv[2])):
                    os.kill(os.getpid(), signal.SIGINT)
            except BaseException:
                os.abort()  # as C code may where Python raises in its middle
sys.meta_path.insert(0, CtrlC())
from speckv_debug.cli import main
sys.exit(main(["rules"]))
"""


@pytest.mark.parametrize(
    ("module", "times"),
    [
        ("speckv_debug.cli.program", 1),
        ("argparse", 1),
        ("speckv_debug.checks", 1),
        ("numpy", 1),
        ("numpy", 2),
    ],
)
def test_ctrl_c_while_the_program_imports_shows_no_traceback(module: str, times: int) -> None:
    asked = [sys.executable, "-c", INTERRUPTED_AT, module, str(times)]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == ExitCode.INTERRUPTED
    told = [
        line for line in done.stderr.splitlines() if not line.startswith("next: ")
    ]  # the import was its last one
    assert told == ["speckv-debug: interrupted"]


def test_ctrl_c_that_is_ignored_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        monkeypatch.setattr(
            program, "run_command", lambda argv: int(signal.getsignal(signal.SIGINT) is signal.SIG_IGN)
        )
        assert cli.main([]) == 1
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_in_a_command_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert failing(KeyboardInterrupt(), monkeypatch) == ExitCode.INTERRUPTED
    assert capsys.readouterr() == ("", "speckv-debug: interrupted\n")


@pytest.mark.parametrize("argv", [["rules", "--jsn"], ["check", "x.speckv", "y.speckv"]])
def test_an_argument_too_many_shows_the_usage_of_its_command(
    argv: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        cli.main(argv)
    said = capsys.readouterr().err
    assert end.value.code == ExitCode.USAGE
    assert said.startswith(f"usage: speckv-debug {argv[0]} ")
    assert f"speckv-debug {argv[0]}: error: unrecognized arguments: {argv[-1]}" in said


def test_json_is_a_short_form(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["rules", "--format", "json"]) == ExitCode.CLEAN
    long = capsys.readouterr().out
    assert cli.main(["rules", "--json"]) == ExitCode.CLEAN
    assert capsys.readouterr().out == long and long.startswith("[")


@pytest.mark.parametrize("command", ["check", "info"])
def test_json_is_taken_of_a_recording(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "x.jsonl").write_text('{"event":"process","engine":"sglang"}\n{"event":"note"}\n')
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    cli.main([command, str(tmp_path / "x.speckv"), "--json"])
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_one_request_is_no_plural(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ['{"event":"process","engine":"sglang"}', '{"event":"alloc","request":"a","step":1}']
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    import_jsonl(tmp_path / "x.jsonl", tmp_path / "x.speckv")
    capsys.readouterr()
    assert cli.main(["info", str(tmp_path / "x.speckv")]) == ExitCode.CLEAN
    out = capsys.readouterr().out
    assert ", 1 request" in out and "1 requests" not in out


def test_a_reader_that_has_seen_enough_does_not_change_the_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = Path(__file__).parents[2] / "recordings" / "cases"
    import_jsonl(cases / "move-direction-swapped.jsonl", tmp_path / "r.speckv")

    def gone(*args: object, **options: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("speckv_debug.viewers.terminal.text.render", gone)
    monkeypatch.setattr("speckv_debug.cli.program.give_up", lambda stream: None)
    assert cli.main(["check", str(tmp_path / "r.speckv"), "--no-config", "--replay", "off"]) == 1
    monkeypatch.setattr("speckv_debug.cli.rules.run", gone)
    assert cli.main(["rules"]) == ExitCode.CLEAN


def test_a_misspelt_command_is_told_what_it_was_meant_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    for word, near in (
        ("expalin", "Did you mean explain? Known: record, "),
        ("zzz", "'zzz'. Known: record, "),
    ):
        with pytest.raises(SystemExit, match="2"):
            cli.main([word])
        assert near in capsys.readouterr().err


def test_help_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    with pytest.raises(SystemExit, match="0"):
        cli.main(["check", "--help"])
    shown, _, examples = capsys.readouterr().out.partition("examples:")
    assert max(map(len, shown.splitlines())) <= 60 and "speckv-debug check run.speckv" in examples
