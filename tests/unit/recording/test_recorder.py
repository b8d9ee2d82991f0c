"""The recorder: what is emitted is what is read, losses are said, the engine never feels it."""

import json
import multiprocessing
import os
import runpy
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.recorder import Limits, Recorder


def read(recorder: Recorder) -> ProcessRecording:
    """Close the recorder and open what it wrote."""
    recorder.close()
    (process,) = Recording.open(recorder.folder.parent).processes
    return process


def wait_for(condition: Callable[[], bool]) -> None:
    """Poll for at most ten seconds."""
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


class Staged:
    """A device value that arrives late, or never."""

    def __init__(self, value: Any, resolved: list[Any], gate: threading.Event | None = None) -> None:
        self.value, self.resolved, self.gate = value, resolved, gate

    def ready(self) -> bool:
        return self.gate is None or self.gate.is_set()

    def resolve(self) -> Any:
        if self.gate is not None:
            self.gate.wait(10)
        if isinstance(self.value, Exception):
            raise self.value
        self.resolved.append(self.value)
        return self.value


def test_events_come_back_in_order_with_their_values(recorder: Recorder) -> None:
    before = time.time_ns()
    recorder.emit("row_alloc", step=1, row=3, epoch=1, request="a")
    recorder.emit("alloc", step=1, pool="full", slots=(7, 8), granted=True)
    recorder.emit("alloc", step=2, pool="full", slots=np.array([9], np.int32), row=np.int64(4))
    recorder.emit("drop", table="alloc", rows=2, why="told so")
    process = read(recorder)
    events = list(process.events())
    assert [event.seq for event in events] == [0, 1, 2, 3]
    assert [event.table for event in events] == ["row_alloc", "alloc", "alloc", "drop"]
    assert process.table("alloc").column("slots").to_pylist() == [[7, 8], [9]]
    assert process.table("alloc").column("row").to_pylist() == [None, 4]
    assert all(before <= event.t_ns <= time.time_ns() for event in events)
    assert process.clean and not process.gaps()


def test_a_closed_process_has_parts_and_no_spool(recorder: Recorder) -> None:
    recorder.emit("note", text="x")
    recorder.close()
    recorder.close()
    assert not recorder.active
    assert not (recorder.folder / "spool").exists()
    assert [path.name for path in (recorder.folder / "note").iterdir()] == ["00000.parquet"]
    info = json.loads((recorder.folder / "process.json").read_text())
    assert info["clean_shutdown"] is True and info["events"] == 1 and info["pid"] == os.getpid()
    manifest = json.loads((recorder.folder.parent / "manifest.json").read_text())
    assert manifest["format_version"] == 1 and manifest["clean_shutdown"] is True
    assert [each["label"] for each in manifest["processes"]] == [recorder.label]
    assert manifest["start_ns"] <= manifest["end_ns"] and manifest["command"]


def test_an_event_is_in_the_spool_within_a_second(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {})
    recorder.emit("note", text="soon there")
    time.sleep(1.0)
    (process,) = Recording.open(tmp_path / "r.speckv").processes
    assert process.table("note").column("text").to_pylist() == ["soon there"]
    assert process.clean is False
    recorder.close()


