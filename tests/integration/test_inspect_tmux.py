"""The inspector in a real terminal: tmux draws it, types into it, and says what stands there."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

RECORDINGS = Path(__file__).parents[1] / "recordings"
COMMAND = [sys.executable, "-m", "speckv_debug"]
PATIENCE_S = 90


class Terminal:
    """A tmux server of its own with one pane of 80 columns and 24 lines."""

    def __init__(self, folder: Path) -> None:
        self._tmux = ["tmux", "-S", str(folder / "tmux"), "-f", "/dev/null"]

    def run(self, *command: str | Path) -> None:
        """Run a command in the pane; its exit code is shown when it ends."""
        line = f"{shlex.join(map(str, command))}; echo exit code $?; exec sleep 600"
        self._do("new-session", "-d", "-x", "80", "-y", "24", "env", "TERM=xterm-256color", "sh", "-c", line)

    def press(self, *keys: str) -> None:
        self._do("send-keys", *keys)

    def shown(self) -> str:
        return self._do("capture-pane", "-p")

    def title(self) -> str:
        return self._do("display-message", "-p", "#{pane_title}")

    def wait_for(self, *texts: str) -> str:
        """The screen as soon as it shows all `texts`."""
        deadline = time.monotonic() + PATIENCE_S
        while not all(text in (shown := self.shown()) for text in texts):
            assert time.monotonic() < deadline, f"no {texts} in:\n{shown}"
            time.sleep(0.2)
        return shown

    def close(self) -> None:
        subprocess.run([*self._tmux, "kill-server"], check=False, capture_output=True)

    def _do(self, *arguments: str) -> str:
        done = subprocess.run([*self._tmux, *arguments], check=True, capture_output=True, text=True)
        return done.stdout


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    terminal = Terminal(tmp_path)
    yield terminal
    terminal.close()


def imported(source: Path, folder: Path) -> Path:
    recording = folder / "run.speckv"
    subprocess.run([*COMMAND, "import", str(source), "-o", str(recording)], check=True, capture_output=True)
    return recording


@pytest.fixture(scope="module")
def shifted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real run in which the last move of request b1.1 at step 102 took a wrong source."""
    return imported(
        RECORDINGS / "real/fault-move-source-shifted.jsonl.xz", tmp_path_factory.mktemp("shifted")
    )


def test_from_the_verdict_to_the_broken_move_and_out(terminal: Terminal, shifted: Path) -> None:
    terminal.run(*COMMAND, "inspect", shifted)
    terminal.wait_for("✗ 1 root cause, 2 consequences, since step 102", "MOV-PAIR", "step 102 · request b1.1")
    terminal.press("Enter")
    terminal.wait_for("step 102 ▸ request b1.1", "Draft tree", "✓ accepted", "✗ ran 814 ← 832")
    terminal.press("v")
    terminal.wait_for("▸ steps", "474 of 666", "MOV-PAIR")
    terminal.press(":", "1", "0", "0", "Enter")
    terminal.wait_for("▸ steps", "458 of 666")
    terminal.press("q")
    terminal.wait_for("next: speckv-debug report", "exit code 0")


def test_a_place_on_the_command_line_opens_at_once(terminal: Terminal, shifted: Path) -> None:
    terminal.run(*COMMAND, "inspect", shifted, "--at", "102", "--request", "b1.1")
    terminal.wait_for("step 102 ▸ request b1.1", "From accept_index to the slot")
    terminal.press("Escape")
    terminal.wait_for("findings", "MOV-PAIR")


def test_pages_state_and_history_in_a_real_terminal(terminal: Terminal, shifted: Path) -> None:
    terminal.run(*COMMAND, "inspect", shifted, "--at", "102", "--request", "b1.1")
    terminal.wait_for("Draft tree", "3 findings")
    terminal.press("p")
    terminal.wait_for("pages of full ▸ step 102", "2 pages a cell", "committed, by its row")
    terminal.press("]")
    terminal.wait_for("pages of full ▸ step 103")
    terminal.press("Enter")
    terminal.wait_for("page ", "who, slots and why")
    terminal.press("Escape")
    terminal.wait_for("pages of full ▸ step 103")
    terminal.press("s")
    terminal.wait_for("▸ state ▸ step", "running")
    terminal.press("i")
    terminal.wait_for("Root causes", "Accepted rows a verify", "Pages of pool full over time")
    terminal.press("q")
    terminal.wait_for("exit code 0")


def test_a_recording_that_is_complete_is_followed_no_further(terminal: Terminal, shifted: Path) -> None:
    terminal.run(*COMMAND, "inspect", shifted, "--follow")
    terminal.wait_for("✗ 1 root cause")
    terminal.press("q")
    terminal.wait_for("exit code 0")


def test_ctrl_c_leaves_with_the_code_of_an_interrupt(terminal: Terminal, shifted: Path) -> None:
    terminal.run(*COMMAND, "inspect", shifted)
    terminal.wait_for("sglang 0.5.15")
    terminal.press("C-c")
    terminal.wait_for("exit code 130")


@pytest.mark.parametrize(
    ("arguments", "what", "remedy"),
    [
        (("--at", "9999"), "no verify at step 9999", "nearest known step: 169"),
        (("--request", "b1.11"), "no verify of request b1.11", "b1.1"),
        (("--process", "tp7"), "tp7 is no process of this recording", "tp0-pp0-dp0"),
    ],
)
def test_a_place_that_does_not_exist_is_refused_with_the_nearest(
    terminal: Terminal, shifted: Path, arguments: tuple[str, ...], what: str, remedy: str
) -> None:
    terminal.run(*COMMAND, "inspect", shifted, *arguments)
    shown = terminal.wait_for("exit code 2")
    assert what in shown and remedy in shown
    assert "Traceback" not in shown


def test_escape_codes_of_a_recording_never_reach_the_terminal(terminal: Terminal, tmp_path: Path) -> None:
    name = "\x1b]2;taken over\x07\x1b[2J[red]a"
    lines = (RECORDINGS / "cases/move-direction-swapped.jsonl").read_text().splitlines()
    hostile = [
        json.dumps({**event, "request": name + event["request"]} if "request" in event else event)
        for event in map(json.loads, lines)
    ]
    (tmp_path / "hostile.jsonl").write_text("\n".join(hostile))
    terminal.run(*COMMAND, "inspect", imported(tmp_path / "hostile.jsonl", tmp_path))
    terminal.wait_for("MOV-PAIR")
    terminal.press("Enter")
    terminal.wait_for("Draft tree", "\\x1b]2;taken over")
    assert "taken over" not in terminal.title()


def test_without_a_terminal_it_says_what_works_without_one(shifted: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "inspect", str(shifted)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "inspect needs a terminal" in done.stderr and f"speckv-debug check {shifted}" in done.stderr
