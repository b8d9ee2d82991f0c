"""The ledger: who holds which page, folded from the events of one process in the order of `seq`.

A pure fold: the same events give the same state, at any `seq`. What the fold notices on its way (a page
freed twice, a live page freed, …) becomes columns of facts; the laws in `checks/` judge those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from speckv_debug.kernels.reserve import pages_between
from speckv_debug.model.text import events_missing
from speckv_debug.replay import ledger_cache, ledger_lengths, ledger_pages, ledger_rows, ledger_uses
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger_beside import BesidePools
from speckv_debug.replay.ledger_book import FREE, UNKNOWN, PageBook
from speckv_debug.replay.ledger_events import GIVING, TABLES, GetColumns, LedgerEvents, Order
from speckv_debug.replay.ledger_facts import JUDGED, LATE, UNSEEN, End, Facts
from speckv_debug.replay.ledger_groups import FreeGroups
from speckv_debug.replay.ledger_heads import Heads
from speckv_debug.replay.ledger_locks import TreeLocks
from speckv_debug.replay.ledger_loss import HARMLESS, forget, unproven, untold
from speckv_debug.replay.ledger_orphans import Orphans
from speckv_debug.replay.ledger_tenure import ALIVE, Tenure, TenureStore
from speckv_debug.replay.ledger_totals import Totals
from speckv_debug.replay.ledger_trims import Trims
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.scratch import Scratch
from speckv_debug.replay.searching import NEVER
from speckv_debug.replay.session_counts import open_turns

if TYPE_CHECKING:
    from speckv_debug.recording.reader import ProcessRecording

Handler = Callable[["Ledger", int], None]
COMPILED_FROM = 20_000
"""Events from which on the compiled fold is worth the time to load it."""
WHY, USE_SEQ, USE_STEP, OPEN_GROUPS, QUIET, UNGRANTED, RESTORED, BORN, ENDED, SETTLED = range(10)
"""Places in `Ledger.now`, which compiled code reads and writes too."""
NAMED_HOLES = 3
"""Holes that are named one by one as reasons for not knowing."""
HANDLERS: dict[str, Handler] = {
    "alloc": ledger_pages.alloc,
    "free": ledger_pages.free,
    "free_group": ledger_pages.free_group,
    "table_write": ledger_rows.table_write,
    "row_alloc": ledger_rows.row_alloc,
    "row_free": ledger_rows.row_free,
    "lengths": ledger_lengths.lengths,
    "release": ledger_lengths.release,
    "cache": ledger_cache.cache,
    "transfer": ledger_cache.transfer,
    "pool_stat": ledger_lengths.pool_stat,
    "forward": ledger_uses.forward,
    "accept": ledger_uses.accept,
    "drop": forget,
}


class Ledger:
    """The state after the events up to `seq`, and the facts that they left.

    Attributes:
        seq: The last event that was folded, -1 before the first.
        lost_at: The same as events were last lost, -1 if none were.
        goes_on: Whether a window came before this one.
        books: One `PageBook` an allocator; `main` is the one that req_to_token draws from.
        tenures: Every life of a request row, by id; `rows` the latest one of each row.
        parts: Pages of which the prefix tree took some slots only.
        facts: What the laws judge.
        now: int64, what compiled code has to know besides: see `WHY` and the names beside it.
    """

    def __init__(
        self, process: ProcessRecording, events: LedgerEvents, books: list[PageBook] | None = None
    ) -> None:
        self.process, self.info = process, process.info
        self.events = events
        self.namespaces = self.events.namespaces
        self.books = books or self.events.books()
        self.granted, self.grouped = events.granted, len(events.rows["free_group"]) > 0
        self.main = self.books[self.namespaces.main]
        self.page_size = self.namespaces.all[self.namespaces.main].page_size
        self.facts = Facts()
        self.scratch = Scratch()
        self.store = TenureStore(sum(len(self.events.slots[name]) for name in GIVING))
        self.tenures: list[Tenure] = []
        self.rows: dict[int, Tenure] = {}
        self.past: dict[tuple[int, int], Tenure] = {}
        self.requests: dict[str, Tenure] = {}
        self.restored: dict[str, Tenure] = {}
        self.groups = FreeGroups()
        self.heads = Heads()
        self.locks = TreeLocks()
        self.parts: set[int] = set()
        self.unsettled: list[End] = []
        self.dropped: list[tuple[int, int, int]] = []
        self.orphans = Orphans()
        self.totals = Totals(len(self.events.rows["pool_stat"]))
        self.trims = Trims(self.events.rows["release"], self.events.rows["lengths"])
        self.given = self.pages_given
        self.now = np.array([0, 0, NULL, 0, 0, NULL, 0, 0, 0, 0], dtype=np.int64)
        head = process.missing_head
        self.seen_whole = process.info.from_start and not head and not _headless(process)
        self.why = self.facts.reason(events_missing([(0, head)]) if head else LATE)
        self.seq = self.lost_at = -1
        self.goes_on = False
        self.beside = BesidePools(self)
        self._prepare()

    @classmethod
    def fold(
        cls, process: ProcessRecording, until_seq: int | None = None, *, columns: GetColumns | None = None
    ) -> Ledger:
        """The ledger after all events with `seq <= until_seq`, after the last one if None."""
        events = LedgerEvents(columns or (lambda table: Columns(process.table(table))), process.info)
        ledger = cls(process, events)
        ledger._run(until_seq)
        return ledger

    def take(self, events: LedgerEvents) -> None:
        """Go on with the events of a later window; what refers to rows of the one before has been renumbered."""
        if events.granted - self.granted:
            raise LooksFurther("an allocator hands out its first page late")
        self.goes_on = True
        self.totals.take(len(events.rows["pool_stat"]), open_turns(self))
        self.events, self.grouped = events, self.grouped or len(events.rows["free_group"]) > 0
        self.store.before = np.full(sum(len(events.slots[name]) for name in GIVING), -1, dtype=np.int32)
        self._prepare_facts()
        self.beside.take()

    def fold_on(self, staying: int) -> None:
        """Fold the events of a window; that many rows were folded with the window before."""
        if any(untold(self)):
            raise LooksFurther("an event does not say what it did")
        order = self.events.order()
        self.folder(self.process.rows)(order.part(staying, len(order.seq)))
        self.beside.settle(NEVER)

    def _prepare_facts(self) -> None:
        self.groups.nameless &= bool(self.events.table("free").columns.absent("group").all())
        for law, tables in JUDGED.items():
            for table in tables:
                self.facts.prepare(law, table, len(self.events.table(table)))

    def _prepare(self) -> None:
        self._prepare_facts()
        if self.seen_whole:
            self.main.forget(FREE)
            space = self.namespaces.all[self.namespaces.main]
            # The dummy page is never granted.
            dummies = pages_between(0, space.reserved, space.page_size)
            self.main.put(np.arange(min(self.main.pages, dummies)), UNKNOWN)
            self.totals.whole = True

    def _run(self, until_seq: int | None) -> None:
        order = self.events.order()
        count = len(order.seq)
        stop = count if until_seq is None else int(np.searchsorted(order.seq, until_seq, side="right"))
        fold, at = self.folder(count), 0
        for end, why in self.breaks():
            behind = int(np.searchsorted(order.seq[:stop], end))
            if behind == stop:
                break
            fold(order.part(at, behind))
            self.lose(why)
            at = behind
        fold(order.part(at, stop))
        if stop == count:
            self.beside.settle(NEVER)
            ledger_lengths.finish(self)
            unproven(self)

    def breaks(self) -> list[tuple[int, str]]:
        """Before which `seq` something is lost, ascending, and why: holes, and events that lack what they are about."""
        gaps = self.process.gaps()
        many = len(gaps) > NAMED_HOLES
        holes = [
            (end, events_missing(gaps) if many else events_missing([(first, end)])) for first, end in gaps
        ]
        return sorted([*holes, *untold(self)])

    def folder(self, count: int) -> Callable[[Order], None]:
        """How so many events are folded: compiled code pays off only over many."""
        if count < COMPILED_FROM:
            return self._fold
        from speckv_debug.replay.ledger_stretch import CompiledFold

        return CompiledFold(self).fold

    def _fold(self, order: Order) -> None:
        for seq, table, row in zip(*(column.tolist() for column in order), strict=True):
            self.seq = seq
            self.handle(table, row)

    def pages_given(self, tenure: Tenure) -> Int64s:
        """Pages that events gave the tenure, in no order; any may repeat."""
        pages = [self.events.given_by(number) for number in tenure.given()]
        return np.concatenate(pages) if pages else np.empty(0, dtype=np.int64)

    def handle(self, table: int, row: int) -> None:
        """Fold one event: a row of a table, which is given by its number in `TABLES`."""
        HANDLERS[TABLES[table]](self, row)

    def lose(self, why: str) -> None:
        """Events are missing here: nothing is known of any page or row until it is seen again."""
        self.beside.settle(self.seq + 1)
        self.why, self.seen_whole, self.lost_at = self.facts.reason(why), False, self.seq
        for book in self.books:
            book.forget()
        for tenure in self.rows.values():
            tenure.forget()
        self.groups.lose(self.facts, self.why)
        self.heads.lose(self, self.why)
        self.locks.lose()
        self.totals.lose()
        self.orphans.lose(self, self.why)
        self.restored.clear()
        for end in self.unsettled:
            end.code = self.why if end.code == UNSEEN else end.code
        self.unsettled.clear()

    @property
    def why(self) -> int:
        """The code of the reason for not knowing what was not seen yet."""
        return int(self.now[WHY])

    @why.setter
    def why(self, code: int) -> None:
        self.now[WHY] = code

    @property
    def latest_use(self) -> tuple[int, int] | None:
        """`seq` and step of the last forward or accept that says its step."""
        return None if self.now[USE_STEP] == NULL else (int(self.now[USE_SEQ]), int(self.now[USE_STEP]))

    @latest_use.setter
    def latest_use(self, use: tuple[int, int]) -> None:
        self.now[USE_SEQ], self.now[USE_STEP] = use

    @property
    def quiet(self) -> bool:
        """A quiet point would settle nothing but ends of requests."""
        return not (self.heads.waiting or self.orphans.waiting or self.totals.doubtful)

    def need_slots(self, table: str, index: int) -> None:
        """An event of the main pool that doesn't say which slots: any page may have changed hands."""
        rows = self.events.slots[table]
        if not rows.told(index) and rows.namespace[index] == self.namespaces.main:
            self.lose(f"an event of {table} names no slots")

    def note_end(self, tenure: Tenure, table: str, index: int) -> None:
        """A request's hold ends with this event; it is judged when things have settled."""
        rows = self.events.table(table)
        place = rows.ints("seq")[index], rows.int_or_none("step", index)
        self.add_end(tenure, table, index, place, (tenure.row, tenure.epoch))

    def add_end(
        self, tenure: Tenure, table: str, index: int, place: tuple[int, int | None], life: tuple[int, int]
    ) -> None:
        """The same with the event's seq and step, and the row and epoch, looked up already."""
        end = End(
            table=table,
            index=index,
            seq=place[0],
            step=place[1],
            tenure=tenure.id,
            row=life[0],
            epoch=life[1],
            request=tenure.request,
        )
        self.unsettled.append(end)
        self.facts.ends.append(end)

    def alive(self, tenures: npt.NDArray[np.integer[Any]]) -> Mask:
        """Which of these tenures run."""
        return np.asarray(self.store.numbers[tenures, ALIVE] > 0, dtype=np.bool_)

    def running(self) -> list[Tenure]:
        """The latest tenure of each row that is alive."""
        return [tenure for tenure in self.rows.values() if tenure.alive]


def _headless(process: ProcessRecording) -> bool:
    """Whether rows that move pages may be missing from the very beginning, where no hole shows it."""
    damage = ("damaged_part", "torn_spool", "damaged_column")
    found = [p for p in process.problems if p.kind in damage and p.after_seq is None]
    return any(set(problem.tables) - set(HARMLESS) for problem in found)
