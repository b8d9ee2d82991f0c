"""Cold runs of `history --slot` and `state --at` on a long recording, each in a process of its own.

    python benchmarks/history.py [--request-steps 1000000] [--page-size 16]

The recording is that of benchmarks/check.py, made once and kept in `.cache/`. Asks for a slot of the pool's middle and for a
step in the middle of the recording. Compiled code is warm: `state` runs once before. Prints wall and processor seconds and peak
memory, the best of three, beside what Python and the libraries need to start; then how long a viewer waits that scrubs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from long_run import WAVE, make

IMPORTS = "import speckv_debug.replay.slot_history, pyarrow.parquet"


def main() -> None:
    """Make the recording if it is missing, ask, print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--request-steps", type=int, default=1_000_000)
    parser.add_argument("--page-size", type=int, default=16)
    args = parser.parse_args()
    waves = -(-args.request_steps // WAVE)
    path = ROOT / ".cache" / f"long-{waves}-p{args.page_size}.speckv"
    if not path.exists():
        make(path, waves, args.page_size)
    slot, step = middle(path)
    program = [sys.executable, "-m", "speckv_debug"]
    asked = {
        "start": [sys.executable, "-c", IMPORTS],
        f"history --slot {slot}": [*program, "history", str(path), "--slot", str(slot)],
        f"state --at {step}": [*program, "state", str(path), "--at", str(step)],
    }
    subprocess.run(asked[f"state --at {step}"], check=True, capture_output=True)
    print(f"{waves * WAVE} request-steps, page size {args.page_size}")
    for name, command in asked.items():
        wall, cpu, memory = min(timed(command) for _ in range(3))
        print(f"{name:22} {wall:7.2f} s, {cpu:7.2f} s of processor time, peak memory {memory:5.0f} MiB")
    for name, seconds in scrubbed(path, step).items():
        print(f"{name:22} {seconds:7.3f} s of processor time")


def scrubbed(path: Path, step: int) -> dict[str, float]:
    """Seconds that a viewer waits: for the first state, then for later and earlier ones, the worst of ten each."""
    from speckv_debug.recording.reader import Recording
    from speckv_debug.replay.pool_state import pool_states
    from speckv_debug.replay.timeline import Timeline, last_event_of

    process = Recording.open(path).processes[0]
    middle, begun = last_event_of(process, step), time.process_time()
    assert middle is not None
    timeline = Timeline(process)
    timeline.at(timeline.last_seq)
    waited = {"timeline, whole": time.process_time() - begun}
    for name, stride in (("a step on", 300), ("a step back", -300), ("a jump", 77_777)):
        timeline.at(middle)
        times = []
        for number in range(1, 11):
            begun = time.process_time()
            pool_states(timeline.at(middle + stride * number))
            times.append(time.process_time() - begun)
        waited[name] = max(times)
    return waited


def middle(path: Path) -> tuple[int, int]:
    """A slot in the middle of the pool and a step in the middle of the recording."""
    from speckv_debug.recording.reader import Recording
    from speckv_debug.replay.columns import Columns

    process = Recording.open(path).processes[0]
    slots = process.info.pools[0].slots
    steps = Columns(process.columns("pool_stat", "step")).ints("step")
    assert slots is not None
    return slots // 2, int(steps[len(steps) // 2])


def timed(command: list[str]) -> tuple[float, float, float]:
    """Wall and processor seconds and peak memory in MiB of a program that succeeds."""
    start = time.perf_counter()
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
    _, status, usage = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    assert program.returncode == 0, command
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


if __name__ == "__main__":
    main()
