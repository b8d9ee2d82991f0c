"""Windows of a long recording in which no law over lives has anything to object to, found in one pass without columns."""

from __future__ import annotations

from collections import Counter

import numpy as np

from speckv_debug.model.process import Process
from speckv_debug.recording.process_recording import ProcessRecording
from speckv_debug.replay import plain_numbers as c
from speckv_debug.replay.columns import Columns, numbers_in
from speckv_debug.replay.engine_version import (
    PAGE_ALIGNED_RESERVE,
    RESERVE_AHEAD,
    may_preclaim,
    sglang_version,
)
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.plain_compiled import sweep
from speckv_debug.replay.plain_tables import (
    of_ends,
    of_forwards,
    of_grants,
    of_reports,
    of_reserves,
    of_verifies,
    of_writes,
    rows_of,
)
from speckv_debug.replay.ragged import NULL, Int64s, Mask, frozen
from speckv_debug.replay.scratch import Scratch
from speckv_debug.replay.session_trims import TRIM
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.writes import of_drafter

TABLES = (
    "accept", "forward", "lengths", "reserve", "alloc", "table_write", "release", "row_alloc", "row_free", "pool_stat",
)  # fmt: skip
"""In the order of their numbers in `plain_numbers`."""
LISTS = (
    ("accept", "draft_tokens"), ("accept", "positions"), ("accept", "accept_index"), ("forward", "tokens"),
    ("forward", "positions"), ("alloc", "slots"), ("table_write", "slots"), ("accept", "next_token"),
    ("accept", "next_sibling"),
)  # fmt: skip
"""Values that are looked at, in the same order as there."""
RECORDED = ("lengths", "alloc", "table_write", "release")
"""Tables of which every event has to be there."""
HANDING_ON = ("reset", "session_save", "session_restore", "session_close")
"""What may be done to the prefix tree that empties a row, or hands it on."""
WIDEST = 1 << 40
MOST_ROWS = 1 << 16


