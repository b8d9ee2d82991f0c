"""A screen that draws one verify, which may have to be read first."""

from __future__ import annotations

from functools import partial

from textual.timer import Timer

from speckv_debug.viewers.tui.drawn import Drawn
from speckv_debug.viewers.tui.places import Place
from speckv_debug.viewers.tui.screens.inspector import InspectorScreen

LANE = "verify"
READING = "the part of the recording around it is being read"
SOON_S = 0.1
"""How long the verify before stays in sight: what is read for most keys is there sooner."""


class ReadingScreen(InspectorScreen):
    """Subclasses draw what was read; the last verify that was asked for counts."""

    def __init__(self) -> None:
        super().__init__()
        self._wanted: Place | None = None
        self._drawn: Drawn | None = None
        self._soon: Timer | None = None

    @property
    def drawn(self) -> Drawn | None:
        """The verify that was asked for, None while it is being read."""
        return self._drawn

    def read_verify(self, place: Place) -> None:
        """Draw a verify now if it is at hand, else when it has been read."""
        process = self.inspector.inspection.process(place.process)
        self._wanted, self._drawn = place, None
        if (drawn := process.at_hand(place.index)) is not None:
            self._read(place, drawn)
            return
        if self._soon is None:
            self._soon = self.set_timer(SOON_S, self._not_yet)
        self.ask(
            lambda tell: process.drawn(place.index),
            partial(self._read, place),
            "reading",
            lane=LANE,
            failed=partial(self._failed, place),
        )

    def verify_read(self, place: Place, drawn: Drawn) -> None:
        """Draw it."""
        raise NotImplementedError

    def verify_awaited(self, words: str = READING) -> None:
        """Say that it is being read, or why it is not there."""
        raise NotImplementedError

    def _read(self, place: Place, drawn: Drawn) -> None:
        if place == self._wanted:
            self._stop_waiting()
            self._drawn = drawn
            self.verify_read(place, drawn)

    def _not_yet(self) -> None:
        if self.is_attached:
            self.verify_awaited()

    def _failed(self, place: Place, why: str) -> None:
        if place == self._wanted:
            self._stop_waiting()
            self.verify_awaited(f"this verify can't be drawn: {why}")

    def _stop_waiting(self) -> None:
        if self._soon is not None:
            self._soon.stop()
            self._soon = None
