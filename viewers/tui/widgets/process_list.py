"""The recorded processes with their ranks, one a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content

from speckv_debug.model.finding import Severity
from speckv_debug.model.process import Process, Rank
from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.finding_list import SIGNS
from speckv_debug.viewers.tui.widgets.panel import Panel


@dataclass(frozen=True, slots=True)
class ProcessLine:
    """A process, the events that its files hold, its verifies and findings; None where not known yet."""

    info: Process
    events: int
    verifies: int | None
    findings: int | None
    worst: Severity | None = None


class ProcessList(Panel):
    """What ran, where, and what was found there."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__("Processes", id=id)
        self._shown: Sequence[ProcessLine] = ()

    def show(self, shown: Sequence[ProcessLine]) -> None:
        """List these."""
        self._shown = shown
        self.retitle(Content("Processes and ranks" if len(shown) > 1 else "Process"))
        self.redraw()

    def lines(self, width: int, height: int) -> Iterable[Content]:
        if not self._shown:
            return [
                Content.styled("no process reported: speckv-debug doctor says what may be wrong", ink.FAINT)
            ]
        names = [printable(each.info.label) for each in self._shown]
        ranks = [rank_of(each.info.rank) for each in self._shown]
        wide = max(map(len, names)), max(map(len, ranks))
        found = [_line(*line, wide) for line in zip(names, ranks, self._shown, strict=True)]
        if len(found) > height > 1:
            rest = Content.styled(f"and {len(found) - height + 1} more: o goes through them", ink.FAINT)
            return [*found[: height - 1], rest]
        return found


def rank_of(rank: Rank) -> str:
    """`tp 0 pp 0 dp 1`, as far as it was recorded."""
    parts = [
        f"{name} {getattr(rank, name)}" for name in ("tp", "pp", "dp") if getattr(rank, name) is not None
    ]
    return " ".join(parts) or "no rank"


def _line(name: str, rank: str, each: ProcessLine, wide: tuple[int, int]) -> Content:
    facts = [amount(each.events, "event")]
    facts += [] if each.verifies is None else [amount(each.verifies, "verify", "verifies")]
    facts += [] if each.info.host is None else [f"host {printable(each.info.host)}"]
    facts += [] if each.info.pid is None else [f"pid {each.info.pid}"]
    sign, style = SIGNS[each.worst] if each.worst else ("", "")
    told = "" if not each.findings else f"{amount(each.findings, 'finding')} · "
    return Content.assemble(
        (f"{sign[:1]:1} ", style),
        (f"{name:<{wide[0]}}  ", ink.PLACE),
        f"{rank:<{wide[1]}}  ",
        (told, style),
        (" · ".join(facts), ink.FAINT),
    )
