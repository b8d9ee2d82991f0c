"""The command line's outer edge: streams that can't take the output, files that can't be written."""

import argparse
import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from speckv_debug import cli
from speckv_debug.cli import explain
from speckv_debug.errors import UsageError
from speckv_debug.exit_codes import ExitCode

PROGRAM = [sys.executable, "-m", "speckv_debug"]


def failing(error: Exception, monkeypatch: pytest.MonkeyPatch) -> int:
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
