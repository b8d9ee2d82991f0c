"""The findings of one verify, above its drawing."""

from __future__ import annotations

from collections.abc import Iterator

from textual.content import Content
from textual.widgets import Static

from speckv_debug.model.finding import Finding
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.finding_list import SIGNS


class FindingsHere(Static):
    """Not there at all without a finding."""

    def show(self, findings: tuple[Finding, ...]) -> None:
        """Draw these."""
        self.display = bool(findings)
        self.border_title = "Finding" if len(findings) == 1 else f"{len(findings)} findings"
        self.update(Content("\n").join(line for finding in findings for line in _lines(finding)))


def _lines(finding: Finding) -> Iterator[Content]:
    yield Content.assemble(
        SIGNS[finding.severity], "  ", (finding.rule, ink.STRONG), "  ", printable(finding.message)
    )
    if finding.expected or finding.actual:
        due = printable(finding.expected or "unknown")
        did = printable(finding.actual or "unknown")
        yield Content.assemble(("     expected  ", ink.FAINT), due, ("   actual  ", ink.FAINT), did)
