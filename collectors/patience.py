"""When what steps stage may leave together: where nothing is written to it before the last of them is through.

What a launch costs the engine's thread it costs once for all that leaves with it. The tensors are held until then, so
the allocator gives their memory to nobody. What could still change them is an engine that keeps one tensor for all its
steps: it shows as an address that comes again while the one before is held. Until that was tried, each step leaves alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

MOST_STEPS = 4
"""Steps that leave together: all that a recording of a process that is killed lacks."""
TRIED_STEPS = 16
Unit = tuple[str, range]
"""What a group of tensors is, and their places in a load."""


class Patience:
    """What is known of the tensors that steps stage.

    Attributes:
        steps: Steps that may leave together now.
    """

    def __init__(self) -> None:
        self.steps = 1
        self._tried = 0
        self._held: deque[tuple[Sequence[Unit], list[int], Any]] = deque(maxlen=MOST_STEPS)

    @property
    def is_settled(self) -> bool:
        """Whether there is nothing to be learnt: steps leave alone for good."""
        return self.steps == 1 and self._tried >= TRIED_STEPS

    def allows(self, units: Sequence[Unit], addresses: list[int], tensors: Any) -> bool:
        """Whether what leaves now is as it was when it was staged; learns from it how long the next may wait.

        Args:
            units: Groups of tensors.
            addresses: Where each tensor lies.
            tensors: Held while it is tried, so that no address can come again by chance.
        """
        if self._tried >= TRIED_STEPS:
            if self.steps > 1 and comes_again([(units, addresses)]):
                self.steps = 1
                return False
            return True
        self._tried += 1
        self._held.append((units, addresses, tensors))
        if comes_again([(units, addresses) for units, addresses, _ in self._held]):
            self._tried = TRIED_STEPS
        elif self._tried == TRIED_STEPS:
            self.steps = MOST_STEPS
        if self._tried == TRIED_STEPS:
            self._held.clear()
        return True


def comes_again(given: Sequence[tuple[Sequence[Unit], list[int]]]) -> bool:
    """Whether a place of one kind of group has the same address in two groups; a tensor without values has none."""
    seen: dict[tuple[str, int], list[list[int]]] = {}
    for units, addresses in given:
        for kind, places in units:
            seen.setdefault((kind, len(places)), []).append(addresses[places.start : places.stop])
    for groups in seen.values():
        if len(groups) > 1:
            for column in zip(*groups, strict=True):
                there = [address for address in column if address]
                if len(set(there)) < len(there):
                    return True
    return False
