"""List the rules: id, severity, and the law in one sentence."""

from __future__ import annotations

import argparse
import json
import sys

from speckv_debug.cli.choosing import add_format_options
from speckv_debug.exit_codes import ExitCode

EXAMPLES = """examples:
  speckv-debug rules
  speckv-debug rules --format json | jq -r '.[].id'"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    add_format_options(parser)


def run(args: argparse.Namespace) -> int:
    """Print one rule a line, in the order of the catalogue."""
    from speckv_debug.checks import RULES

    if args.format == "json":
        rows = [{"id": r.id, "severity": str(r.severity), "law": r.law} for r in RULES.values()]
        print(json.dumps(rows, indent=2))
    else:
        for rule in RULES.values():
            print(f"{rule.id:<13} {rule.severity:<8} {rule.law}")
    print("next: speckv-debug explain RULE", file=sys.stderr)
    return ExitCode.CLEAN
