"""`report` writes one file beside the recording, never over something else, and its exit code says only that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reported import DUE, MOVE, accept, broken_run, lengths, recording


def report(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "speckv_debug", "report", "--replay", "off", *words]
    return subprocess.run(command, cwd=cwd, text=True, capture_output=True, check=False)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return broken_run(tmp_path).path


def test_it_is_written_beside_the_recording_and_says_what_is_next(run: Path) -> None:
    ran = report("run.speckv", cwd=run.parent)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert ran.stderr.splitlines() == [
        "speckv-debug: wrote run.html",
        "next: speckv-debug inspect run.speckv --at 812",
    ]
    assert sorted(path.name for path in run.parent.iterdir()) == ["run.html", "run.speckv"]


def test_markdown_goes_to_standard_output_for_pasting(run: Path) -> None:
    ran = report("run.speckv", "--format", "md", cwd=run.parent)
    assert ran.returncode == 0
    assert ran.stdout.startswith("**✗ found** · run.speckv")
    assert "### MOV-PAIR · step 812 · request 7 (error)" in ran.stdout.splitlines()
    assert "- due: 42082 \\<- 42083 (targets from the table)" in ran.stdout.splitlines()
    assert "- engine: 42083 \\<- 42082" in ran.stdout.splitlines()
    assert not list(run.parent.glob("run.html"))
    assert report("run.speckv", "--format", "md", "-o", "run.md", cwd=run.parent).stdout == ""
    assert (run.parent / "run.md").read_text() == ran.stdout


def test_a_page_is_shown_when_it_is_asked_for(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser = run.parent / "browser"
    browser.write_text('#!/bin/sh\necho "$1" > "$0.seen"\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    assert report("run.speckv", "--open", cwd=run.parent).returncode == 0
    assert (run.parent / "browser.seen").read_text().strip() == (run.parent / "run.html").as_uri()


@pytest.mark.parametrize("format", ["html", "md"])
def test_steps_outside_the_run_are_told_on_stderr(run: Path, format: str) -> None:
    ran = report("run.speckv", "--steps", "900:999", "--format", format, cwd=run.parent)
    assert ran.returncode == 0
    said = "speckv-debug: --steps 900:999: none of these steps has a verify; verifies are at steps 800 to 819"
    assert said in ran.stderr.splitlines()


def test_steps_that_are_there_are_embedded_without_a_word_and_never_in_markdown(run: Path) -> None:
    assert "--steps" not in report("run.speckv", "--steps", "818:999", cwd=run.parent).stderr
    ran = report("run.speckv", "--steps", "818", "--format", "md", cwd=run.parent)
    assert "speckv-debug: --steps 818:818: Markdown embeds no steps; --format html does" in ran.stderr


@pytest.mark.parametrize("words", [["--format", "md"], ["-o", "-"]])
def test_only_a_page_in_a_file_can_be_shown(run: Path, words: list[str]) -> None:
    ran = report("run.speckv", "--open", *words, cwd=run.parent)
    assert ran.returncode == 2
    assert "--open shows a page that was written to a file" in ran.stderr
    assert not (run.parent / "run.html").exists()


def test_a_clean_run_is_reported_as_nothing_found(tmp_path: Path) -> None:
    recording(tmp_path, [lengths(800), accept(800), DUE | {"step": 800}])
    ran = report("run.speckv", cwd=tmp_path)
    assert ran.returncode == 0
    assert "<title>✓ nothing found: run.speckv" in (tmp_path / "run.html").read_text()
    assert ran.stderr.rstrip().endswith("next: speckv-debug inspect run.speckv")


def test_an_output_that_exists_is_not_touched_without_force(run: Path) -> None:
    (run.parent / "run.html").write_text("mine")
    ran = report("run.speckv", cwd=run.parent)
    assert ran.returncode == 2
    assert "run.html exists" in ran.stderr
    assert (run.parent / "run.html").read_text() == "mine"
    assert report("run.speckv", "-f", cwd=run.parent).returncode == 0
    assert (run.parent / "run.html").read_text().startswith("<!doctype html>")


def test_no_folder_ever_gives_way_to_a_report(run: Path) -> None:
    ran = report("run.speckv", "-o", "run.speckv", "-f", cwd=run.parent)
    assert ran.returncode == 2
    assert (run / "manifest.json").is_file()


@pytest.mark.parametrize("made", ["nothing", "empty", "file"])
def test_what_is_no_recording_is_refused(tmp_path: Path, made: str) -> None:
    if made == "empty":
        (tmp_path / "run.speckv").mkdir()
    elif made == "file":
        (tmp_path / "run.speckv").write_text("{}")
    ran = report("run.speckv", cwd=tmp_path)
    assert ran.returncode == 2
    assert "Traceback" not in ran.stderr
    assert not (tmp_path / "run.html").exists()


def test_without_replay_torch_is_never_imported(run: Path) -> None:
    program = (
        "import sys; from speckv_debug.cli import main; "
        "code = main(['report', 'run.speckv', '--replay', 'off']); "
        "print(code, 'torch' in sys.modules, 'textual' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=run.parent, text=True, capture_output=True, check=False
    )
    assert ran.stdout == "0 False False\n"


def test_a_report_of_a_damaged_recording_says_what_is_missing(tmp_path: Path) -> None:
    run = recording(tmp_path, [lengths(800), accept(800), MOVE | {"step": 800}]).path
    (part,) = run.glob("*/move/*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    ran = report("run.speckv", cwd=tmp_path)
    assert ran.returncode == 0
    assert "move" in ran.stderr
    assert "Missing or damaged" in (tmp_path / "run.html").read_text()


def test_a_lost_file_is_no_tick(tmp_path: Path) -> None:
    run = recording(tmp_path, [lengths(800), accept(800), DUE | {"step": 800}]).path
    (said,) = run.glob("*/process.json")
    said.unlink()
    assert report("run.speckv", cwd=tmp_path).returncode == 0
    page = (tmp_path / "run.html").read_text()
    assert "<title>? nothing found, part of the recording is lost: run.speckv" in page


def test_a_dash_is_standard_output(run: Path) -> None:
    ran = report("run.speckv", "-o", "-", cwd=run.parent)
    assert ran.returncode == 0
    assert ran.stdout.startswith("<!doctype html>")
    assert ran.stderr.splitlines() == ["next: speckv-debug inspect run.speckv --at 812"]
    assert [path.name for path in run.parent.iterdir()] == ["run.speckv"]


def test_steps_that_are_asked_for_are_embedded(run: Path) -> None:
    assert report("run.speckv", "--steps", "802:803", cwd=run.parent).returncode == 0
    assert 'id="step-0-803"' in (run.parent / "run.html").read_text()


@pytest.mark.parametrize("words", ["a:b", "5:4", "", "1:2:3"])
def test_steps_that_are_none_are_refused(run: Path, words: str) -> None:
    ran = report("run.speckv", "--steps", words, cwd=run.parent)
    assert ran.returncode == 2 and "--steps" in ran.stderr
    assert not (run.parent / "run.html").exists()
