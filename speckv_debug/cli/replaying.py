"""The --replay and --device options of check and report."""

from __future__ import annotations

import argparse


def add_replay_options(parser: argparse.ArgumentParser) -> None:
    """Declare whether and where the recorded inputs are fed through the kernels."""
    add = parser.add_argument
    add(
        "--replay",
        choices=["on", "only", "off"],
        default="on",
        help="feed recorded inputs through the bundled kernels and compare: too, only, or not at all [on]",
    )
    add("--device", choices=["cpu", "cuda"], default="cpu", help="where those kernels run [cpu]")
