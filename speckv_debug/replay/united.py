"""Instances of several kinds that one law judges, one kind behind the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from speckv_debug.replay.not_said import together
from speckv_debug.replay.places import Place
from speckv_debug.replay.ragged import Int64s, Mask
from speckv_debug.replay.searching import NEVER


class United:
    """The instances of some scopes, numbered through; one without spans rests on its own event only."""

    def __init__(self, *parts: Any) -> None:
        self.parts: Sequence[Any] = parts
        self._first = np.cumsum([0, *(len(part) for part in parts)])
        self.reads = _all("reads", parts)
        self.columns_from = _all("columns_from", parts)
        self.not_said = together(*(getattr(part, "not_said", {}) for part in parts))
        self.seq: Int64s = np.concatenate([part.seq for part in parts])
        self.rests_on: dict[str, tuple[str, ...]] = {}
        for part in parts:
            for table, names in getattr(part, "rests_on", {}).items():
                self.rests_on[table] = tuple(dict.fromkeys((*self.rests_on.get(table, ()), *names)))

    def __len__(self) -> int:
        return int(self._first[-1])

    def part(self, index: int) -> tuple[int, int]:
        """Which scope an instance is of, and its number there."""
        number = int(np.searchsorted(self._first, index, side="right")) - 1
        return number, index - int(self._first[number])

    def first(self, number: int) -> int:
        """The first instance of a scope."""
        return int(self._first[number])

    def place(self, index: int) -> Place:
        """Where the instance stands."""
        number, own = self.part(index)
        place: Place = self.parts[number].place(own)
        return place

    def kind(self, index: int) -> str:
        """The kind that its scope tells, beside the scope's number."""
        number, own = self.part(index)
        kind = getattr(self.parts[number], "kind", None)
        return f"{number} {kind(own) if kind else ''}"

    @property
    def looks_further(self) -> Mask:
        """What the parts say of themselves; the others are decided by what lies before them."""
        none = [np.zeros(len(part), dtype=np.bool_) for part in self.parts]
        found = (getattr(part, "looks_further", no) for part, no in zip(self.parts, none, strict=True))
        return np.concatenate(list(found))

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """Those of the parts; nothing lies between the last number and -1."""
        found = [
            getattr(part, "spans", None) or (np.full(len(part), NEVER), np.full(len(part), -1))
            for part in self.parts
        ]
        return np.concatenate([first for first, _ in found]), np.concatenate([last for _, last in found])


def _all(name: str, parts: Sequence[Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(table for part in parts for table in getattr(part, name, ())))
