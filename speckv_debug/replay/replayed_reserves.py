"""Growth of rows and starts of tail frees, computed again from the lengths that went into them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.kernels.reserve import decode_reserve, tail_start
from speckv_debug.replay.bounds import Reserves
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.engine_version import aligns_tail_by_server_page
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ownership import Ownership
from speckv_debug.replay.places import Place, place_of
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import search_pairs

DRAFTS_KV = {"eagle": True, "eagle3": True, "nextn": True, "standalone": True, "ngram": False}
"""Algorithms whose reserve follows the common formula: whether the draft writes KV."""
TABLES = ("reserve", "release")


class ReplayedReserves:
    """One instance a `reserve` and a `release` event, in the order of `seq`.

    Attributes:
        table, event: Which of the two tables, and the row in it.
    """

    reads = TABLES
    columns_from = (*TABLES, "lengths")

    def __init__(
        self,
        reserves: Reserves,
        columns: Callable[[str], Columns],
        spaces: Namespaces,
        ownership: Callable[[], Ownership],
    ) -> None:
        self.reserves, self.info, self.release = reserves, reserves.info, columns("release")
        self._ownership = ownership
        self._lengths, self._space = columns("lengths"), spaces.all[spaces.main]
        seq = np.concatenate((reserves.ints("seq"), self.release.ints("seq")))
        order = np.argsort(seq, kind="stable")
        counts = (len(reserves), len(self.release))
        self.table = np.repeat(np.arange(2), counts)[order]
        self.event = np.concatenate([np.arange(count) for count in counts])[order]
        self.seq = seq[order]

    def __len__(self) -> int:
        return len(self.seq)

    def place(self, index: int) -> Place:
        """Where the event stands."""
        event = int(self.event[index])
        return self.reserves.place(event) if self.table[index] == 0 else place_of(self.release, event)

    def kind(self, index: int) -> str:
        """`reserve` or `release`."""
        return TABLES[int(self.table[index])]

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """The event alone; of a trim with the lengths that tell what it kept."""
        return self.seq, self._both(
            self.reserves.ints("seq"), np.maximum(self._kept[1], self.release.ints("seq"))
        )

    @cached_property
    def at(self) -> dict[str, Int64s]:
        """The instances that are events of each table."""
        return {name: np.flatnonzero(self.table == number) for number, name in enumerate(TABLES)}

    @property
    def forms(self) -> tuple[str, ...]:
        """How this engine version grows: `plain`, `rounded`, or both where it is not known."""
        return ("plain", "rounded") if self.reserves.form == "either" else (self.reserves.form,)

    @cached_property
    def grown(self) -> tuple[Int64s, ...]:
        """New allocated length by each of `forms`, `kernels.reserve.grown_length`; of a release NULL."""
        nothing = np.full(len(self.release), NULL, dtype=np.int64)
        found = (getattr(self.reserves, form) for form in self.forms)
        return tuple(self._both(np.where(self._given, f, NULL), nothing) for f in found)

    @property
    def _given(self) -> Mask:
        """Reserves of which all that goes in is recorded."""
        names = ("committed", "allocated", "reserve")
        return mask(np.all([self.reserves.ints(name) != NULL for name in names], axis=0))

    @cached_property
    def tails(self) -> tuple[Int64s, ...]:
        """First position that each release frees, `kernels.reserve.tail_start`; of a reserve NULL.

        Behind what is committed; of a trim behind its target, or behind what the host reports next if that is less.
        """
        nothing, (kept, _) = np.full(len(self.reserves), NULL, dtype=np.int64), self._kept
        keep = np.where(self._trims, self.release.ints("target"), self.release.ints("committed"))
        return tuple(self._both(nothing, self._tail(length)) for length in (keep, kept))

    @cached_property
    def settled_reserve(self) -> int | None:
        """The reserve by the settings, `kernels.reserve.decode_reserve`; None where they don't give it."""
        settings = self.info.settings
        draft_kv = DRAFTS_KV.get(str(settings.get("algorithm")).lower())
        names = ("topk", "num_steps", "num_draft_tokens")
        values = {name: settings.get(name) for name in names}
        if draft_kv is None or not self._space.paged or not all(type(v) is int for v in values.values()):
            return None
        numbers: dict[str, Any] = values
        return decode_reserve(**numbers, page_size=self._space.page_size, draft_kv=draft_kv)

    @cached_property
    def wrong_growth(self) -> Mask:
        """Reserves that grow to another length."""
        grown = self._both(self.reserves.ints("new_allocated"), np.full(len(self.release), NULL))
        fits = np.any([grown == due for due in self.grown], axis=0)
        return mask((self.table == 0) & ~self.unknown & ~fits)

    @cached_property
    def wrong_tail(self) -> Mask:
        """Releases whose tail begins elsewhere; where nothing is left to free, any start will do."""
        start, allocated = (self._of_release(name) for name in ("free_start", "allocated"))
        end = np.where(allocated == NULL, np.iinfo(np.int64).max, allocated)
        fits = np.any([np.minimum(start, end) == np.minimum(due, end) for due in self.tails], axis=0)
        return mask((self.table == 1) & ~self.unknown & ~fits)

    @cached_property
    def early(self) -> Mask:
        """Releases whose tail begins before the boundary that is due: by less than is committed, an end may keep."""
        return mask(self.wrong_tail & (self._of_release("free_start") < self.tails[0]))

    @cached_property
    def inside_a_page(self) -> Mask:
        """Of those, the ones that begin inside a page of the allocator."""
        return mask(self.early & (self._of_release("free_start") % max(1, self._space.page_size) != 0))

    @cached_property
    def cut_short(self) -> Mask:
        """Of those, ends that begin at a page: a stop or a stripped part of the text cut what is kept.

        SGLang `Req.owned_kv_len` (before 0.5.21 under other names): a stop cuts what a finished request keeps,
        `strip_thinking_cache` what is kept at any end but a trim; the length that they leave is not recorded.
        """
        strips = bool(self.info.settings.get("strip_thinking_cache"))
        whole = self.release.texts("kind").equal("session_trim", *(() if strips else ("retract", "abort")))
        uncut = self._both(np.zeros(len(self.reserves), dtype=np.bool_), whole)
        return mask(self.early & ~self.inside_a_page & ~uncut)

    @cached_property
    def unsafe(self) -> Mask:
        """Of those, the ones by which a live position is lost, as OWN-PAGESAFE has it."""
        if not self.inside_a_page.any():
            return self.inside_a_page
        reclaims, found = self._ownership().reclaims, np.zeros(len(self.release), dtype=np.bool_)
        events = [reclaims.event(index) for index in reclaims.failed.tolist()]
        found[[row for table, row in events if table == "release"]] = True
        return self.inside_a_page & mask(self._both(np.zeros(len(self.reserves), dtype=np.bool_), found))

    @cached_property
    def small_reserve(self) -> Mask:
        """The first reserve of each size that has no room for the rows of one verify."""
        width, found = self.info.settings.get("num_draft_tokens"), np.zeros(len(self), dtype=np.bool_)
        if self.settled_reserve is not None and isinstance(width, int):
            room = self._both(self.reserves.ints("reserve"), np.full(len(self.release), NULL))
            values, first = np.unique(np.where(self.unknown, NULL, room), return_index=True)
            found[first[(values != NULL) & (values < width)]] = True
        return found

    @cached_property
    def unknown(self) -> Mask:
        """Instances of which a number that goes in, or what came out, is not recorded."""
        open_size = (self.reserves.page_size == NULL) & (self.reserves.form != "plain")
        of_reserve = ~self.reserves.known | open_size
        of_release = self.release.ints("free_start") == NULL
        return mask(self._both(of_reserve, of_release)) | mask((self.table == 1) & (self.tails[0] == NULL))

    @property
    def by_server_page(self) -> bool:
        """Whether tails of this release may be aligned with a page that is not the allocator's."""
        return aligns_tail_by_server_page(self.info)

    @property
    def _trims(self) -> Mask:
        return self.release.texts("kind").equal("session_trim")

    @cached_property
    def _kept(self) -> tuple[Int64s, Int64s]:
        """Committed length that the host reports next after each trim, and its `seq`; NULL if it is no trim."""
        kept, at = (np.full(len(self.release), NULL, dtype=np.int64) for _ in range(2))
        told, release = self._lengths, self.release
        trims, reports = (
            np.flatnonzero(self._trims),
            np.flatnonzero(told.texts("cause").equal("session_trim")),
        )
        if not len(trims) or not len(reports):
            return kept, at
        whose = [np.append(told.ints(n)[reports], release.ints(n)[trims]) for n in ("row", "epoch")]
        reported, trimmed = np.split(numbered(np.stack(whose)), [len(reports)])
        order = np.argsort(reported, kind="stable")
        reported, reports = reported[order], reports[order]
        place = search_pairs(reported, told.ints("seq")[reports], trimmed, release.ints("seq")[trims])
        follows = np.append(reported, -1)[place] == trimmed
        trims, reports = trims[follows], reports[place[follows]]
        at[trims] = told.ints("seq")[reports]
        committed, target = told.ints("committed")[reports], release.ints("target")[trims]
        least = np.minimum(committed, target)
        kept[trims] = np.where(least == NULL, np.maximum(committed, target), least)
        return kept, at

    def _tail(self, length: Int64s) -> Int64s:
        own = self.release.ints("page_size")
        own = np.where(own > 0, own, NULL)
        size: Any = np.full(len(own), self._space.page_size) if self._space.paged else own
        known = (size != NULL) & (length != NULL)
        due: Any = tail_start(np.where(known, length, 0), np.where(known, size, 1))  # type: ignore[arg-type]
        return np.where(known, due, NULL)

    def _of_release(self, name: str) -> Int64s:
        return np.asarray(
            self._both(np.full(len(self.reserves), NULL), self.release.ints(name)), dtype=np.int64
        )

    def _both(self, of_reserve: Any, of_release: Any) -> Any:
        """One column over the instances out of one a table."""
        first, second = (
            np.append(column, column[:1] if len(column) else [0]) for column in (of_reserve, of_release)
        )
        return np.where(
            self.table == 0,
            first[np.where(self.table == 0, self.event, 0)],
            second[np.where(self.table == 1, self.event, 0)],
        )
