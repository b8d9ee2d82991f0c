"""Reports of demos, written by the installed program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def leaking(folder: Path) -> Path:
    """The page of a demo whose tail leaks: verifies, pages, moves and frees."""
    return demo(folder, "leak", "--fault", "tail-leaked")


def demo(folder: Path, name: str, *options: str) -> Path:
    """The page that the demo writes beside its recording."""
    command = [sys.executable, "-m", "speckv_debug", "demo", *options, "-o", f"{name}.speckv"]
    ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder / f"{name}.html"
