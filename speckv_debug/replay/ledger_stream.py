"""The ledger of a long recording, window by window: what it judged, counted, without a column of the whole process.

Rows of `STAYING` stay for one more window, since what is said of them may be decided later: at the end of a free group, at
a quiet point, or at a use of a page that was freed.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.replay import ledger_lengths
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.joined import JoinedColumns
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_book import LONG_AGO, PageBook
from speckv_debug.replay.ledger_events import GetColumns, LedgerEvents
from speckv_debug.replay.ledger_facts import FAIL, JUDGED, PASS, SKIP, UNSEEN
from speckv_debug.replay.ledger_lengths import TRIM
from speckv_debug.replay.ledger_rows import held
from speckv_debug.replay.ledger_tenure import LAST
from speckv_debug.replay.ledger_unsaid import SAYING, unsaid
from speckv_debug.replay.ownership import LEAK, unlisted
from speckv_debug.replay.pool_totals import REASONS, PoolTotals
from speckv_debug.replay.written_slots import WrittenSlots

STAYING, TOTALS = ("free", "release", "table_write"), "totals"
MOST_PAGES = 1 << 22
"""Pages of all allocators together up to which the arrays are made before it is known which pages occur."""


class Counts:
    """What one law said of all its instances.

    Attributes:
        codes: Code → how many instances, `SKIP` left out.
        broken: Whether an instance breaks the law.
    """

    def __init__(self) -> None:
        self.codes: Counter[int] = Counter()

    def add(self, codes: bytes | bytearray) -> None:
        """Count one code an event."""
        found = np.bincount(np.frombuffer(codes, dtype=np.uint8), minlength=256)
        self.codes.update({code: int(found[code]) for code in np.flatnonzero(found).tolist() if code != SKIP})

    @property
    def broken(self) -> bool:
        """Whether an instance breaks the law."""
        return self.codes[FAIL] > 0

    def unknown(self, ledger: Ledger, law: str) -> Counter[str]:
        """Why → how many instances can't be judged."""
        if self.codes and (code := unlisted(ledger, law)) is not None:
            return Counter({ledger.facts.why(code): self.codes.total()})
        codes = sorted(code for code in self.codes if code not in (PASS, FAIL))
        found = {ledger.facts.why(code): self.codes[code] for code in codes}
        return Counter({why: found[why] for why in sorted(found, key=_place)})


