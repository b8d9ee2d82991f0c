"""Stretches of events as the compiled fold reads them, and the fold over them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from speckv_debug.replay import ledger_arrays as c
from speckv_debug.replay import ledger_compiled
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.engine_version import aligns_tail_by_server_page
from speckv_debug.replay.ledger import BORN, ENDED, OPEN_GROUPS, QUIET, RESTORED, SETTLED, UNGRANTED
from speckv_debug.replay.ledger_events import GIVING, TABLES, Order
from speckv_debug.replay.ledger_locks import event_at
from speckv_debug.replay.ledger_safety import TAIL
from speckv_debug.replay.ledger_tenure import EPOCH, ROW, TOLD, WIDEST, Tenure
from speckv_debug.replay.ledger_totals import ungranted
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, frozen
from speckv_debug.replay.stretch_compiled import place
from speckv_debug.replay.writes import padding_rows

if TYPE_CHECKING:
    from speckv_debug.replay.ledger import Ledger

EVENTS = 1 << 15
"""Events of one stretch."""
ENDS = 1024
"""Ends of requests between two settled points for which there is room at first."""
TRIM = "session_trim"
Flags = npt.NDArray[np.int8]


class Stretches:
    """The ledger's events as rows of numbers, see `ledger_compiled`; tables without an entry are left to Python."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._events = ledger, ledger.events
        self._main = ledger.namespaces.main
        self._scratch = ledger.scratch
        self._columns = {
            TABLES.index(name): self._stacked(name, build()) for name, build in self._builders().items()
        }

    def of(self, order: Order) -> npt.NDArray[np.int64]:
        """int64[events, WIDTH], up to the next call; the rows of a table are consecutive ones."""
        found = self._scratch.room("events", len(order.seq), c.WIDTH)
        found[:] = 0
        found[:, c.SEQ], found[:, c.TABLE], found[:, c.INDEX] = order
        for table, columns in self._columns.items():
            if len(at := np.flatnonzero(order.table == table)):
                place(found, at, *columns, int(order.row[at[0]]))
        return found

    def _stacked(self, name: str, columns: dict[int, Int64s | Flags]) -> tuple[Int64s, Int64s]:
        """Numbers of columns, and their values, one row each."""
        return np.array(list(columns), dtype=np.int64), self._scratch.stacked(name, list(columns.values()))

    def _builders(self) -> dict[str, Callable[[], dict[int, Int64s | Flags]]]:
        return {
            "alloc": self._alloc,
            "free": self._free,
            "table_write": self._write,
            "lengths": self._lengths,
            "forward": self._forward,
            "accept": self._accept,
            "pool_stat": self._stat,
            "row_alloc": self._row_alloc,
            "row_free": self._row_free,
            "release": self._release,
        }

    def _alloc(self) -> dict[int, Int64s | Flags]:
        rows = self._events.slots["alloc"]
        granted, reason = rows.columns.ints("granted") != 0, rows.columns.texts("reason")
        named = granted & (rows.listed.lengths > 0) & (rows.namespace == self._main)
        simple = named & ~reason.equal("rollback")
        return {
            **self._who(rows.columns, _flags(simple, ~granted, reason.equal("load_back"))),
            **_span(rows.listed),
        }

    def _free(self) -> dict[int, Int64s | Flags]:
        rows = self._events.slots["free"]
        reason, columns = rows.columns.texts("reason"), rows.columns
        simple = (rows.listed.lengths > 0) & (rows.namespace == self._main) & self._ledger.main.paged
        flags = _flags(simple, None, reason.equal(*TAIL))
        return {**self._who(columns, flags), **_span(rows.listed), c.A: columns.ints("group")}

    def _write(self) -> dict[int, Int64s | Flags]:
        rows = self._events.slots["table_write"]
        start, counts = rows.columns.ints("start"), rows.listed.lengths
        followed = (start >= 0) & (start <= WIDEST - counts) & (rows.namespace == self._main)
        number = len(self._events.slots["alloc"]) + np.arange(len(rows))
        flags = _flags(followed & (counts > 0), ~followed, None)
        return {**self._who(rows.columns, flags), **_span(rows.listed), c.A: start, c.B: number}

    def _lengths(self) -> dict[int, Int64s | Flags]:
        columns = self._events.rows["lengths"].columns
        main = self._of_main(columns)
        flags = _flags(main, ~main, columns.texts("cause").equal(TRIM))
        lengths = {c.A: columns.ints("committed"), c.B: columns.ints("allocated")}
        return {**self._who(columns, flags), **lengths}

    def _forward(self) -> dict[int, Int64s | Flags]:
        rows = self._events.slots["forward"]
        idle = padding_rows(rows.columns)
        left = idle | (rows.namespace != self._main)
        flags = _flags(~left, left & ~self._events.window.strayed, None)
        return {**self._who(rows.columns, flags), **_span(rows.listed)}

    def _accept(self) -> dict[int, Int64s | Flags]:
        written, table = self._events.accept_written, self._events.accept_table
        flags = _flags(np.ones(len(written), dtype=np.bool_), None, None)
        second = _span(table.listed)
        return {
            **self._who(written.columns, flags),
            **_span(written.listed),
            c.A: second[c.FIRST],
            c.B: second[c.END],
        }

    def _stat(self) -> dict[int, Int64s | Flags]:
        columns = self._events.rows["pool_stat"].columns
        total, main = columns.ints("total"), self._of_main(columns)
        empty = (columns.ints("available") == total) & (total != NULL) & (total > 0)
        return {c.FLAGS: _flags(main & ~empty, ~main, None)}

    def _row_alloc(self) -> dict[int, Int64s | Flags]:
        columns = self._events.rows["row_alloc"].columns
        return self._who(
            columns, _flags((columns.ints("row") >= 0) & (columns.ints("epoch") != NULL), None, None)
        )

    def _row_free(self) -> dict[int, Int64s | Flags]:
        columns = self._events.rows["row_free"].columns
        return self._who(columns, _flags(columns.ints("row") >= 0, None, None))

    def _release(self) -> dict[int, Int64s | Flags]:
        columns = self._events.rows["release"].columns
        start, allocated = columns.ints("free_start"), columns.ints("allocated")
        space = self._ledger.namespaces.all[self._main]
        size = (
            np.maximum(columns.ints("page_size"), 0)
            if not space.paged
            else np.full(len(columns), space.page_size)
        )
        whole = (start % np.maximum(size, 1) == 0) | aligns_tail_by_server_page(self._ledger.info)
        sound = (start != NULL) & (size > 0) & (whole | ((allocated != NULL) & (start >= allocated)))
        simple = sound & (columns.ints("row") >= 0) & ~columns.texts("kind").equal(TRIM)
        return {**self._who(columns, _flags(simple, None, None)), c.A: start, c.B: allocated}

    def _of_main(self, columns: Columns) -> Mask:
        pool = columns.texts("pool")
        return np.asarray(~pool.known | pool.equal(self._ledger.namespaces.main_name))

    def _who(self, columns: Columns, flags: Flags) -> dict[int, Int64s | Flags]:
        if columns.has("request"):
            flags |= np.where(columns.absent("request"), 0, c.WITH_REQUEST).astype(np.int8)
        found = {c.ROW: columns.ints("row"), c.ROW_EPOCH: columns.ints("epoch"), c.STEP: columns.ints("step")}
        return {**found, c.FLAGS: flags}


