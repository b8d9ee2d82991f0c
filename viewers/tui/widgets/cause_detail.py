"""A root cause in a few lines: what happened, what the law asks for, what follows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.content import Content

from speckv_debug.model.consequences import summary
from speckv_debug.model.finding import Finding
from speckv_debug.model.text import printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.inspection import Law
from speckv_debug.viewers.tui.widgets.panel import Panel

LABEL = 9


class CauseDetail(Panel):
    """The root cause under the cursor of the overview."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._finding: Finding | None = None
        self._law: Law | None = None
        self._then: Sequence[Finding] = ()

    def show(self, finding: Finding | None, law: Law | None, then: Sequence[Finding] = ()) -> None:
        """Draw `finding` and what follows from it, or nothing."""
        self._finding, self._law, self._then = finding, law, then
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        finding = self._finding
        if finding is None:
            return []
        found = _field("found", finding.message, width, 1 if height < 7 else 2)
        found += _field(
            "law", None if self._law is None else self._law.sentence, width, 1 if height < 7 else 3
        )
        sides = [each for each in (finding.expected, finding.actual) if each]
        beside = sum(map(len, sides)) + 2 * LABEL + 4 < width
        due, engine = (
            _field(n, t, width, 1) for n, t in (("due", finding.expected), ("engine", finding.actual))
        )
        if beside and due and engine:
            found += [
                Content.assemble(due[0], "   ", (f"{'engine':<{LABEL}}", ink.FAINT), printable(sides[1]))
            ]
        else:
            found += due + engine
        return [*found, *_field("then", summary(self._then), width, 1 if height < 7 else 2)]


def _field(name: str, text: str | None, width: int, most: int) -> list[Content]:
    """A name and its text beside it in at most so many lines."""
    if not text:
        return []
    lines = Content(printable(text)).wrap(max(16, width - LABEL))
    if len(lines) > most:
        rest = Content(" ").join(lines[most - 1 :]).truncate(max(16, width - LABEL), ellipsis=True)
        lines = [*lines[: most - 1], rest]
    return [
        Content.assemble((f"{'' if at else name:<{LABEL}}", ink.FAINT), line) for at, line in enumerate(lines)
    ]