class LedgerStream:
    """A ledger that is handed one window after another.

    Raises:
        LooksFurther: By `feed` and `finish`: something can't be decided without what earlier windows held, or later
            ones will; the ledger has to be folded over the whole.
    """

    def __init__(self, process: ProcessRecording) -> None:
        self._process = process
        self._ledger: Ledger | None = None
        self._stay: dict[str, Columns] = {}
        self._written: WrittenSlots | None = None
        self._peers: Columns | None = None
        self._named, self._nameless = False, False
        self._sessions: set[bool] = set()
        self.counts = {law: Counts() for law in (*JUDGED, LEAK)}

    @property
    def ledger(self) -> Ledger:
        """The ledger, once a window was fed."""
        assert self._ledger is not None
        return self._ledger

    def feed(self, columns: GetColumns) -> None:
        """Fold the events of the next window."""
        joined = {name: JoinedColumns(kept, columns(name)) for name, kept in self._stay.items()}
        if self._peers is not None:
            joined["swa_map"] = JoinedColumns(self._peers, columns("swa_map"))
        events = LedgerEvents(lambda name: joined.get(name) or columns(name), self._process.info)
        self._require_local(events)
        if self._ledger is None:
            self._ledger = Ledger(self._process, events, books=_books(events))
        else:
            self._turn(events)
        self.ledger.fold_on(sum(map(len, self._stay.values())))
        self._require_written(events)
        self._stay = {name: columns(name) for name in STAYING}
        self._peers = events.window.carried() if events.window.pool is not None else None

    def _require_written(self, events: LedgerEvents) -> None:
        """No slot of the tree was read before it was written, nor may be by a later window."""
        if "cache" not in self._process.present:
            return  # nothing is ever published
        if self._written is None:
            ledger = self.ledger
            self._written = WrittenSlots(ledger.info, ledger.main.pages * ledger.page_size, goes_on=True)
        early = self._written.feed(events, np.empty(0, dtype=np.int64))
        if (early >= 0).any() or self._written.waiting:
            raise LooksFurther("a node of the tree is not written yet")

    def finish(self) -> None:
        """The recording is over."""
        ledger_lengths.finish(self.ledger)
        self._count({})

    def _require_local(self, events: LedgerEvents) -> None:
        """Nothing of this window is decided by events that a later one holds."""
        if events.rows["release"].columns.texts("kind").equal(TRIM).any():
            raise LooksFurther("what a session trim keeps is told after it")
        self._named |= not events.table("free").columns.absent("group").all()
        self._nameless |= bool(events.table("free_group").columns.absent("group").any())
        if self._named and self._nameless:
            raise LooksFurther("some groups are named and some are not")
        if any(unsaid(events, law) for law in SAYING):
            raise LooksFurther("an event does not say what it is about")
        if events.window.strayed.any():
            raise LooksFurther("peers in a window are written that are not those of the forward's slots")

    def _turn(self, events: LedgerEvents) -> None:
        """Let go of the window before, but for the rows that stay: they are the first of the new one."""
        ledger = self.ledger
        gone = {name: len(ledger.events.table(name)) - len(kept) for name, kept in self._stay.items()}
        for tenure in np.flatnonzero(ledger.store.numbers[: len(ledger.tenures), LAST] >= 0).tolist():
            each = ledger.tenures[tenure]
            each.inherited, each.last = held(ledger, each), -1
        stayed = self._count(gone)
        for book in ledger.books:
            _renumber(book, gone["free"])
        ledger.groups.renumber(gone["free"])
        ledger.heads.renumber(gone["release"])
        ledger.orphans.renumber(gone["table_write"])
        ledger.take(events)
        for (law, table), codes in stayed.items():
            ledger.facts.codes[law, table][: len(codes)] = codes

    def _count(self, gone: dict[str, int]) -> dict[tuple[str, str], bytearray]:
        """Count what is decided; the codes of rows that stay."""
        facts, stayed = self.ledger.facts, {}
        for (law, table), codes in facts.codes.items():
            behind = gone.get(table, len(codes))
            if law != TOTALS:
                self.counts[law].add(codes[:behind])
            stayed[law, table] = codes[behind:]
        self._add_totals(PoolTotals(self.ledger))
        self.counts[LEAK].add(bytes(end.code for end in facts.ends if end.code != UNSEEN or not gone))
        facts.ends = [end for end in facts.ends if end.code == UNSEEN]
        facts.broken.clear()
        return stayed

    def _add_totals(self, totals: PoolTotals) -> None:
        """Count the settled points; whether one is out of the ordinary is seen beside all others."""
        self._sessions |= set(totals.says_session.tolist())
        if len(self._sessions) > 1 or totals.moved.any():
            raise LooksFurther("settled points do not tell the same of their pool")
        self.counts[TOTALS].add(totals.codes.tobytes())


def _books(events: LedgerEvents) -> list[PageBook]:
    """Books as large as the pools say, since not all pages have been named yet."""
    spaces = events.namespaces.all
    pages = [-(-space.bound // space.page_size) for space in spaces]
    broken = any(
        space.paged and (space.bound % space.page_size or space.reserved % space.page_size)
        for space in spaces
    )
    if sum(pages) > MOST_PAGES or broken:
        raise LooksFurther("the pools do not say how many pages they have")
    return [
        PageBook(count, space.paged and number in events.granted)
        for number, (count, space) in enumerate(zip(pages, events.namespaces.all, strict=True))
    ]


def _place(why: str) -> int:
    """Where a reason stands among those of one law: what is asked when all is folded comes last."""
    return REASONS.index(why) + 1 if why in REASONS else 0


def _renumber(book: PageBook, gone: int) -> None:
    """Rows of `free` that freed a page are counted from a later one on."""
    freed = book.freed_by
    book.freed_by = np.where(freed >= gone, freed - gone, np.where(freed >= 0, LONG_AGO, freed))
