"""The inspector on a long recording: time to its first screen, from a key to the frame that shows the new place, its memory.

    python benchmarks/inspector.py [--request-steps 1000000] [--recording FOLDER] [--keys 40] [--screens NAME ...]

The recording is that of benchmarks/check.py, made once and kept in `.cache/`. `speckv-debug inspect` runs in a pseudo terminal of 200
columns and 60 lines, as a person runs it; keys are typed into it, and the clock stops with the whole frame in which the place is
another one: the crumbs and the count on top, the line of the cursor, the page or the cells that a title names, the sheet of keys.
`filled` is the time until what had to be asked of other processes stands there as well (⋯ behind the count is gone).
First while the laws are judged beside it, then again when the verdict stands. The processor time is that of the inspector's own process:
on a machine that is busy it says more than the clock. Nothing is judged here.
(A file `inspect.py` in this folder would stand in the way of Python's own module of that name.)
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from itertools import cycle, islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from long_run import WAVE, make
from pty_screen import PtyScreen

INSIDE = ":3000"
"""A step with all rows at work, and more before and behind it."""
SCREENS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "overview": (("i",), ("?", "?")),
    "findings": (("f",), ("?", "?")),
    "steps": (("v",), ("j", "pagedown", "G", "g")),
    "one step": (("v", *INSIDE, "enter", "enter"), ("l", "r", "l", "R", "h")),
    "pages": (("v", *INSIDE, "enter", "p"), ("]", "l", "}", "-", "j", "+", "[", "{")),
    "state": (("v", *INSIDE, "enter", "s"), ("]", "j", "}", "[", "k", "{")),
    "events": (("v", "e"), ("j", "pagedown", "k")),
    "history": ((*":slot 8000", "enter"), ("k", "pageup", "j", "g", "G")),
    "life": (("v", "t"), ("k", "pageup", "j", "g", "G")),
}
"""Keys that lead to a screen, and those that are timed there."""
PLACES = re.compile(
    r"›.{0,60}|Page [\d,]+|[\d,]+ pages? a cell|one cell a page|escape closes|events [\d,]+ to [\d,]+"
)
JUDGED, STOPPED = "after it was judged", "check stopped"
WAITING, JUDGING = "⋯", re.compile(r"reading|checking|replaying|judging")


def main() -> None:
    """Make the recording if it is missing, open it, print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--request-steps", type=int, default=1_000_000)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--keys", type=int, default=40)
    parser.add_argument("--screens", nargs="*", default=list(SCREENS), choices=list(SCREENS))
    parser.add_argument("--patience", type=float, default=900, help="seconds to wait for the verdict")
    args = parser.parse_args()
    waves = -(-args.request_steps // WAVE)
    path = args.recording or ROOT / ".cache" / f"long-{waves}-p16.speckv"
    if not path.exists():
        make(path, waves, 16)
    command = [sys.executable, "-m", "speckv_debug", "inspect", str(path)]
    screen = PtyScreen(command, 200, 60)
    try:
        measure(screen, args)
    finally:
        screen.close()


def measure(screen: PtyScreen, args: argparse.Namespace) -> None:
    """Go through the screens while the check runs and after it, print."""
    shown = screen.until(lambda lines: "overview" in lines[0], 120)
    print(
        f"first screen {since(screen.began, shown)}, of it {cpu_s(screen.pid):.2f} s of processor time",
        flush=True,
    )
    screen.until(lambda lines: "reading" not in lines[0], 600)
    print(f"steps read   {since(screen.began, time.perf_counter())}", flush=True)
    through(screen, args, "while the recording is judged beside it")
    print("waiting for the verdict", flush=True)
    judged = screen.until(lambda lines: not JUDGING.search(lines[0]), args.patience)
    if judged is None:
        print(f"not judged within {args.patience:,.0f} s: nothing is measured after the verdict", flush=True)
    elif STOPPED in screen.lines[0]:
        print(
            f"the {STOPPED} after {since(screen.began, judged)}: nothing is measured after the verdict",
            flush=True,
        )
    else:
        print(f"judged after {since(screen.began, judged)}", flush=True)
        through(screen, args, JUDGED)
    print(f"memory       {peak_mib(screen.pid):,.0f} MiB at most in the inspector's own process")


def through(screen: PtyScreen, args: argparse.Namespace, when: str) -> None:
    """All screens, one line each."""
    print(f"\n{when}: milliseconds, 95th percentile of {args.keys} keys (median)")
    print(f"{'screen':10} {'key to frame':>16} {'filled':>16} {'processor':>16}", flush=True)
    for name in args.screens:
        way, keys = SCREENS[name]
        screen.press("i")
        settle(screen)
        for key in way:
            screen.press(key)
            settle(screen, 0.1)
        settle(screen, 1.0, patience_s=3 if name == "overview" else 120)
        took = [each for key in islice(cycle(keys), args.keys) if (each := timed(screen, key)) is not None]
        columns = zip(*took, strict=True) if took else [(), (), ()]
        ended = "" if JUDGING.search(screen.lines[0]) or when == JUDGED else "  (judged meanwhile)"
        missed = f"  {args.keys - len(took)} keys changed nothing" if len(took) < args.keys else ""
        print(f"{name:10} {'  '.join(f'{p95(column):>16}' for column in columns)}{ended}{missed}", flush=True)


def timed(screen: PtyScreen, key: str) -> tuple[float, float, float] | None:
    """Milliseconds from a key to the frame with another place, until it is filled, of the processor; None if nothing changed."""
    before, spent = place(screen.lines), cpu_s(screen.pid)
    busy = WAITING in screen.lines[0]  # with what the key did not ask for
    pressed = screen.press(key)
    moved = screen.until(lambda lines: place(lines) != before, 3)
    if moved is None:
        return None
    used = cpu_s(screen.pid) - spent
    filled = moved
    if not busy:
        filled = screen.until(lambda lines: WAITING not in lines[0], 10) or time.perf_counter()
    settle(screen, 0.05)
    return 1000 * (moved - pressed), 1000 * (max(filled, moved) - pressed), 1000 * used


def place(lines: list[str]) -> tuple[str, ...]:
    """Where one stands, by what the screen says; how the check stands is left out."""
    top = re.split(r"  +", lines[0].strip())
    count = re.search(r"[\d,]+ of [\d,]+", lines[0])
    return (top[0], count[0] if count else "", *PLACES.findall("\n".join(lines)))


def settle(screen: PtyScreen, quiet_s: float = 0.2, patience_s: float = 3) -> None:
    """Wait until nothing is asked any more, and a little for what else is drawn."""
    screen.until(lambda lines: WAITING not in lines[0], patience_s)
    screen.until(lambda lines: False, quiet_s)


def p95(values: tuple[float, ...]) -> str:
    """The 95th percentile, and the median."""
    ordered = sorted(values)
    if not ordered:
        return "-"
    return (
        f"{ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))]:.0f} ({ordered[len(ordered) // 2]:.0f})"
    )


def since(began: float, then: float | None) -> str:
    """Seconds in words."""
    return "never" if then is None else f"{then - began:6.2f} s"


def cpu_s(pid: int) -> float:
    """Processor seconds of all threads of a process so far."""
    spent = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            spent += int((task / "schedstat").read_text().split()[0])
        except OSError:
            continue
    return spent / 1e9


def peak_mib(pid: int) -> float:
    """The most memory that a process has held."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in status if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    main()
