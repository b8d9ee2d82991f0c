"""Replay of accept paths beside pyarrow reading the same columns, over a recording larger than memory should hold.

    python benchmarks/replay_accept.py [--parts 31]

Trees of 8 rows with up to 4 children a row, greedy, 65,536 request-steps a part file. Each part is read, its paths, bonus tokens and
new lengths are recomputed by the kernels on the CPU and compared, and let go. In one verify of a thousand the engine stops one
row early; exactly those have to be found. Due are 300,000 request-steps a second. The first time counts the import of torch
("cold"); nothing is compiled. Peak memory is that of the process, a quarter through and at the end.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from memory import peak_mib

from speckv_debug.checks.replay_accept import replayed_bonus, replayed_length, replayed_path
from speckv_debug.recording.manifest import create_manifest
from speckv_debug.recording.parts import PART_ROWS, part_path, seal_part
from speckv_debug.recording.reader import ProcessRecording, Recording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.replayed_accepts import ReplayedAccepts
from speckv_debug.replay.verifies import VerifyBatch

WIDTH, TOPK, STEPS, BATCH = 8, 4, 4, 64
TEXTS = {"algorithm": "eagle", "layout": "tree", "sampling": "greedy"}
DUE = 300_000
SPOILT = 1000
Rows = npt.NDArray[np.int64]


def main() -> int:
    """Build, read, replay, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", type=int, default=31, help="part files of 65,536 request-steps [31]")
    parts = parser.parse_args().parts
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "x.speckv"
        builder = multiprocessing.get_context("spawn").Process(target=build, args=(out, parts))
        builder.start()
        builder.join()
        (process,) = Recording.open(out).processes
        count = parts * PART_ROWS
        print(f"{count:,} request-steps, {WIDTH} rows, topk {TOPK}, {parts} part files")
        reading = measure_reading(process)
        replaying = measure_replay(process, parts)
    rate = count / replaying
    print(f"pyarrow reading the same columns: {reading:.2f} s, {count / reading:,.0f} request-steps a second")
    print(f"replay: {replaying:.2f} s, {rate:,.0f} request-steps a second, due {DUE:,}")
    print(f"ratio to pyarrow: {replaying / reading:.2f} times its time")
    return int(rate < DUE)


def measure_reading(process: ProcessRecording) -> float:
    """Seconds in which pyarrow alone reads the parts, warm; they hold no other columns than those that replay reads."""
    paths = sorted((process.folder / "accept").glob("*.parquet"))
    for _ in range(2):
        start = time.perf_counter()
        for path in paths:
            pq.read_table(path)
    return time.perf_counter() - start


def measure_replay(process: ProcessRecording, parts: int) -> float:
    """Seconds to read and replay all parts, warm; says what the first one took, and the memory."""
    start = time.perf_counter()
    import torch  # noqa: F401

    print(f"cold: importing torch {time.perf_counter() - start:.2f} s", end="")
    first = next(process.batches(PART_ROWS)).tables["accept"]
    start = time.perf_counter()
    replay(first, process)
    print(f", the first {len(first):,} request-steps {time.perf_counter() - start:.2f} s")
    start, spent, found, early = time.perf_counter(), time.process_time(), 0, 0.0
    for number, batch in enumerate(process.batches(PART_ROWS)):
        found += replay(batch.tables["accept"], process)
        if number == parts // 4:
            early = peak_mib()
    seconds = time.perf_counter() - start
    print(f"CPU time of the replay: {time.process_time() - spent:.2f} s")
    print(f"peak memory: {early:.0f} MiB after {parts // 4 + 1} parts, {peak_mib():.0f} MiB after {parts}")
    due = parts * len(range(0, PART_ROWS, SPOILT))
    assert found == due, f"{found} verifies differ, {due} were spoilt"
    return seconds


def replay(table: pa.Table, process: ProcessRecording) -> int:
    """Recompute and compare; how many verifies differ in their path."""
    accepts = ReplayedAccepts(VerifyBatch(Columns(table), process.info), Kernels())
    path, bonus, length = (judge(accepts) for judge in (replayed_path, replayed_bonus, replayed_length))
    assert not (path.unknown or bonus.unknown or length.unknown)
    assert len(path.failed) == len(bonus.failed) == len(length.failed)
    return len(path.failed)


