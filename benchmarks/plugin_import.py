"""What it costs a process that is not recorded to load our plugin as SGLang does, beside the start of Python.

    python benchmarks/plugin_import.py

Each figure is the median of fresh processes, taken in turns: Python alone, Python with all that SGLang has loaded by
the time it looks for plugins and with that look itself, and the same with our plugin imported and called. Processor
time, so that other work on the machine counts little. A bare Python pays for `logging` and `dataclasses`, too.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from statistics import median

TIMES = 21
LIMIT_MS = 20.0
LOADED = (
    "import asyncio, dataclasses, importlib.metadata, inspect, logging, pathlib, socket, subprocess, typing\n"
)
LOOK = "entries = list(importlib.metadata.entry_points(group='sglang.srt.plugins'))\n"
CALL = "from speckv_debug.collectors.sglang.plugin import register; register()\n"
PROGRAMS = {
    "Python alone": "pass",
    "Python, our plugin": CALL,
    "SGLang's look for plugins": LOADED + LOOK,
    "the same, our plugin": LOADED + LOOK + CALL,
}


def cpu_ms(program: str) -> float:
    """Processor time of one fresh process, user and system, in milliseconds."""
    quiet = {name: value for name, value in os.environ.items() if not name.startswith("SPECKV_DEBUG")}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], env=quiet, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime)


def main() -> int:
    """Print the figures; exit code 1 if the plugin costs a process of SGLang more than LIMIT_MS."""
    found: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    for _ in range(TIMES):
        for name, program in PROGRAMS.items():
            found[name].append(cpu_ms(program))
    start, bare, look, loaded = (median(times) for times in found.values())
    for name, times in found.items():
        print(f"{name:<27}{median(times):7.1f} ms  ({min(times):.1f} to {max(times):.1f})")
    for name, cost in (("in a bare Python", bare - start), ("in a process of SGLang", loaded - look)):
        print(f"our plugin {name:<24}{cost:6.1f} ms, {cost / start:.2f} of a start of Python")
    return int(loaded - look > LIMIT_MS)


if __name__ == "__main__":
    raise SystemExit(main())
