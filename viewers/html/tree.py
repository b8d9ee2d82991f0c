"""The draft tree of one verify, the accepted path through it marked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from speckv_debug.model.lettering import letter
from speckv_debug.model.text import amount
from speckv_debug.model.verify import DraftTree, VerifyStep
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import curve, disc, label, picture

STEP_X, STEP_Y, NOTED_Y, RADIUS, EDGE = 66, 46, 62, 14, 24
MOST_ROWS = 48


@dataclass(frozen=True, slots=True)
class Note:
    """A word beside a row of the tree; a wrong one is red."""

    words: str
    wrong: bool


def draw_tree(step: VerifyStep, notes: Mapping[int, Note] | None = None) -> Html:
    """Verify rows from left to right by depth; rows past the first 48 are left out, and said so."""
    notes = notes or {}
    rows = _shown_rows(step)
    if not rows:
        return Html()
    places = _places(step.tree, rows, NOTED_Y if notes else STEP_Y)
    widest = max((len(note.words) for note in notes.values()), default=0)
    width = max(x for x, _ in places.values()) + 2 * EDGE + 3.7 * widest
    height = max(y for _, y in places.values()) + 2 * EDGE
    shapes = [*_edges(step, places), *_nodes(step, places, notes)]
    drawn = picture(width, height, shapes, title=_title(step, notes), class_="tree")
    hidden = len(step.tree.tokens) - len(rows)
    more = (
        element(
            "p",
            f"{amount(hidden, 'more rejected row is', 'more rejected rows are')} not drawn.",
            class_="aside",
        )
        if hidden
        else Html()
    )
    return element("div", drawn, more)


def _shown_rows(step: VerifyStep) -> list[int]:
    """All rows with a known place in the tree; where there are too many, accepted rows and their siblings first."""
    tree, accepted = step.tree, set(step.accepted)
    everything = range(min(len(tree.tokens), len(tree.parents)))
    nearest_first = sorted(everything, key=lambda r: (r not in accepted, tree.parents[r] not in accepted, r))
    return sorted(nearest_first[:MOST_ROWS])


def _places(tree: DraftTree, rows: list[int], step_y: int) -> dict[int, tuple[float, float]]:
    """Row → centre of its disc: x by depth, y by the order of leaves."""
    shown, places, leaves = set(rows), dict[int, tuple[float, float]](), [0]

    def place(row: int, depth: int) -> float:
        places[row] = (EDGE + depth * STEP_X, 0.0)
        below = [place(c, depth + 1) for c in tree.children(row) if c in shown and c not in places]
        if not below:
            below = [EDGE + (step_y - STEP_Y) + leaves[0] * step_y]
            leaves[0] += 1
        places[row] = (EDGE + depth * STEP_X, (below[0] + below[-1]) / 2)
        return places[row][1]

    for root in rows:
        parent = tree.parents[root]
        if root not in places and (parent < 0 or parent not in shown or parent == root):
            place(root, 0)
    for row in rows:
        if row not in places:
            place(row, 0)
    return places


def _edges(step: VerifyStep, places: dict[int, tuple[float, float]]) -> Iterator[Html]:
    path = set(zip(step.accepted, step.accepted[1:], strict=False))
    drawn = {(step.tree.parents[row], row) for row in places if step.tree.parents[row] in places}
    for parent, row in sorted(drawn, key=lambda edge: (edge in path, edge)):
        yield _edge(places[parent], places[row], "edge accepted" if (parent, row) in path else "edge")
    for parent, row in sorted(path - drawn):
        if parent in places and row in places:
            yield _edge(places[parent], places[row], "edge broken")


def _edge(start: tuple[float, float], end: tuple[float, float], class_: str) -> Html:
    return curve(start[0] + RADIUS, start[1], end[0] - RADIUS, end[1], class_)


def _nodes(
    step: VerifyStep, places: dict[int, tuple[float, float]], notes: Mapping[int, Note]
) -> Iterator[Html]:
    accepted = set(step.accepted)
    for row, (x, y) in sorted(places.items()):
        kind = "accepted" if row in accepted else "rejected"
        note = notes.get(row)
        yield disc(x, y, RADIUS, f"node {'wrong' if note and note.wrong else kind}")
        if note:
            yield label(
                max(x, 3.7 * len(note.words)), y - RADIUS - 5, note.words, "wrong" if note.wrong else "due"
            )
        yield label(x, y + 5, letter(row), f"letter {kind}")
        yield label(x, y + RADIUS + 11, step.tree.tokens[row], "small")


def _title(step: VerifyStep, notes: Mapping[int, Note]) -> str:
    path = " ".join(letter(row) for row in step.accepted)
    said = [
        f"{letter(row)} (token {step.tree.tokens[row]}): {note.words}"
        for row, note in sorted(notes.items())
        if row < len(step.tree.tokens)
    ]
    said += [
        f"{letter(start)} to {letter(end)}: no edge of the tree"
        for start, end in zip(step.accepted, step.accepted[1:], strict=False)
        if end < len(step.tree.parents) and step.tree.parents[end] != start
    ]
    return "; ".join(
        [f"Draft tree of {len(step.tree.tokens)} verify rows; accepted path {path or 'none'}", *said]
    )
