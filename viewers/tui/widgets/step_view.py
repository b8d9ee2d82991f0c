"""One verify drawn as what it is: tree, moves, token strips, room."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.layout import Layout
from textual.layouts.grid import GridLayout

from speckv_debug.model.finding import Finding
from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.replay.verify_details import CompactedTensor, Recomputed
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.compaction_panel import CompactionPanel
from speckv_debug.viewers.tui.widgets.draft_tree import DraftTreePanel
from speckv_debug.viewers.tui.widgets.findings_here import FindingsHere
from speckv_debug.viewers.tui.widgets.lines import Said
from speckv_debug.viewers.tui.widgets.move_table import MoveTable
from speckv_debug.viewers.tui.widgets.replay_panel import ReplayPanel
from speckv_debug.viewers.tui.widgets.room_bar import RoomBar
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel
from speckv_debug.viewers.tui.widgets.token_strips import TokenStrips
from speckv_debug.viewers.tui.widgets.verify_facts import VerifyFacts


class Beside(Container):
    """Panels that are as high as the highest of them where they stand side by side."""

    def pre_layout(self, layout: Layout) -> None:
        if isinstance(layout, GridLayout):
            layout.stretch_height = True


class StepView(VerticalScroll, inherit_bindings=False):
    """All panels of one verify; scrolls as a whole where the screen is too small."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "scroll_down", "Down", id="move.down", tooltip="Scroll down", show=False),
        Binding("up,k", "scroll_up", "Up", id="move.up", tooltip="Scroll up", show=False),
        Binding(
            "pagedown,ctrl+f",
            "page_down",
            "Page down",
            tooltip="Scroll one page down",
            id="move.page-down",
            show=False,
        ),
        Binding(
            "pageup,ctrl+b", "page_up", "Page up", tooltip="Scroll one page up", id="move.page-up", show=False
        ),
        Binding("home,g", "scroll_home", "Top", id="move.top", tooltip="Scroll to the top", show=False),
        Binding("end,G", "scroll_end", "Bottom", id="move.bottom", tooltip="Scroll to the end", show=False),
    ]

    def compose(self) -> ComposeResult:
        yield Said(id="awaited")
        with Container(id="drawing"):
            yield VerifyFacts()
            yield FindingsHere()
            with Beside(id="tree-and-moves"):
                yield DraftTreePanel()
                yield MoveTable()
            with Beside(id="strips-and-room"):
                yield TokenStrips()
                yield RoomBar()
            with Beside(id="compaction-and-replay"):
                yield CompactionPanel()
                yield ReplayPanel()

    def on_mount(self) -> None:
        self._show_drawing(False)

    def wait(self, words: str) -> None:
        """Say why there is no drawing."""
        self.query_one("#awaited", Said).say(Content.styled(printable(words), ink.FAINT))
        self._show_drawing(False)

    def _show_drawing(self, shown: bool) -> None:
        self.query_one("#drawing").display = shown
        self.query_one("#awaited").display = not shown

    def show(
        self,
        step: VerifyStep,
        findings: tuple[Finding, ...],
        *,
        moves_recorded: bool,
        tensors: tuple[CompactedTensor, ...] | None = None,
    ) -> None:
        """Draw `step`; `moves_recorded` tells whether an absent move is evidence. Without `tensors`, which are long to
        read, no compaction and no replay is drawn.
        """
        self._show_drawing(True)
        self.query_one("#compaction-and-replay").display = tensors is not None
        self.query_one(CompactionPanel).tensors = tensors or ()
        self.replayed(())
        self.query_one(FindingsHere).show(findings)
        self.query_one(MoveTable).moves_recorded = moves_recorded
        for panel in self.query(StepPanel):
            panel.step = step
        self.scroll_home(animate=False)

    def replayed(self, results: tuple[Recomputed, ...], told: str = "c computes it again") -> None:
        """Draw what replay computed, or say how that stands."""
        panel = self.query_one(ReplayPanel)
        panel.results, panel.told = results, told
        panel.redraw()