class PlainLives:
    """The lives of request rows, window by window; of no further use after a window that is not plain.

    A plain window is one whose events the scopes over lives (`windows.OF_LIVES`) have no fault to find with: `judge` tells
    how many instances each has then, and of how many it is not known what is due.
    """

    def __init__(self, process: ProcessRecording) -> None:
        self._info, self._process = process.info, process
        self._spaces = Namespaces(process.info)
        self._lives = np.zeros((0, c.WIDTH), dtype=np.int64)
        self._names: dict[str, int] = {}
        self._scratch = Scratch()
        self._now = np.zeros(len(c.COUNTS) + 4, dtype=np.int64)
        self._now[c.LEAVING_SINCE] = c.NEVER
        self._now[c.PREPARED] = self._now[c.HIGHEST] = NULL

    def judge(self, view: ProcessView) -> Counter[str] | None:
        """Instances of each scope in the next window, and those that are not known; None if it is not plain."""
        if not (self._may_be_plain() and _is_simple(view)):
            return None
        self._now[: len(c.COUNTS)] = 0
        self._grow(view)
        if not self._sweep(view):
            return None
        return Counter(dict(zip(c.COUNTS, self._now[: len(c.COUNTS)].tolist(), strict=True)))

    def _may_be_plain(self) -> bool:
        """Whether the engine is one whose lives the sweep knows, and all is recorded that it looks at."""
        info, main = self._info, self._spaces.all[self._spaces.main]
        usual = main.paged and info.settings.get("dcp_size") in (None, 1) and not may_preclaim(info)
        return (
            usual and info.from_start and not self._process.missing_head and all(map(info.records, RECORDED))
        )

    def _main(self, view: ProcessView) -> Mask:
        pool = view.columns("lengths").texts("pool")
        return np.asarray(~pool.known | pool.equal(self._spaces.main_name))

    def _grow(self, view: ProcessView) -> None:
        """Room for all rows that are handed out."""
        rows = int(view.columns("row_alloc").ints("row").max(initial=-1)) + 1
        if (more := min(rows, MOST_ROWS) - len(self._lives)) > 0:
            fresh = np.zeros((more, c.WIDTH), dtype=np.int64)
            fresh[:, c.EPOCH] = -1
            fresh[:, [c.ACCEPTED_AT, c.VERIFIED_AT, c.PREPARED_AT, c.END_DUE]] = NULL
            fresh[:, c.VERIFY] = -1
            self._lives = np.concatenate((self._lives, fresh))

    def _sweep(self, view: ProcessView) -> bool:
        requests = [self._numbered(view.columns(name)) for name in TABLES]
        held = np.full(len(self._names), -1, dtype=np.int64)
        rows = np.flatnonzero(self._lives[:, c.HELD])
        held[self._lives[rows, c.OWNER]] = rows
        own = self._own(view)
        plain = sweep(
            tuple(
                self._scratch.stacked(name, rows_of(view.columns(name), numbers, *own.get(name, ())))
                for name, numbers in zip(TABLES, requests, strict=True)
            ),
            tuple(frozen(view.columns(name).native(values).values) for name, values in LISTS),
            self._lives,
            held,
            self._now,
            np.array(_facts(self._info, self._spaces), dtype=np.int64),
        )
        self._forget()
        return bool(plain)

    def _own(self, view: ProcessView) -> dict[str, list[Int64s]]:
        """What each table has beside what all have."""
        columns, spaces = view.columns, self._spaces
        return {
            "accept": of_verifies(view.verifies),
            "forward": of_forwards(columns("forward"), view.verifies, spaces),
            "lengths": of_reports(columns("lengths"), self._main(view)),
            "reserve": of_reserves(columns("reserve")),
            "alloc": of_grants(columns("alloc"), spaces),
            "table_write": of_writes(columns("table_write"), spaces),
            "release": of_ends(columns("release")),
        }

    def _numbered(self, columns: Columns) -> Int64s | None:
        """The number of the request that each event names, -1 without one; new ones get the next number."""
        if not columns.has("request"):
            return None
        texts = columns.texts("request")
        numbers = numbers_in(texts.names, self._names)
        found: Int64s = np.array([*numbers, -1], dtype=np.int64)[texts.codes]
        return found

    def _forget(self) -> None:
        """Let go of requests that no row is of any more."""
        rows = np.flatnonzero(self._lives[:, c.EPOCH] >= 0)
        owners = np.unique(self._lives[rows, c.OWNER])
        names = list(self._names)
        self._names = {names[owner]: number for number, owner in enumerate(owners.tolist())}
        self._lives[rows, c.OWNER] = np.searchsorted(owners, self._lives[rows, c.OWNER])


def _is_simple(view: ProcessView) -> bool:
    """No event of the window is of a kind that the sweep does not know, and none lacks what it needs."""
    lengths, alloc, release = (view.columns(name) for name in ("lengths", "alloc", "release"))
    cache, forward = view.columns("cache").texts("action"), view.columns("forward")
    drafted = of_drafter(forward, view.info) & forward.texts("mode").equal("extend", "draft_extend")
    slots, kind = alloc.lists("slots"), release.texts("kind")
    odd = (
        view.verifies.non_draft != 1 or view.verifies.tokens_rewritten,
        len(view.columns("drop")) > 0,
        view.columns("accept").texts("algorithm").equal("uno").any(),
        not forward.texts("mode").known.all(),
        drafted.any(),
        not lengths.texts("cause").known.all(),
        not lengths.absent("swa_evicted").all(),
        (alloc.ints("granted") == 0).any(),
        not slots.filled.all(),
        (kind.equal(TRIM) | ~kind.known).any(),
        cache.equal(*HANDING_ON).any(),
        int(view.columns("row_alloc").ints("row").max(initial=0)) >= MOST_ROWS,
    )
    return not any(odd)


def _facts(info: Process, spaces: Namespaces) -> tuple[int, int, int, int]:
    """What `sweep` has to know of the engine and of the recording."""
    version, width = sglang_version(info), info.settings.get("row_width")
    form = c.EITHER_FORM
    if version is not None and version >= RESERVE_AHEAD:
        form = c.ROUNDED_FORM if version >= PAGE_ALIGNED_RESERVE else c.PLAIN_FORM
    columns = width if isinstance(width, int) else WIDEST
    computed = info.records("forward", "target_verify")
    return form, spaces.all[spaces.main].page_size, columns, int(computed)
