"""Write one HTML file about a recording: what is broken and since when, figures, environment.

It opens from disk without a network, in light and dark, and prints well. As Markdown it is short, for an issue."""

from __future__ import annotations

import argparse
import io
import os
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from speckv_debug.cli.hint import inspect_command
from speckv_debug.cli.output import add_output_options, claim, default_output, typed
from speckv_debug.cli.policy import add_policy_options, policy_of
from speckv_debug.cli.replaying import add_replay_options
from speckv_debug.cli.steps_option import add_steps_option, say_steps
from speckv_debug.errors import UsageError
from speckv_debug.model.text import printable

if TYPE_CHECKING:
    from speckv_debug.model.finding import CheckResult
    from speckv_debug.recording.reader import Recording

EXAMPLES = """\
examples:
  speckv-debug report run.speckv
  speckv-debug report run.speckv -o incident-4711.html -f --open
  speckv-debug report run.speckv --steps 810:814
  speckv-debug report run.speckv --format md
"""


FORMATS = ("html", "md")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of this command."""
    parser.add_argument("recording", type=Path, metavar="RECORDING", help="the recording")
    add_output_options(
        parser, default="the recording's name with .html, of md standard output; - is standard output"
    )
    parser.add_argument("--format", choices=FORMATS, default="html", help="a page, or Markdown [html]")
    parser.add_argument("--open", action="store_true", help="show the page in the browser when it is written")
    add_steps_option(parser)
    add_replay_options(parser)
    add_policy_options(parser)


def run(args: argparse.Namespace) -> int:
    """Check the recording and write the report, whatever is found."""
    from speckv_debug.cli.opening import reading

    policy, out = policy_of(args), _claimed(args)
    with reading(args.recording) as recording:
        judged = policy.judged(recording, replay=args.replay, device=args.device, on_error=_say_broken_rule)
        result = policy.without_known(judged, recording)
        if out is None:
            _render(args.format, recording, result, sys.stdout, args.steps)
        else:
            write_report(recording, result, out, args.format, args.steps)
        say_steps(args.steps, recording, embeds=args.format == "html")
    if out is not None:
        print(f"speckv-debug: wrote {typed(out)}", file=sys.stderr)
        if args.open:
            _show(out)
    print(f"next: {inspect_command(args.recording, recording, result)}", file=sys.stderr)
    return 0


def _claimed(args: argparse.Namespace) -> Path | None:
    """Where to write, None for standard output."""
    to_stdout = str(args.output) == "-" or (args.output is None and args.format == "md")
    if args.open and (to_stdout or args.format == "md"):
        raise UsageError("--open shows a page that was written to a file", "Leave out --format md and -o -.")
    if to_stdout:
        return None
    path = args.output or default_output(args.recording, ".html")
    return claim(path, args.force, kind="file", input=args.recording)


def _show(page: Path) -> None:
    """The report is there, whether a browser is or not."""
    if not webbrowser.open(page.absolute().as_uri()):
        print("speckv-debug: no browser was found to open it", file=sys.stderr)


def _render(
    format: str,
    recording: Recording,
    result: CheckResult,
    out: TextIO,
    steps: tuple[int, int] | None = None,
) -> None:
    if format == "md":
        from speckv_debug.viewers.terminal.markdown import render as render_markdown

        render_markdown(recording, result, out)
        return
    from speckv_debug.checks import RULES
    from speckv_debug.viewers.html.page import render

    render(recording, result, out, laws=RULES, steps=steps)


def write_report(
    recording: Recording,
    result: CheckResult,
    out: Path,
    format: str = "html",
    steps: tuple[int, int] | None = None,
) -> None:
    """Write the whole file or none; `out` is replaced if it exists, and written to if it is a pipe or device.

    `steps` are the first and last one that a page embeds, None for those around the findings.
    """
    from speckv_debug.recording.atomic import beside, is_stream, sync, unwritable

    made = io.StringIO()
    _render(format, recording, result, made, steps)  # what can't be read is no fault of the output
    if is_stream(out):
        out.write_text(made.getvalue(), encoding="utf-8", newline="\n")
        return
    temporary = beside(out, "report")
    try:
        temporary.write_text(made.getvalue(), encoding="utf-8", newline="\n")
        sync(temporary)
        os.replace(temporary, out)
    except OSError as error:
        raise unwritable(out, error) from error
    finally:
        temporary.unlink(missing_ok=True)


def _say_broken_rule(rule: str, error: Exception) -> None:
    words = f"speckv-debug: rule {rule} failed: {printable(str(error))}; its instances are unknown"
    print(words, file=sys.stderr)
