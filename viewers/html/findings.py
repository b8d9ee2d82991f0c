"""Findings as sections: a card each, the worst first, as many as the page has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.model.text import amount
from speckv_debug.viewers.html.budget import LARGEST, OPTION, Budget
from speckv_debug.viewers.html.finding_card import Law, Places, cards
from speckv_debug.viewers.html.markup import Html, element, joined

NOTHING = Html()
MOST_ROOTS = 50


def findings_section(
    roots: Sequence[RootCause],
    laws: Mapping[str, Law],
    places: Places,
    strip: Html = NOTHING,
    *,
    several: bool = False,
    room: Budget | None = None,
) -> Html:
    """All root causes with their consequences; what is left out is counted in words.

    `strip`, all steps with the bad ones marked, stands below the first proof. `several`: each finding has to name its process.
    """
    if not roots:
        return Html()
    room = room or Budget(LARGEST)
    shown: list[Html] = []
    for number, root in enumerate(roots[:MOST_ROOTS], 1):
        made = cards(number, root, laws, places, strip if number == 1 else NOTHING, several)
        titled = (joined([_title(number, roots), card]) for card in made)
        if (card := next((each for each in titled if room.takes(each)), None)) is None:
            break
        shown.append(card)
    return element("section", *shown, *_hidden(len(roots) - len(shown)), id="findings")


def _hidden(count: int) -> list[Html]:
    if not count:
        return []
    words = f"{amount(count, 'more root cause')} not shown here; "
    return [element("p", words, element("code", OPTION), " lists all.", class_="aside")]


def kind_of(root: RootCause) -> str:
    """What a root cause stands under: a note is no fault."""
    return "Notes" if root.finding.severity is Severity.NOTE else "Where it went wrong"


def _title(number: int, roots: Sequence[RootCause]) -> Html:
    """The heading above the first fault and above the first note; they come in this order."""
    kind = kind_of(roots[number - 1])
    return Html() if number > 1 and kind == kind_of(roots[number - 2]) else element("h2", kind)
