"""What replay computed of a verify's inputs, beside what was recorded of its result."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content

from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel


class ReplayPanel(StepPanel):
    """One line a result."""

    TITLE = "Replay by the bundled kernels"

    results: tuple[Recomputed, ...] = ()
    told = "c computes it again"

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        if not self.results:
            yield Content.styled(printable(self.told), ink.FAINT)
            return
        cells = [(each.what, printable(each.recorded), printable(each.replayed)) for each in self.results]
        wide = [max(map(len, column)) for column in zip(("", "recorded", "replayed"), *cells, strict=True)]
        if sum(wide) + 6 + max(len(_word(each)[0]) for each in self.results) > width:
            yield from self._one_under_another(cells)
            return
        yield Content.styled(f"{'':{wide[0]}}  {'recorded':<{wide[1]}}  replayed", ink.FAINT)
        for each, (what, recorded, replayed) in zip(self.results, cells, strict=True):
            told = f"{what:<{wide[0]}}  {recorded:<{wide[1]}}  {replayed:<{wide[2]}}  "
            yield Content.assemble(told, _word(each))

    def _one_under_another(self, cells: Iterable[tuple[str, str, str]]) -> Iterable[Content]:
        """Where a line has no room for all of a result: its name, then what it is."""
        for each, (what, recorded, replayed) in zip(self.results, cells, strict=True):
            yield Content(what)
            yield Content.assemble(f"  recorded {recorded}  replayed {replayed}  ", _word(each))


def _word(each: Recomputed) -> tuple[str, str]:
    if each.same is None:
        return ("", "") if each.replayed.startswith("not computed") else ("? not comparable", ink.DOUBT)
    return ("✓ the same", ink.GOOD) if each.same else ("✗ differs", ink.BAD)
