"""`speckv-debug demo` as it is typed: what it writes, says, refuses, and that it may be typed twice."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from speckv_debug.checks import RULES
from speckv_debug.collectors.reference.demo import record_demo
from speckv_debug.collectors.reference.faults.catalogue import FAULTS, HARMLESS, fault_named
from speckv_debug.recording.reader import Recording


def demo(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Type `speckv-debug demo …` in a folder."""
    command = [sys.executable, "-m", "speckv_debug", "demo", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def named(recording: Path, table: str) -> set[str]:
    """The requests that a table names."""
    (process,) = Recording.open(recording).processes
    found: list[str | None] = process.table(table).column("request").to_pylist()
    return {request for request in found if request is not None}


def test_a_fault_is_recorded_found_and_reported_and_the_command_may_be_typed_twice(tmp_path: Path) -> None:
    words = ("-f", "--fault", "move-direction-swapped", "-o", "broken.speckv")
    first = demo(tmp_path, *words)
    assert first.returncode == 0, first.stderr
    planted = re.search(r"planted at step (\d+), request (\S+):", first.stderr)
    assert planted
    assert f"MOV-PAIR · step {planted[1]} · request {planted[2]}" in first.stdout
    assert f"next: speckv-debug inspect broken.speckv --at {planted[1]}" in first.stderr
    assert "MOV-PAIR" in (tmp_path / "broken.html").read_text()
    second = demo(tmp_path, *words)
    assert (second.returncode, second.stdout) == (0, first.stdout)


def test_without_a_fault_nothing_is_found_and_no_output_is_overwritten(tmp_path: Path) -> None:
    done = demo(tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nothing found" in done.stdout
    served = re.search(r"served (\d+) requests in \d+ steps; 1 gave up while waiting", done.stderr)
    requests = {r for name in ("accept", "row_alloc") for r in named(tmp_path / "demo.speckv", name)}
    assert served and int(served[1]) == len(requests)
    assert "next: speckv-debug inspect demo.speckv" in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"demo.speckv", "demo.html"}
    manifest = (tmp_path / "demo.speckv" / "manifest.json").read_bytes()
    again = demo(tmp_path)
    assert again.returncode == 2
    assert "exists" in again.stderr and "-f" in again.stderr
    (tmp_path / "demo.html").unlink()
    assert demo(tmp_path).returncode == 2
    assert (tmp_path / "demo.speckv" / "manifest.json").read_bytes() == manifest
    assert not (tmp_path / "demo.html").exists()


def test_an_unknown_fault_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    done = demo(tmp_path, "--fault", "move-direction-swap")
    assert done.returncode == 2
    assert "Did you mean move-direction-swapped?" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_folder_without_a_name_of_its_own_is_refused(tmp_path: Path) -> None:
    done = demo(tmp_path, "-f", "-o", ".")
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "Traceback" not in done.stderr


def test_a_report_in_the_way_stops_the_demo_before_it_records(tmp_path: Path) -> None:
    (tmp_path / "x.html").write_text("mine")
    done = demo(tmp_path, "-o", "x.speckv")
    assert done.returncode == 2
    assert (tmp_path / "x.html").read_text() == "mine"
    assert not (tmp_path / "x.speckv").exists()


def test_the_list_of_faults_is_one_a_line_and_costs_no_torch(tmp_path: Path) -> None:
    program = "import sys; from speckv_debug.cli import main; main(['demo', '--list-faults']); print('torch' in sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    assert [name for name, _, _ in lines] == [fault.name for fault in (*FAULTS, *HARMLESS)]
    assert {rule for _, rule, _ in lines} <= {*RULES, "-"}
    assert done.stderr.splitlines()[-1] == "False"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", [None, "bonus-wrong-stride"])
def test_the_same_seed_gives_the_same_recording(tmp_path: Path, name: str | None) -> None:
    fault = fault_named(name) if name else None
    for folder in ("one", "other"):
        record_demo(tmp_path / folder, seed=3, fault=fault)
    one, other = (Recording.open(tmp_path / folder).processes[0] for folder in ("one", "other"))
    assert one.present == other.present
    for table in one.present:
        assert one.table(table).equals(other.table(table)), table
    assert len(one.order().seq) > 300
