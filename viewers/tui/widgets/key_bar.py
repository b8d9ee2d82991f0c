"""The keys at the bottom of each screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode

from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.lines import Lines

STOP = "stop"
FIRST = (STOP, "help", "quit")
"""Actions whose keys stand first where there is no room for all: help names the others."""
Key = tuple[str, str, Binding, DOMNode]
"""As it is shown, its word, what it is bound to, and whose it is."""


class KeyBar(Lines):
    """Keys with their words, as many as fit as a whole; a click does what the key does."""

    def __init__(self) -> None:
        super().__init__()
        self._gives_up = False

    @property
    def gives_up(self) -> bool:
        """Whether the key is named with which one gives up what is being worked out."""
        return self._gives_up

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, lambda screen: self.redraw())

    def lines(self, width: int, height: int) -> Iterable[Content]:
        yield Content("").join(_word(key, word) for key, word, *_ in self._fitting(width)).rstrip()

    async def on_click(self, event: events.Click) -> None:
        left = self.gutter.left
        for key, word, binding, node in self._fitting(self.content_region.width):
            left += _word(key, word).cell_length
            if event.x < left:
                await self.app.run_action(binding.action, node)
                return

    def _fitting(self, width: int) -> list[Key]:
        """All keys in the order of the bindings if there is room for them, else the first ones by rank."""
        keys, width = list(self._keys()), width + 1  # nobody misses the blank behind the last one
        needed = sum(_word(key, word).cell_length for key, word, *_ in keys)
        if needed <= width:
            palette = self._palette()
            return [*keys, *(each for each in palette if needed + _word(*each[:2]).cell_length <= width)]
        fitting: list[Key] = []
        for each in sorted(keys, key=lambda key: _rank(key[2])):
            width -= _word(*each[:2]).cell_length
            if width < 0:
                break
            fitting.append(each)
        return fitting

    def _keys(self) -> Iterator[Key]:
        shown: dict[str, Key] = {}
        seen: set[str] = set()
        for active in self.screen.active_bindings.values():
            binding, group = active.binding, active.binding.group
            if not (binding.show and binding.description and active.enabled):
                continue
            if binding.action == STOP and not getattr(self.screen, "asks_long", False):
                continue
            name, word = binding.id or binding.action, binding.description
            key = self.app.get_key_display(binding)
            if group is not None and name not in seen:
                word, before = group.description, shown.get(group.description)
                shown[word] = ((before[0] if before else "") + key, word, binding, active.node)
            elif group is None:
                shown.setdefault(name, (key, word, binding, active.node))
            seen.add(name)
        self._gives_up = STOP in {binding.action for _, _, binding, _ in shown.values()}
        yield from sorted(shown.values(), key=lambda key: key[2].action != STOP)

    def _palette(self) -> Iterator[Key]:
        """The key that lists all commands: for where there is room."""
        for active in self.screen.active_bindings.values():
            if active.binding.action == "command_palette":
                yield self.app.get_key_display(active.binding), "Commands", active.binding, active.node


def _word(key: str, word: str) -> Content:
    return Content.assemble((key, ink.KEY), f" {word} ")


def _rank(binding: Binding) -> int:
    return FIRST.index(binding.action) if binding.action in FIRST else len(FIRST)
