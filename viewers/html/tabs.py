"""Tabs: a list of buttons and as many panels; without the page's script all panels stand one under the other."""

from __future__ import annotations

from collections.abc import Sequence

from speckv_debug.viewers.html.markup import Html, element


def tabs(
    name: str, panels: Sequence[tuple[object, Html]], label: str, *, keys: Sequence[object] | None = None
) -> Html:
    """One tab a panel, the first one chosen; ids are `name-key`, keys count from 0 if none are given."""
    ids = [f"{name}-{key}" for key in (keys or range(len(panels)))]
    buttons = [
        element(
            "button",
            title,
            type="button",
            role="tab",
            id=f"{id}-tab",
            aria_controls=id,
            aria_selected="true" if at == 0 else "false",
            tabindex=0 if at == 0 else -1,
        )
        for at, (id, (title, _)) in enumerate(zip(ids, panels, strict=True))
    ]
    shown = [
        element("div", panel, role="tabpanel", id=id, aria_labelledby=f"{id}-tab", tabindex=0)
        for id, (_, panel) in zip(ids, panels, strict=True)
    ]
    row = element("div", *buttons, role="tablist", aria_label=label)
    return element("div", row, *shown, class_="tabs")
