"""Every action that makes sense on a screen now, from its bindings: one source for help and commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from textual.dom import DOMNode
from textual.screen import Screen


@dataclass(frozen=True, slots=True)
class Deed:
    """An action as people see it: `steps: filter`, its keys, a sentence; `action` runs on `node`."""

    area: str
    verb: str
    keys: tuple[str, ...]
    sentence: str
    action: str
    node: DOMNode

    @property
    def title(self) -> str:
        """Area and verb."""
        return f"{self.area}: {self.verb}"


def deeds(screen: Screen[object]) -> tuple[Deed, ...]:
    """The enabled actions of the focused widget, the screen and the app, in that order; plain movement last.

    An action's area and verb are its binding's id, `area.verb`; a binding without such an id is not ours.
    """
    found: dict[str, Deed] = {}
    for active in screen.active_bindings.values():
        binding = active.binding
        area, _, verb = (binding.id or "").partition(".")
        if not verb or not active.enabled:
            continue
        known = found.get(binding.id or "")
        keys = (
            *(known.keys if known else ()),
            screen.app.get_key_display(replace(binding, key_display=None)),
        )
        sentence = binding.tooltip or binding.description
        found[binding.id or ""] = Deed(
            area, verb.replace("-", " "), keys, sentence, binding.action, active.node
        )
    return tuple(sorted(found.values(), key=lambda deed: deed.area == "move"))


def by_area(listed: Iterable[Deed]) -> dict[str, list[Deed]]:
    """The same, gathered by area; areas in the order in which they first appear."""
    areas: dict[str, list[Deed]] = {}
    for deed in listed:
        areas.setdefault(deed.area, []).append(deed)
    return areas
