"""Deferred free groups: frees between begin and end take effect at the end, as one."""

from __future__ import annotations

from dataclasses import dataclass, field

from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger_facts import Facts
from speckv_debug.replay.ragged import NULL

GROUPLESS = "the free names no group inside an open one, as others do: when it took effect is not known"
NEVER = "its deferred free group has no end in the recording"


@dataclass(slots=True)
class FreeGroups:
    """Open groups in the order in which they began; each holds rows of the table `free`.

    Attributes:
        begun: Group → the step in which it began, NULL if unknown.
        stray: Groups that frees name and that have not begun, or have ended.
        nameless: No free names its group: all belong to the one that is open.
        unsure: Frees that name no group inside an open one, where others do: when they took effect is not known.
    """

    waiting: dict[int, list[int]] = field(default_factory=dict)
    begun: dict[int, int] = field(default_factory=dict)
    stray: set[int] = field(default_factory=set)
    nameless: bool = True
    unsure: set[int] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.waiting)

    def begin(self, group: int, step: int) -> None:
        """Open a group."""
        self.waiting.setdefault(group, [])
        self.begun[group] = step
        self.stray.discard(group)

    def of(self, group: int) -> int | None:
        """The group that a free belongs to: the one it names, else the innermost open one, else none."""
        if group != NULL:
            return group
        return next(reversed(self.waiting), None)

    def add(self, group: int, free: int) -> None:
        """A free waits for the group's end."""
        if group not in self.waiting:
            self.stray.add(group)
        self.waiting.setdefault(group, []).append(free)

    def end(self, group: int) -> list[int]:
        """Close a group; its frees in order."""
        self.stray.discard(group)
        self.begun.pop(group, None)
        return self.waiting.pop(group, [])

    def left(self, step: int, *, stray: bool) -> list[int]:
        """The groups that nothing will end at a settled point; their frees take no effect.

        Args:
            step: Of the settled point: a group that began in another one has no end.
            stray: Whether groups that have not begun are known not to have.
        """
        gone = {group for group, began in self.begun.items() if NULL not in (step, began) and began != step}
        for group in sorted(gone := gone | (self.stray if stray else set())):
            self.end(group)
        return sorted(gone)

    def renumber(self, gone: int) -> None:
        """Count the rows of the table `free` from a later one on."""
        if any(free < gone for frees in self.waiting.values() for free in frees):
            raise LooksFurther("a free group stays open for long")
        self.waiting = {group: [free - gone for free in frees] for group, frees in self.waiting.items()}
        self.unsure = {free - gone for free in self.unsure if free >= gone}

    def lose(self, facts: Facts, why: int) -> None:
        """What waits can't be judged."""
        for frees in self.waiting.values():
            for free in frees:
                facts.mark("double", "free", free, why)
                facts.mark("unsafe", "free", free, why)
        for kept in (self.waiting, self.begun, self.stray, self.unsure):
            kept.clear()