def test_threads_share_one_dense_order(recorder: Recorder) -> None:
    def emit() -> None:
        for step in range(500):
            recorder.emit("note", step=step, text=threading.current_thread().name)

    threads = [threading.Thread(target=emit) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process = read(recorder)
    assert np.array_equal(process.order().seq, np.arange(2000))
    notes = process.table("note").to_pylist()
    for thread in threads:
        assert [n["step"] for n in notes if n["text"] == thread.name] == list(range(500))


def test_a_full_queue_becomes_a_drop_where_it_happened(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {}, queue_rows=3, flush_s=0.01)
    resolved: list[Any] = []
    gate = threading.Event()
    recorder.emit("alloc", slots=Staged([1], resolved, gate))
    for slot in range(5):
        recorder.emit("free", slots=[slot])
    recorder.emit("note", text="lost too")
    gate.set()
    wait_for(lambda: not recorder._queue)
    recorder.emit("note", text="after")
    process = read(recorder)
    assert [event.table for event in process.events()] == ["alloc", "free", "free", "drop", "drop", "note"]
    drops = process.table("drop").to_pylist()
    assert [(drop["table"], drop["rows"]) for drop in drops] == [("free", 3), ("note", 1)]
    assert not process.gaps()
    assert {problem.tables: problem.rows for problem in process.problems} == {("free",): 3, ("note",): 1}


def test_staged_values_are_resolved_in_order(recorder: Recorder) -> None:
    resolved: list[Any] = []
    recorder.emit("move", src=Staged([1, 2], resolved), tgt=Staged(np.array([3, 4]), resolved))
    recorder.emit("alloc", slots=Staged([5], resolved))
    process = read(recorder)
    assert process.table("move").select(["src", "tgt"]).to_pylist() == [{"src": [1, 2], "tgt": [3, 4]}]
    assert [list(value) for value in resolved] == [[1, 2], [3, 4], [5]]


def test_a_device_that_hangs_holds_back_nothing_that_came_before(recorder: Recorder) -> None:
    gate = threading.Event()
    recorder.emit("note", text="before")
    recorder.emit("alloc", slots=Staged([1], [], gate))
    try:
        wait_for(lambda: Recording.open(recorder.folder.parent).processes[0].present == ("note",))
    finally:
        gate.set()


@pytest.mark.parametrize(
    ("columns", "names"),
    [
        ({"slots": [1.5]}, "column slots"),
        ({"slots": np.array([[1]])}, "column slots"),
        ({"slots": "12"}, "column slots"),
        ({"slots": [None]}, "column slots"),
        ({"slots": [1 << 63]}, "column slots"),
        ({"slots": Staged(RuntimeError("device lost"), [])}, "column slots: RuntimeError: device lost"),
        ({"row": 1 << 31}, "column row"),
        ({"row": 1.0}, "column row"),
        ({"row": True}, "column row"),
        ({"request": 7}, "column request"),
        ({"request": "\ud800"}, "column request"),
        ({"granted": 1}, "column granted"),
        ({"t_ns": "noon"}, "column t_ns"),
    ],
)
def test_what_does_not_fit_is_dropped_by_name(recorder: Recorder, columns: Any, names: str) -> None:
    recorder.emit("alloc", pool="full", slots=[1])
    recorder.emit("alloc", **{"pool": "full", **columns})
    recorder.emit("alloc", pool="full", slots=[2])
    process = read(recorder)
    assert process.table("alloc").column("seq").to_pylist() == [0, 2]
    (drop,) = process.table("drop").to_pylist()
    assert (drop["seq"], drop["table"], drop["rows"]) == (1, "alloc", 1)
    assert names in drop["why"]
    (note,) = process.table("note").to_pylist()
    assert "alloc" in note["text"] and names in note["text"] and note["level"] == "warning"
    assert not process.gaps()


def test_unknown_tables_and_columns_are_said_once(recorder: Recorder) -> None:
    for _ in range(3):
        recorder.emit("allocs", slots=[1])
        recorder.emit("alloc", slots=[1], colour="red")
    process = read(recorder)
    assert process.table("alloc").num_rows == 3
    assert [drop["table"] for drop in process.table("drop").to_pylist()] == ["allocs"] * 3
    texts = process.table("note").column("text").to_pylist()
    assert len(texts) == 2 and any("colour" in text for text in texts)


def test_the_limit_of_steps_ends_the_recording_before_the_next_step(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {}, limits=Limits(steps=2))
    for step in (None, 5, 5, 6, 5, 7, 8):
        recorder.emit("lengths", step=step)
    assert not recorder.active
    process = read(recorder)
    assert process.table("lengths").column("step").to_pylist() == [None, 5, 5, 6, 5]
    assert "limit of steps" in process.table("note").column("text")[0].as_py()
    assert process.clean


def test_the_limit_of_size_ends_the_recording(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {}, limits=Limits(max_bytes=20_000), flush_s=0.01)
    slots = list(range(1000))

    def ended() -> bool:
        recorder.emit("alloc", slots=slots)
        return not recorder.active

    wait_for(ended)
    process = read(recorder)
    assert "limit of 20000 bytes" in process.table("note").column("text")[-1].as_py()
    assert process.clean and not process.gaps()


def test_processes_share_a_recording_and_keep_apart(tmp_path: Path) -> None:
    first = Recorder(tmp_path / "r.speckv", {"rank": {"tp": 0}})
    second = Recorder(tmp_path / "r.speckv", {"rank": {"tp": 1}})
    again = Recorder(tmp_path / "r.speckv", {"rank": {"tp": 0}})
    for recorder in (first, second, again):
        recorder.note(recorder.label)
    first.close()
    assert not Recording.open(tmp_path / "r.speckv").manifest["clean_shutdown"]
    second.close()
    again.close()
    recording = Recording.open(tmp_path / "r.speckv")
    pid = os.getpid()
    labels = [f"tp0-pp0-dp0-{pid}", f"tp0-pp0-dp0-{pid}-1", f"tp1-pp0-dp0-{pid}"]
    assert [process.label for process in recording.processes] == labels
    for process in recording.processes:
        assert process.table("note").column("text").to_pylist() == [process.label]
    assert recording.manifest["clean_shutdown"] and len(recording.manifest["processes"]) == 3


def test_process_json_is_merged_at_once(recorder: Recorder) -> None:
    recorder.update_process(settings={"topk": 2}, hooks={"a": None}, pools=[{"name": "full", "kind": "full"}])
    recorder.update_process(
        settings={"overlap": True}, hooks={"a": "x.y"}, load=float("inf"), size=np.int64(3)
    )
    info = Recording.open(recorder.folder.parent).processes[0].info
    assert info.settings == {"topk": 2, "overlap": True}
    assert info.hooks == {"a": "x.y"} and info.pools[0].name == "full"
    assert info.raw["load"] == "inf" and info.raw["size"] == 3


def test_a_forked_child_leaves_the_recording_alone(recorder: Recorder) -> None:
    recorder.emit("note", text="parent")
    child = os.fork()
    if child == 0:
        recorder.emit("note", text="child")
        recorder.update_process(engine="child")
        recorder.close()
        os._exit(0 if not recorder.active else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert recorder.active
    recorder.emit("note", text="parent again")
    process = read(recorder)
    assert process.table("note").column("text").to_pylist() == ["parent", "parent again"]
    assert process.info.engine == "reference"


def test_leaving_the_interpreter_closes(tmp_path: Path) -> None:
    out = tmp_path / "r.speckv"
    code = f"""
from pathlib import Path
from speckv_debug.recording.recorder import Recorder
recorder = Recorder(Path({str(out)!r}), {{}})
recorder.note("bye")
raise SystemExit(5)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 5
    (process,) = Recording.open(out).processes
    assert process.clean and process.table("note").column("text").to_pylist() == ["bye"]


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_child_of_multiprocessing_ends_in_order(tmp_path: Path, method: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "from speckv_debug.recording.recorder import Recorder\nRecorder(OUT, {}).note('from a child')\n"
    )
    child = multiprocessing.get_context(method).Process(  # type: ignore[attr-defined]
        target=runpy.run_path, args=(str(program), {"OUT": tmp_path / "r.speckv"})
    )
    child.start()
    child.join(60)
    assert child.exitcode == 0
    (process,) = Recording.open(tmp_path / "r.speckv").processes
    assert process.clean and process.table("note").num_rows == 1


def test_a_disk_that_fails_ends_the_recording_and_nothing_else(recorder: Recorder) -> None:
    recorder.emit("note", text="kept")
    wait_for(lambda: (recorder.folder / "spool/note.arrows").exists())
    (recorder.folder / "alloc").write_text("in the way")
    recorder.emit("alloc", slots=[1])
    recorder.close()
    recorder.emit("note", text="goes nowhere")
    (process,) = Recording.open(recorder.folder.parent).processes
    assert process.table("note").num_rows == 1 and process.table("alloc").num_rows == 1
    (problem,) = process.problems
    assert problem.kind == "missing_end" and "gave up" in problem.what


def test_what_waits_when_the_writer_gives_up_is_let_go(recorder: Recorder) -> None:
    """It may hold device memory, and nobody will ever resolve it."""

    class Staged:
        def resolve(self) -> list[int]:
            resolving.set()
            assert go_on.wait(30)
            return [1]

    resolving, go_on, waiting = threading.Event(), threading.Event(), Staged()
    (recorder.folder / "alloc").write_text("in the way")
    (recorder.folder / "spool" / "alloc.arrows").mkdir()
    recorder.emit("alloc", slots=Staged())
    assert resolving.wait(30)
    recorder.emit("alloc", slots=waiting)
    kept = weakref.ref(waiting)
    del waiting
    go_on.set()
    recorder.close()
    assert kept() is None and not recorder.active


def test_all_of_many_events_in_a_row_arrive(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "r.speckv", {}, flush_s=60)
    slots = [1, 2, 3]
    for step in range(50_000):
        recorder.emit("alloc", step=step, pool="full", request="a", row=1, epoch=1, slots=slots)
    assert read(recorder).table("alloc").num_rows == 50_000


def test_neither_recording_nor_reading_imports_pandas(tmp_path: Path) -> None:
    """pyarrow would, in the middle of an engine's first step."""
    code = f"""
import sys
from pathlib import Path
from speckv_debug.recording.jsonl import export_jsonl, import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.recording.summary import summarize
folder = Path({str(tmp_path)!r})
recorder = Recorder(folder / "a", {{}})
recorder.emit("accept", request="a", accept_len=2, draft_tokens=[1, 2], sampling=None)
recorder.emit("state_clear", first_half=0.5)
recorder.emit("forward", padded=True, row="wrong")
recorder.close()
recording = Recording.open(folder / "a")
assert len(list(recording.processes[0].events())) == 4
export_jsonl(recording, folder / "a.jsonl.zst")
import_jsonl(folder / "a.jsonl.zst", folder / "b")
summarize(Recording.open(folder / "b"))
print(sorted({{"pandas", "torch"}} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"
