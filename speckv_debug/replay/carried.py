"""What a window of a long recording has to know of the events before it: the last ones of each life that goes on.

A scope may be judged so if a verdict rests on events of the instance's own life alone, none of them later, and of the
earlier ones on the last of each kind (`_kinds`). Where lives don't come one after another, the process is seen whole.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from speckv_debug.replay.columns import Columns
from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.joined import JoinedColumns
from speckv_debug.replay.lives import NAMING, Lives
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL, Int64s, Mask
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.window_ends import PREPARE

LISTS = (
    "draft_tokens", "positions", "accept_index", "next_token", "next_sibling", "out_cache_loc", "tokens", "slots",
)  # fmt: skip
"""List columns that are carried; the others of a carried event are absent."""
UNUSED = ("t_ns", "begin_ns", "end_ns", "site")
ENDS = ("release", "row_alloc", "row_free")
"""Tables whose first events of a life count beside the last ones: one of them begins or ends it."""
OF_ROWS = ("row_alloc", "row_free")
"""Tables whose last event of a request row counts, whichever life it is of."""
COMMIT = "verify_commit"
TEXTS: Mapping[str, tuple[str, ...]] = {
    "forward": ("pool", "mode"),
    "lengths": ("pool", "cause"),
    "release": ("kind",),
}
"""Columns whose texts tell kinds of events apart; so does whether the life is over."""
FLAGS: Mapping[str, tuple[str, ...]] = {
    "accept": ("request",),
    "forward": ("request", "padded"),
    "lengths": ("cut", "allocated", "swa_evicted"),
    "reserve": ("new_allocated",),
}
"""Columns whose presence, or truth, does the same."""


class LivesView(ProcessView):
    """A window with the events that are carried into it before its own.

    Args:
        window: The window.
        tables: The rows of each of its tables.
        since: The last `seq` before it.
        before: Table → carried rows.
    """

    def __init__(
        self, window: ProcessView, tables: Mapping[str, pa.Table], since: int, before: Mapping[str, pa.Table]
    ) -> None:
        super().__init__(window.process, window.kernels.device)
        self.since, self.before, self._window, self._tables = since, before, window, tables

    def columns(self, table: str) -> Columns:
        """The columns of the carried rows of a table and of those of the window."""
        if table not in self._columns:
            own, rows = self._window.columns(table), self.before.get(table)
            self._columns[table] = own if rows is None else JoinedColumns(Columns(rows), own)
        return self._columns[table]

    @property
    def named(self) -> list[str]:
        """The window's tables that name lives."""
        return [name for name in NAMING if name in self._tables]

    def carried(self, table: str) -> int:
        """How many rows of a table were carried into the window."""
        before = self.before.get(table)
        return 0 if before is None else before.num_rows

    def rows(self, table: str, index: Int64s) -> pa.Table:
        """Some rows of a table to carry on, ascending."""
        before, parts, start = self.before.get(table), [], self.carried(table)
        names = [f.name for f in self._tables[table].schema if _is_carried(f)]
        if before is not None:
            parts.append(before.take(pa.array(index[index < start])))
        own = self._tables[table].select(names).take(pa.array(index[index >= start] - start))
        return pa.concat_tables([*parts, _plain(own)]).combine_chunks()


