"""A pool's pages at any step: who has each page, forwards and backwards through the run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.message import Message
from textual.timer import Timer

from speckv_debug.errors import SpeckvError, UsageError
from speckv_debug.model.text import printable
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.history import Question
from speckv_debug.viewers.tui.inspection import OnProgress
from speckv_debug.viewers.tui.outline import Entry, Outcome
from speckv_debug.viewers.tui.page_search import WANTS, find_page, find_pool
from speckv_debug.viewers.tui.screens.scrubbing import ScrubbingScreen
from speckv_debug.viewers.tui.widgets.lines import Said
from speckv_debug.viewers.tui.widgets.page_detail import PageDetail
from speckv_debug.viewers.tui.widgets.page_grid import PageGrid
from speckv_debug.viewers.tui.widgets.page_legend import PageLegend
from speckv_debug.viewers.tui.widgets.pool_chart import NO_POOLS, PoolChart
from speckv_debug.viewers.tui.widgets.prompt import Prompt
from speckv_debug.viewers.tui.widgets.scrub_bar import ScrubBar

PLAY_S = 0.25
TALL = 40
"""Lines from which on the pool is drawn over time as well."""
REPLAYING = "the pages are being replayed; x gives up"
Found = tuple[PageMap, PageHolders | None]


class PagesScreen(ScrubbingScreen):
    """The map, what its signs mean, and the page under the cursor."""

    @dataclass
    class SeriesRead(Message):
        """The pools of a process over time, or why they are not known."""

        process: str
        series: tuple[PoolSeries, ...] | None
        why: str = ""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", "Play", tooltip="Play step by step, or stop", id="pages.play"),
        Binding("w", "pool(1)", "Pool", tooltip="Show the next pool", id="pages.pool"),
        Binding("W", "pool(-1)", tooltip="Show the pool before", id="pages.pool-before", show=False),
    ]

    def __init__(self, process: str, seq: int, page: int | None = None, pool: str | None = None) -> None:
        super().__init__(process, seq)
        self._page, self._pool = page, pool
        self._map: PageMap | None = None
        self._series: tuple[PoolSeries, ...] | None = None
        self._timer: Timer | None = None
        self._reading = False

    def body(self) -> ComposeResult:
        yield ScrubBar(id="scrub")
        with Container(id="map-and-page"):
            with Container(id="map"):
                yield PageGrid(id="grid")
                yield Said([Content(REPLAYING)], id="replaying")
                yield PoolChart(id="pages-over-time")
            with Container(id="beside-map"):
                yield PageDetail(id="page")
                yield PageLegend(id="legend")

    def focus_body(self) -> None:
        self.query_one(PageGrid).focus()

    def show(self, process: str, seq: int) -> None:
        if process != self.process:
            self._series, self._map, self._pool, self._page = None, None, None, None
        super().show(process, seq)

    @property
    def map(self) -> PageMap | None:
        """The map that is drawn."""
        return self._map

    def look(self, seq: int, tell: OnProgress) -> Found:
        """Runs beside the screen."""
        process = self.inspector.inspection.process(self.process)
        if not process.pools:
            raise UsageError(NO_POOLS)
        found = process.page_map(seq, self._pool, tell)
        page = self._page if self._page is not None else found.first
        inside = found.first <= page < found.first + len(found)
        holders = process.holders(seq, page, found.pool) if inside else None
        return found, holders

    def looked(self, found: Found) -> None:
        """Draw what was found."""
        self._map, holders = found
        self._draw_series()
        grid = self.query_one(PageGrid)
        self.query_one("#replaying").display = False
        grid.display = True
        if self.focused is None:  # it was hidden while the first map was worked out
            self.focus_body()
        with self.prevent(PageGrid.Moved):
            grid.show(self._map)
            if self._page is not None:
                grid.page = self._page
        self._page = grid.page
        self._describe(holders)

    def _draw_series(self) -> None:
        """The pool over time, which is replayed beside the map where there is room for it."""
        if self._series is not None and self._map is not None:
            mine = [each for each in self._series if each.pool == self._map.pool]
            self.query_one(PoolChart).show(mine[0] if mine else None)
        elif self._series is None and not self._reading and self.app.size.height >= TALL:
            self._reading = True
            self.run_worker(self._read_series, thread=True, group="series", exit_on_error=False)

    def _read_series(self) -> None:
        """Runs beside the screen."""
        process = self.inspector.inspection.process(self.process)
        try:
            read = self.SeriesRead(process.label, process.series(lambda share: None))
        except (SpeckvError, Cancelled, RuntimeError) as error:
            read = self.SeriesRead(process.label, None, f"not replayed: {error}")
        self.post_message(read)

    def on_pages_screen_series_read(self, message: SeriesRead) -> None:
        self._reading = False
        if message.series is None:
            self.query_one(PoolChart).show(None, printable(message.why))
        elif message.process == self.process:
            self._series = message.series
            self._draw_series()

    def asking_progressed(self, words: str) -> None:
        self._say(f"{words}; x gives up")

    def asking_failed(self, why: str) -> None:
        self._say(why)

    def _say(self, words: str) -> None:
        told = self.query_one("#replaying", Said)
        told.say(Content(printable(words)))
        told.display = True
        self.query_one(PageGrid).display = self._map is not None and words.endswith("x gives up")

    def _describe(self, holders: PageHolders | None) -> None:
        if self._map is not None:
            self.query_one(PageLegend).show(self._map, self.query_one(PageGrid).per)
            self.query_one(PageDetail).show(self._map, self.query_one(PageGrid).page, holders)
            self.name_place()

    def crumbs(self) -> tuple[str, ...]:
        return (f"pages of {self._map.pool}" if self._map is not None else "pages",)

    def on_page_grid_gathered(self, event: PageGrid.Gathered) -> None:
        if self._map is not None:
            self.query_one(PageLegend).show(self._map, event.per)

    def on_page_grid_moved(self, event: PageGrid.Moved) -> None:
        self._page = event.page
        self._describe(None)
        self.ask_again()

    def on_page_grid_chosen(self, event: PageGrid.Chosen) -> None:
        pool = None if self._map is None else self._map.pool
        self.inspector.open_history(self.process, Question("page", str(event.page), pool))

    def show_finding(self, entry: Entry) -> None:
        if entry.finding.pages:
            self._page = entry.finding.pages[0]
        elif entry.finding.slots and self._map is not None:
            self._page = entry.finding.slots[0] // self._map.page_size
        super().show_finding(entry)

    def action_play(self) -> None:
        if self._timer is None:
            self._timer = self.set_interval(PLAY_S, self._tick)
        else:
            self._timer.stop()
            self._timer = None
        self.draw_bar()

    @property
    def playing(self) -> bool:
        return self._timer is not None

    def _tick(self) -> None:
        if self.at_end:
            self.action_play()
        elif not self.asking:
            self.action_scrub(1)

    def action_pool(self, by: int) -> None:
        pools = self._pools
        if len(pools) < 2:
            self.inspector.say("there is one pool whose pages can be followed")
            return
        here = pools.index(self._pool) if self._pool in pools else 0
        self._show_pool(pools[(here + by) % len(pools)])

    def outcome_changed(self, outcome: Outcome | None) -> None:
        self.draw_bar()

    def steps_read(self) -> None:
        """More steps have come: the pool over time is longer."""
        if self.inspector.following:
            self._series = None
        super().steps_read()

    def action_find(self) -> None:
        self.query_one(Prompt).ask("page", WANTS)

    def on_prompt_entered(self, event: Prompt.Entered) -> None:
        if event.purpose == "page" and event.text.strip():
            self._find(event.text.strip())

    def _find(self, text: str) -> None:
        """Go to a page, or to a pool by its name."""
        pool = find_pool(self._pools, text)
        if pool is not None:
            self._show_pool(pool)
            return
        grid = self.query_one(PageGrid)
        page = None if self._map is None else find_page(self._map, text, grid.page)
        if page is None:
            self.inspector.say(f"no page of {text!r} here: {WANTS}")
        else:
            grid.page = page

    @property
    def _pools(self) -> tuple[str, ...]:
        return self.inspector.inspection.process(self.process).pools

    def _show_pool(self, pool: str) -> None:
        self._pool, self._page, self._map = pool, None, None
        self._say(REPLAYING)
        self.ask_again()
