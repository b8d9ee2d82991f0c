"""Explain a rule: its law, what legitimately looks like a breach, what it needs, where to look in the engine."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from speckv_debug.exit_codes import ExitCode

if TYPE_CHECKING:
    from speckv_debug.checks.rule import Rule

EXAMPLES = """examples:
  speckv-debug explain MOV-PAIR
  speckv-debug explain acc-count"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("rule", metavar="RULE", help="rule id, in any case")


def run(args: argparse.Namespace) -> int:
    """Print what the rule object says of itself."""
    from speckv_debug.checks.selection import named

    rule = named(args.rule)
    print("\n".join(_lines(rule)))
    print(f"next: speckv-debug check RECORDING --rule {rule.id}", file=sys.stderr)
    return ExitCode.CLEAN


def _lines(rule: Rule) -> Iterator[str]:
    yield f"{rule.id} ({rule.severity})"
    yield ""
    yield rule.law
    if rule.doc:
        yield ""
        yield inspect.cleandoc(rule.doc)
    yield ""
    yield f"needs     {', '.join(rule.needs) or 'whatever tables there are'}; without them, and across gaps: unknown"
    if rule.look_at:
        yield f"look at   {rule.look_at}"
    if rule.follows:
        yield f"may follow from {', '.join(rule.follows)}"
    yield f"example   docs/rules/{rule.id}.md"