class Carried:
    """The events that are carried from window to window.

    Attributes:
        apart: Scopes that the latest window can't be judged by: what they look at lies apart from it.
    """

    def __init__(self) -> None:
        self._rows: dict[str, pa.Table] = {}
        self._gone: dict[int, int] = {}
        self._since = self._prepared = NULL
        self._reset = False
        self.apart: set[str] = set()

    def view(self, window: ProcessView, tables: Mapping[str, pa.Table]) -> LivesView:
        """The window with what it has to know of those before it."""
        late = self._prepared != NULL and _prepares(window, self._prepared)
        self.apart = {name for name, is_apart in (("growths", late), ("row_grants", self._reset)) if is_apart}
        self._reset |= bool(window.columns("cache").texts("action").equal("reset").any())
        return LivesView(window, tables, self._since, self._rows)

    def turn(self, view: LivesView, end: int) -> None:
        """Choose what the window behind this one, whose last event is `end`, has to know.

        Raises:
            LooksFurther: Lives of a row are not one behind another, or one comes back long after its end.
        """
        lives = view.lengths.lives
        self._require_order(view)
        kept = _kept(lives, self._since)
        for life in np.flatnonzero(~kept).tolist():
            row = int(lives.rows[life])
            self._gone[row] = max(self._gone.get(row, NULL), int(lives.epochs[life]))
        self._rows = {name: view.rows(name, self._chosen(view, name, kept)) for name in view.named}
        self._prepared = max(self._prepared, int(view.columns("reserve").ints("step").max(initial=NULL)))
        self._since = end

    def _chosen(self, view: LivesView, name: str, kept: Mask) -> Int64s:
        life = view.lengths.lives.of(name)
        known = np.flatnonzero((life >= 0) & np.append(kept, False)[life])
        lives, seq = view.lengths.lives, view.columns(name).ints("seq")
        kinds = _kinds(name, view.columns(name), known) * 2 + (seq[known] > lives.end[life[known]])
        keys = life[known] * (int(kinds.max(initial=0)) + 1) + kinds
        chosen = np.zeros(len(life), dtype=np.bool_)
        chosen[known[_last_of_each(keys)]] = True
        if name in ENDS:
            chosen[known[len(known) - 1 - _last_of_each(keys[::-1])]] = True
        if name in OF_ROWS:
            rows = view.columns(name).ints("row")
            chosen[_last_of_each(rows)] = True
        if name == "accept":
            chosen[known] |= _uncommitted(view, known)
        return np.flatnonzero(chosen)

    def _require_order(self, view: LivesView) -> None:
        """A life that is met for the first time is the last one of its row so far, and none that is gone is met again."""
        lives = view.lengths.lives
        new, met = lives.begin > self._since, np.zeros(len(lives) + 1, dtype=np.bool_)
        same_row = lives.rows[1:] == lives.rows[:-1]
        wrong = same_row & new[:-1] & (~new[1:] | (lives.begin[1:] < lives.begin[:-1]))
        for name in view.named:
            met[lives.of(name)[view.carried(name) :]] = True
        gone = np.array([self._gone.get(row, NULL) for row in lives.rows.tolist()], dtype=np.int64)
        if wrong.any() or (met[:-1] & (lives.epochs <= gone)).any():
            raise LooksFurther("lives of a request row are not one behind another")


def _kept(lives: Lives, since: int) -> Mask:
    """Lives that go on or ended behind `since`, and those that follow one of these in their row."""
    number = np.arange(len(lives))
    latest = np.maximum.accumulate(np.where(lives.end > since, number, -1))
    return np.asarray(latest >= np.searchsorted(lives.rows, lives.rows), dtype=np.bool_)


def _kinds(name: str, columns: Columns, index: Int64s) -> Int64s:
    """A number for each of these events, different where events of the table are of different kinds."""
    kinds = np.zeros(len(index), dtype=np.int64)
    for text in TEXTS.get(name, ()):
        kinds = kinds * (len(columns.texts(text).names) + 1) + columns.texts(text).codes[index] + 1
    for flag in FLAGS.get(name, ()):
        there = columns.flags(flag) > 0 if flag == "padded" else ~columns.absent(flag)
        kinds = kinds * 2 + there[index]
    return kinds


def _last_of_each(keys: Int64s) -> Int64s:
    """The last place of each key, in no order."""
    number = numbered(keys[None])
    last = np.empty(int(number.max(initial=-1)) + 1, dtype=np.int64)
    last[number] = np.arange(len(keys))  # of places with one number, the last one stays
    return last


def _uncommitted(view: LivesView, index: Int64s) -> Mask:
    """Accepts of whose life no later step's result was committed; where commits are not recorded whole, those of the window."""
    lives, told, accept = view.lengths.lives, view.columns("lengths"), view.columns("accept")
    own, step = lives.of("lengths"), told.ints("step")
    rows = np.flatnonzero(told.texts("cause").equal(COMMIT) & (own >= 0) & (step != NULL))
    latest = np.full(len(lives), NULL, dtype=np.int64)
    np.maximum.at(latest, own[rows], step[rows])
    behind = accept.ints("step")[index] > latest[lives.of("accept")[index]]
    own_window = accept.ints("seq")[index] > view.since
    return np.asarray(behind & (own_window | view.info.records("lengths")), dtype=np.bool_)


def _prepares(window: ProcessView, prepared: int) -> bool:
    """Whether the window prepares a step that is not behind the one that was prepared before it."""
    told = window.columns("lengths")
    which = {"reserve": True, "alloc": True, "lengths": told.texts("cause").equal(PREPARE)}
    for name, rows in which.items():
        step = window.columns(name).ints("step")
        if ((step != NULL) & (step <= prepared) & rows).any():
            return True
    return False


def _is_carried(field: pa.Field) -> bool:
    return field.name in LISTS if pa.types.is_list(field.type) else field.name not in UNUSED


def _plain(table: pa.Table) -> pa.Table:
    """Texts as texts again: what windows have coded differs from one to the next."""
    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(at, field.name, table.column(at).cast(pa.string()))
    return table
