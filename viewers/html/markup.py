"""Markup that escapes by default: text from a recording is untrusted and can't become an element."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence

from speckv_debug.model.text import cut, printable

LONG_CELL = 48
"""Characters above which a cell's text is broken into lines."""
MOST_IN_CELL = 1_000
"""Characters of a cell's text that are shown."""
Attribute = str | int | float | bool | None


class Html(str):
    """Markup that may stand in a page as it is; anything else is text and gets escaped."""

    __slots__ = ()


def text(value: object) -> Html:
    """`value` as markup: escaped, with control and direction characters made visible, cut where it is overlong."""
    return value if isinstance(value, Html) else Html(html.escape(cut(printable(str(value)))))


def joined(parts: Iterable[object], separator: str = "") -> Html:
    """All parts in order, each escaped unless it is markup."""
    return Html(separator.join(text(part) for part in parts))


def element(tag: str, *children: object, **attributes: Attribute) -> Html:
    """One element; `class_` becomes `class`, `data_x` becomes `data-x`, None leaves an attribute out."""
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    return Html(f"<{tag}{written}>{joined(children)}</{tag}>")


def _attribute(name: str, value: Attribute) -> str:
    name = name.rstrip("_").replace("_", "-")
    if value is None or value is False:
        return ""
    return f" {name}" if value is True else f' {name}="{text(str(_number(value)))}"'


def _number(value: Attribute) -> object:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else value


def table(
    columns: Sequence[object],
    rows: Iterable[Sequence[object]],
    *,
    caption: object = None,
    marked: Iterable[int] = (),
) -> Html:
    """A table in a box of its own that scrolls sideways; marked rows carry a mark that needs no colour."""
    broken = set(marked)
    head = element(
        "tr", *([element("th")] if broken else []), *(element("th", c, scope="col") for c in columns)
    )
    body = [_row(row, index in broken, bool(broken)) for index, row in enumerate(rows)]
    title = [element("caption", caption)] if caption is not None else []
    grid = element("table", *title, element("thead", head), element("tbody", *body))
    name = caption if caption is not None else ", ".join(map(str, columns))
    return element("div", grid, class_="scroll", role="region", tabindex=0, aria_label=str(name))


def _row(cells: Sequence[object], is_marked: bool, has_marks: bool) -> Html:
    mark = [element("td", "✗" if is_marked else "", class_="mark")] if has_marks else []
    return element("tr", *mark, *map(_cell, cells), class_="marked" if is_marked else None)


def _cell(value: object) -> Html:
    if value is None:
        return element("td", "–", class_="none")
    if isinstance(value, int | float):
        return element("td", value, class_="number")
    said = value if isinstance(value, Html) else cut(printable(str(value)), MOST_IN_CELL)
    return element("td", said, class_="long" if len(said) > LONG_CELL else None)


def facts(pairs: Iterable[tuple[object, object]]) -> Html:
    """A list of names and values."""
    return element(
        "dl", *(element("div", element("dt", k), element("dd", v)) for k, v in pairs), class_="facts"
    )


def data_block(name: str, value: object) -> Html:
    """A block of JSON for the page's script."""
    return element("script", Html(data_of(value)), type="application/json", id=name)


def data_of(value: object) -> str:
    """JSON: sorted, plain ASCII, with no character that ends a script."""
    dumped = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        dumped = dumped.replace(character, f"\\u{ord(character):04x}")
    return dumped
