"""The keys at the bottom of each screen."""

from __future__ import annotations

from collections.abc import Iterator

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.content import Content
from textual.widgets import Footer, Static

FIRST = ("help", "quit")
"""Actions whose keys stand first where there is no room for all: help names the others."""


class KeyBar(Footer):
    """Textual's footer; where it has no room for all, only the keys that fit as a whole."""

    def compose(self) -> ComposeResult:
        needed = sum(len(key) + len(word) + 2 for key, word in self._keys())
        if self.app.size.width >= needed + (4 if self.show_command_palette else 0):
            yield from super().compose()
        else:
            yield Static(self._fitting(self.app.size.width))

    def on_resize(self, event: events.Resize) -> None:
        self.refresh(recompose=True)

    def _fitting(self, width: int) -> Content:
        """Keys with their words, as many as fit."""
        line = Content()
        for key, word in self._keys():
            more = Content.assemble((key, "$footer-key-foreground bold"), f" {word} ")
            if line.cell_length + more.cell_length > width:
                break
            line += more
        return line

    def _keys(self) -> Iterator[tuple[str, str]]:
        shown: dict[str, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.binding.show:
                shown.setdefault(active.binding.id or active.binding.action, active.binding)
        for binding in sorted(shown.values(), key=_rank):
            if binding.description:
                yield self.app.get_key_display(binding), binding.description


def _rank(binding: Binding) -> int:
    return FIRST.index(binding.action) if binding.action in FIRST else len(FIRST)
