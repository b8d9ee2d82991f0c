"""The findings of one verify, above its drawing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.content import Content

from speckv_debug.model.finding import Finding
from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.finding_list import SIGNS
from speckv_debug.viewers.tui.widgets.lines import Lines

TALL = 40
"""Lines from which on every finding is shown in full, not the first one alone."""


class FindingsHere(Lines):
    """Not there at all without a finding; the findings screen has each in full."""

    def __init__(self) -> None:
        super().__init__()
        self._findings: tuple[Finding, ...] = ()

    def show(self, findings: tuple[Finding, ...]) -> None:
        """Draw these."""
        self._findings = findings
        self.display = bool(findings)
        self.retitle(Content("Finding" if len(findings) == 1 else amount(len(findings), "finding")))
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        for number, finding in enumerate(self._findings):
            if not number or self.app.size.height >= TALL:
                yield from finding_lines(finding, width)
            else:
                yield _title(finding).truncate(width, ellipsis=True)


def finding_lines(finding: Finding, width: int) -> Iterator[Content]:
    """The message in at most two lines, below it what was due and what the engine did."""
    first, *rest = _title(finding).wrap(max(16, width))
    yield first
    if rest:
        yield Content(" ").join(rest).truncate(width, ellipsis=True)
    sides = [(name, text) for name, text in (("due", finding.expected), ("engine", finding.actual)) if text]
    parts = [Content.assemble((f"     {name:<6} ", ink.FAINT), printable(text)) for name, text in sides]
    if sum(part.cell_length for part in parts) <= width:
        parts = [Content("").join(parts)] if parts else []
    for part in parts:
        yield part.truncate(width, ellipsis=True)


def _title(finding: Finding) -> Content:
    rule = Content.assemble(SIGNS[finding.severity], "  ", (finding.rule, ink.STRONG), "  ")
    return rule.append(printable(finding.message))