def build(out: Path, parts: int) -> None:
    """Write the recording, part by part."""
    create_manifest(out)
    folder = out / "tp0-pp0-dp0"
    folder.mkdir()
    info = {"engine": "synthetic", "tables": ["accept"], "settings": {"topk": TOPK}, "clean_shutdown": True}
    (folder / "process.json").write_text(json.dumps(info))
    for number in range(parts):
        seal_part(part_path(folder / "accept", number), verifies(np.random.default_rng(number), number))


def verifies(rng: np.random.Generator, number: int) -> pa.Table:
    """One part of `accept`: random trees, on about half of the inner rows the target chooses one of the children."""
    n, request = PART_ROWS, np.arange(PART_ROWS)
    parents, child, sibling = trees(rng, n)
    tokens, chosen = rng.integers(0, 30_000, (2, n, WIDTH)) + np.arange(WIDTH) * 30_000  # siblings differ
    chosen += WIDTH * 30_000  # no draft's token
    choice = np.full((n, WIDTH), -1)
    for row in range(1, WIDTH):
        taken = rng.random(n) < 0.5
        choice[request[taken], parents[taken, row]] = row
    choice[::SPOILT, 0] = 1
    chosen = np.where(choice >= 0, np.take_along_axis(tokens, np.maximum(choice, 0), 1), chosen)
    path = np.full((n, STEPS + 1), -1)
    path[:, 0] = 0
    for k in range(STEPS):
        path[:, k + 1] = np.where(path[:, k] < 0, -1, choice[request, path[:, k]])
    path[::SPOILT][request[::SPOILT] // SPOILT, (path[::SPOILT] >= 0).sum(1) - 1] = -1
    return accept_table(number, (tokens, child, sibling, chosen), path)


def trees(rng: np.random.Generator, n: int) -> tuple[Rows, Rows, Rows]:
    """Parents, first children and next siblings of random trees, `[n, WIDTH]`: at most TOPK children a row, STEPS deep."""
    request = np.arange(n)
    depth, children = np.zeros((2, n, WIDTH), np.int64)
    parents, child, sibling = np.full((3, n, WIDTH), -1)
    for row in range(1, WIDTH):
        fits = (children[:, :row] < TOPK) & (depth[:, :row] < STEPS)
        parent = np.where(fits, rng.random((n, row)), -1).argmax(1)
        sibling[:, row], child[request, parent] = child[request, parent], row
        parents[:, row], depth[:, row] = parent, depth[request, parent] + 1
        children[request, parent] += 1
    return parents, child, sibling


def accept_table(number: int, inputs: tuple[Rows, Rows, Rows, Rows], path: Rows) -> pa.Table:
    """The events of one part, those columns of them that replay reads."""
    n, request = PART_ROWS, np.arange(PART_ROWS)
    tokens, child, sibling, chosen = inputs
    lens, start = (path >= 0).sum(1), request % BATCH * WIDTH
    predict, rows = np.zeros_like(chosen), path >= 0
    at = np.repeat(request, lens), path[rows]
    predict[at] = chosen[at]
    seq = number * n + request
    values = {
        "seq": seq,
        "step": seq // BATCH,
        "request": pa.array([f"r{i}" for i in range(BATCH)]).take(pa.array(request % BATCH)),
        "row": request % BATCH + 1,
        "batch_index": request % BATCH,
        "width": np.full(n, WIDTH),
        "block_start": start,
        "seq_len": np.full(n, 1000),
        "draft_tokens": tokens,
        "next_token": child,
        "next_sibling": sibling,
        "target_predict": chosen,
        "predict": predict,
        "accept_index": np.where(rows, path + start[:, None], -1),
        "accept_len": lens,
        "num_correct_drafts": lens - 1,
        "new_seq_len": 1000 + lens,
        "bonus_token": predict[request, path[request, lens - 1]],
    }
    texts = {name: pa.array([text]).take(pa.array(np.zeros(n, np.int64))) for name, text in TEXTS.items()}
    arrays = {name: column(value) for name, value in (values | texts).items()}
    fields = [field for field in SCHEMAS["accept"] if field.name in arrays]
    return pa.table([arrays[f.name].cast(f.type) for f in fields], schema=pa.schema(fields))


def column(values: Any) -> pa.Array:
    """A column of numbers, or of lists where there is a second axis."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        offsets = pa.array(np.arange(0, values.size + 1, values.shape[1]), pa.int32())
        return pa.ListArray.from_arrays(offsets, pa.array(values.reshape(-1)))
    return pa.array(values)


if __name__ == "__main__":
    sys.exit(main())
