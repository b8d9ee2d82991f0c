"""`check` beside what pyarrow needs to read the same columns, in one run: the laws, or what the kernels replay.

    python benchmarks/check.py [--request-steps 128000] [--page-size 16] [--replay off] [--device cpu] [--profile]

The recording is made once and kept in `.cache/`. Prints the seconds of both (wall and processor), their ratio, and the
peak memory of the first check; `--profile` adds the seconds of each rule in the first check, in windows and on the whole.
The issue's size is `--request-steps 1000000`.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

import pyarrow.parquet as pq
from long_run import WAVE, make
from memory import peak_mib

from speckv_debug.checks import run, windowed
from speckv_debug.checks.run import check
from speckv_debug.checks.selection import Replay
from speckv_debug.recording.reader import Recording

Seconds = tuple[float, float]
STAGES = (
    (run, "judge_windows"),
    (run, "_judge"),
    (windowed, "judge_window"),
    (windowed.LifeRules, "judge"),
    (windowed.LedgerRules, "judge"),
)
"""What `--profile` measures; lives and the ledger run on a thread of their own."""


def main() -> None:
    """Make the recording if it is missing, read it, check it, print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--request-steps", type=int, default=2 * WAVE)
    parser.add_argument("--page-size", type=int, default=16)
    parser.add_argument("--replay", choices=("off", "only", "on"), default="off")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--profile", action="store_true")
    args = parser.parse_args()
    waves = -(-args.request_steps // WAVE)
    path = ROOT / ".cache" / f"long-{waves}-p{args.page_size}.speckv"
    if not path.exists():
        make(path, waves, args.page_size)
    show = show_each_rule() if args.profile else None
    first = timed(lambda: judge(path, args.replay, args.device))
    peak = peak_mib()
    if show is not None:
        show()
    checked = min(timed(lambda: judge(path, args.replay, args.device)) for _ in range(2))
    read = min(timed(lambda: read_all(path)) for _ in range(3))
    print(f"{waves * WAVE} request-steps, page size {args.page_size}, replay {args.replay}")
    for name, (wall, cpu) in (("first check", first), ("check", checked), ("pyarrow", read)):
        print(f"{name:12} {wall:7.2f} s, {cpu:7.2f} s of processor time")
    print(f"ratio        {checked[0] / read[0]:7.2f}, {checked[1] / read[1]:7.2f} of processor time")
    print(f"peak memory  {peak:7.0f} MiB")


def judge(path: Path, replay: Replay, device: str) -> None:
    """The whole check; a lawful recording must come out clean."""
    result = check(Recording.open(path), replay=replay, device=device)
    assert result.verdict == "clean", result.findings[:3]


def read_all(path: Path) -> None:
    """Every column, as `check` reads it: page by page with checksums."""
    for part in sorted(path.glob("*/*/*.parquet")):
        pq.ParquetFile(part, page_checksum_verification=True).read()


def timed(work: Callable[[], object]) -> Seconds:
    """Wall and processor seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def show_each_rule() -> Callable[[], None]:
    """Add up each rule's seconds of its thread, in windows and on the whole; returns what prints them."""
    spent: Counter[str] = Counter()
    for owner, name in STAGES:
        wrapped = getattr(owner, name)

        def told(
            first: object, *rest: object, _of: Callable[..., object] = wrapped, _as: str = name
        ) -> object:
            start = time.thread_time()
            found = _of(first, *rest)
            stage = getattr(first, "id", None) or f"{type(first).__name__} {_as}"
            spent[stage] += time.thread_time() - start  # type: ignore[assignment]
            return found

        setattr(owner, name, told)

    def show() -> None:
        for stage, seconds in spent.most_common():
            print(f"{stage:24} {seconds:7.2f} s of processor time")

    return show


if __name__ == "__main__":
    main()
