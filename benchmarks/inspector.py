"""The inspector on a long recording: time to its first screen, from a key to the next frame, and its memory.

    python benchmarks/inspector.py [--request-steps 1000000] [--recording FOLDER] [--keys 40]

The recording is that of benchmarks/check.py, made once and kept in `.cache/`. The app runs without a terminal, 200 columns wide and
60 lines high, with its check and its replay in processes of their own as always. Figures are those of the inspector's own process: wall
and processor seconds (on a machine that is busy only the latter say much), the peak of its memory. Nothing is judged here.
(A file `inspect.py` in this folder would stand in the way of Python's own module of that name.)
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from long_run import WAVE, make

from speckv_debug.cli.config import Config
from speckv_debug.cli.inspect import inspection_at
from speckv_debug.cli.policy import Policy
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.screens.asking import AskingScreen

SCREENS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "overview": (("i",), ("f1", "escape")),
    "findings": (("f",), ("f1", "escape")),
    "steps": (("v",), ("j", "pagedown", "G", "g")),
    "one step": (("v", "enter"), ("l", "r", "j", "h")),
    "pages": (("p",), ("]", "l", "-", "+", "[")),
    "state": (("s",), ("]", "j", "[", "k")),
    "events": (("v", "e"), ("j", "pagedown", "k")),
    "history": ((":", *"slot 8000", "enter"), ("j", "k")),
}
"""Keys that lead to a screen, and those that are timed there."""


def main() -> None:
    """Make the recording if it is missing, open it, print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--request-steps", type=int, default=1_000_000)
    parser.add_argument("--recording", type=Path)
    parser.add_argument("--keys", type=int, default=40)
    args = parser.parse_args()
    waves = -(-args.request_steps // WAVE)
    path = args.recording or ROOT / ".cache" / f"long-{waves}-p16.speckv"
    if not path.exists():
        make(path, waves, 16)
    asyncio.run(measured(path, args.keys))


async def measured(path: Path, keys: int) -> None:
    """Open the inspector, go through its screens, print."""
    clock = Clock()
    inspection = inspection_at(path, Policy(config=Config(), baseline=None))
    app = InspectorApp(inspection)
    clock.watch(app)
    async with app.run_test(size=(200, 60)) as pilot:
        await clock.frame(0)
        print(f"{'first screen':14} {clock.since_start}", flush=True)
        while app.processes_read < len(inspection.processes):
            await pilot.pause(0.01)
        print(f"{'steps read':14} {clock.since_start}", flush=True)
        for name, (way, timed) in SCREENS.items():
            await pilot.press(*way)
            await settled(app, pilot.pause)
            walls, cpus = [], []
            for number in range(keys):
                if (took := await clock.key(app, timed[number % len(timed)])) is not None:
                    walls.append(took[0])
                    cpus.append(took[1])
                await pilot.pause(0.02)
            await settled(app, pilot.pause)
            print(
                f"{name:14} key to frame, p95: {p95(walls)} wall, {p95(cpus)} of processor time", flush=True
            )
        judged = "judged" if app.outcome is not None else "still being judged"
        print(f"{'memory':14} {peak_mib():,.0f} MiB at most, with the recording {judged} beside it")
    inspection.stop()


async def settled(app: InspectorApp, pause: Callable[[float], object]) -> None:
    """Wait for what the screen asks of others."""
    await asyncio.sleep(0.3)
    while isinstance(screen := app.screen, AskingScreen) and screen.asking:
        await asyncio.sleep(0.05)


class Clock:
    """When frames are drawn."""

    def __init__(self) -> None:
        self._started = time.perf_counter(), time.process_time()
        self._frames = 0
        self._drawn = asyncio.Event()
        self._at = self._started

    @property
    def since_start(self) -> str:
        """Wall and processor time of the last frame since the beginning."""
        wall, cpu = (now - then for now, then in zip(self._at, self._started, strict=True))
        return f"{wall:6.2f} s wall, {cpu:6.2f} s of processor time"

    def watch(self, app: InspectorApp) -> None:
        """Note the time of every frame that the app draws."""
        display = app._display

        def noted(*args: object, **more: object) -> None:
            display(*args, **more)  # type: ignore[arg-type]
            self._at = time.perf_counter(), time.process_time()
            self._frames += 1
            self._drawn.set()

        app._display = noted  # type: ignore[method-assign]

    async def frame(self, after: int) -> None:
        """Wait for a frame later than the `after`-th."""
        while self._frames <= after:
            self._drawn.clear()
            await asyncio.wait_for(self._drawn.wait(), 60)

    async def key(self, app: InspectorApp, key: str) -> tuple[float, float] | None:
        """Wall and processor seconds from a key to the next frame; None if nothing had to be drawn."""
        begun, frames = (time.perf_counter(), time.process_time()), self._frames
        app.simulate_key(key)
        for _ in range(500):
            await asyncio.sleep(0.001)
            if self._frames > frames:
                return self._at[0] - begun[0], self._at[1] - begun[1]
        return None


def p95(seconds: list[float]) -> str:
    """The 95th percentile in milliseconds."""
    return f"{sorted(seconds)[max(0, int(len(seconds) * 0.95) - 1)] * 1000:6.1f} ms"


def peak_mib() -> float:
    """The most memory that this process has held."""
    line = next(
        line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