class CompiledFold:
    """The fold of a ledger's events by compiled code, with `Ledger.handle` for what it leaves."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger, self._stretches = ledger, Stretches(ledger)
        self._slots, self._codes = _slots(ledger), _codes(ledger)
        self._seen = np.full(ledger.main.pages, -1, dtype=np.int64)
        self._ended = np.zeros((ENDS, 4), dtype=np.int64)
        self._book, self._lives = _book(ledger, self._seen), _lives(ledger, self._ended)
        ledger.given = self._pages_given

    def fold(self, order: Order) -> None:
        """Fold these events."""
        for first in range(0, len(order.seq), EVENTS):
            self._fold(self._stretches.of(order.part(first, first + EVENTS)))

    def _fold(self, events: Int64s) -> None:
        at, ledger = 0, self._ledger
        while at < len(events):
            if events[at, c.FLAGS] & (c.SIMPLE | c.WITHOUT):
                at = self._compiled(events, at)
            if at < len(events):
                ledger.seq = int(events[at, c.SEQ])
                ledger.handle(int(events[at, c.TABLE]), int(events[at, c.INDEX]))
                at += 1
        ledger.seq = int(events[-1, c.SEQ])

    def _pages_given(self, tenure: Tenure) -> Int64s:
        store, space = self._ledger.store, self._ledger.namespaces.all[self._ledger.namespaces.main]
        lists = (self._slots.alloc, self._slots.grants, self._slots.write, self._slots.writes)
        found: Int64s = ledger_compiled.given(
            tenure.last, store.before, *lists, space.page_size, space.reserved, space.bound
        )
        return found

    def _compiled(self, events: Int64s, at: int) -> int:
        ledger = self._ledger
        self._prepare()
        stopped = ledger_compiled.fold(
            events, at, self._slots, self._book, self._lives, self._codes, ledger.now
        )
        self._catch_up()
        return int(stopped)

    def _prepare(self) -> None:
        """Tell compiled code what it has to know besides the arrays, and which ends are not settled."""
        ledger, store = self._ledger, self._ledger.store
        ledger.now[OPEN_GROUPS], ledger.now[QUIET] = len(ledger.groups.waiting), ledger.quiet
        ledger.now[UNGRANTED], ledger.now[RESTORED] = ungranted(ledger), bool(ledger.restored)
        ledger.now[BORN], ledger.now[ENDED], ledger.now[SETTLED] = (
            len(ledger.tenures),
            len(ledger.unsettled),
            0,
        )
        if 2 * len(ledger.unsettled) > len(self._ended):
            self._ended = np.zeros((4 * len(ledger.unsettled), 4), dtype=np.int64)
        for at, end in enumerate(ledger.unsettled):
            self._ended[at] = TABLES.index(end.table), end.index, end.tenure, end.code
        if self._book.state is not ledger.main.state:
            self._book = _book(ledger, self._seen)
        arrays = (self._lives.numbers, self._lives.slots, self._lives.ended)
        if any(a is not b for a, b in zip(arrays, (store.numbers, store.slots, self._ended), strict=True)):
            self._lives = _lives(ledger, self._ended)

    def _catch_up(self) -> None:
        """Objects for the lives that began in compiled code, and for their ends."""
        ledger, store, told = self._ledger, self._ledger.store, self._ledger.events.rows["row_alloc"]
        first, end = len(ledger.tenures), int(ledger.now[BORN])
        begun, names = store.numbers[first:end, (ROW, EPOCH, TOLD)].tolist(), told.texts("request")
        cached = len(ledger.events.slots["cache"]) > 0
        for id, (row, epoch, event) in enumerate(begun, start=first):
            name = names[event]
            tenure = Tenure.begun(store, id, name)
            ledger.tenures.append(tenure)
            ledger.past[row, epoch] = ledger.rows[row] = tenure
            if name is not None:
                ledger.requests[name] = tenure
                if cached:
                    ledger.locks.begins(name, event_at(ledger, "row_alloc", event))
        self._note_ends()

    def _note_ends(self) -> None:
        ledger, settled = self._ledger, int(self._ledger.now[SETTLED])
        self._add_ends(self._ended[len(ledger.unsettled) : int(ledger.now[ENDED])])
        for end, code in zip(
            ledger.unsettled[:settled], self._ended[:settled, c.END_CODE].tolist(), strict=True
        ):
            end.code = code
            ledger.locks.settle(ledger, end)
            if len(ledger.books) > 1:
                ledger.beside.leave(end)
        del ledger.unsettled[:settled]

    def _add_ends(self, ended: Int64s) -> None:
        """Note these ends, all that is looked up for one of them in one go for those of a table."""
        ledger, lives = self._ledger, self._ledger.store.numbers[ended[:, c.END_TENURE]]
        at = np.empty((len(ended), 2), dtype=np.int64)
        for table in set(ended[:, c.END_TABLE].tolist()):
            mine, columns = ended[:, c.END_TABLE] == table, ledger.events.table(TABLES[table]).columns
            at[mine] = np.stack([columns.ints(name)[ended[mine, c.END_INDEX]] for name in ("seq", "step")], 1)
        found = zip(ended.tolist(), at.tolist(), lives[:, (ROW, EPOCH)].tolist(), strict=True)
        for (table, index, tenure, _), (seq, step), (row, epoch) in found:
            place = seq, None if step == NULL else step
            ledger.add_end(ledger.tenures[tenure], TABLES[table], index, place, (row, epoch))


def _flags(simple: Mask, without: Mask | None, special: Mask | None) -> Flags:
    flags = np.where(simple, c.SIMPLE, 0).astype(np.int8)
    for which, bit in ((without, c.WITHOUT), (special, c.SPECIAL)):
        if which is not None:
            flags |= np.where(which, bit, 0).astype(np.int8)
    return flags


def _span(lists: Ragged) -> dict[int, Int64s | Flags]:
    return {c.FIRST: lists.offsets[:-1], c.END: lists.offsets[1:]}


def _slots(ledger: Ledger) -> c.Slots:
    names = ("alloc", "free", "table_write", "forward")
    lists = [ledger.events.slots[name].listed.values for name in names]
    accept = (ledger.events.accept_written.listed.values, ledger.events.accept_table.listed.values)
    starts = [ledger.events.slots[name].listed.offsets for name in GIVING]
    return c.Slots(*map(frozen, (*lists, *accept, *starts)))


def _codes(ledger: Ledger) -> c.Codes:
    laws = (("alias", "alloc"), ("alias", "table_write"), ("double", "free"), ("unsafe", "free"))
    ends = ("unsafe", "release")
    uses = (("dangling", "forward"), ("dangling", "accept"), ("owned", "forward"), ("owned", "accept"))
    others = (*uses, ("totals", "pool_stat"))
    columns: list[npt.NDArray[Any]] = [ledger.facts.column(*which) for which in (*laws, ends, *others)]
    return c.Codes(*columns, *[ledger.totals.counted])


def _book(ledger: Ledger, seen: Int64s) -> c.Book:
    book, space = ledger.main, ledger.namespaces.all[ledger.namespaces.main]
    arrays = {name: getattr(book, name) for name in c.Book._fields if hasattr(book, name)}
    return c.Book(**arrays, seen=seen, size=space.page_size, reserved=space.reserved, bound=space.bound)


def _lives(ledger: Ledger, ended: Int64s) -> c.Lives:
    store = ledger.store
    return c.Lives(store.numbers, store.latest, store.slots, store.pages, store.before, store.spare, ended)
