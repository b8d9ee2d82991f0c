"""Two lanes of slots, before and after the move, with what was due and what the engine ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speckv_debug.model.lettering import letter
from speckv_debug.model.text import amount
from speckv_debug.model.verify import SlotMove, VerifyStep
from speckv_debug.viewers.html.after_move import Held, Lost, moved, written
from speckv_debug.viewers.html.markup import Html, element
from speckv_debug.viewers.html.svg import arrow, box, label, line, picture, words_below

CELL, PITCH, EDGE, MOST_SLOTS = 50, 56, 4, 24
BEFORE, AFTER, HEIGHT = 38, 148, 222
TALL = 28
Pair = tuple[int, int]
"""Source and target slot."""


NOTHING: Lost = {}


def draw_lanes(step: VerifyStep, *, judged: bool = False, lost: Lost = NOTHING) -> Html:
    """The slots of this verify as they stood before the move and as the recorded moves leave them.

    A slot that ends with the wrong row is marked as wrong if its move was recorded, or if a law about
    moves was found broken here (`judged`); otherwise the drawing only says what was due. `lost`: what a law found
    wrong with a slot though its move ran.
    """
    slots, hidden = _shown_slots(step)
    if not slots:
        return Html()
    x = {slot: EDGE + i * PITCH for i, slot in enumerate(slots)}
    before, after = written(step), moved(step)
    known = judged or any(m.engine_source is not None for m in step.moves)
    marks = _marks(step, after, known, lost)
    shapes = [
        *_arrows(step.moves, x, lost),
        label(EDGE, 12, "before", "lane", "start"),
        label(EDGE, AFTER - 8, "after", "lane", "start"),
        *_before(step, slots, x, before),
        *_after(step, slots, x, after, marks),
    ]
    width = 2 * EDGE + len(slots) * PITCH - (PITCH - CELL)
    drawn = picture(max(width, 150), HEIGHT, shapes, title=_title(step, after, marks, lost), class_="lanes")
    return element("div", drawn, _legend(step.moves, hidden, lost))


def _shown_slots(step: VerifyStep) -> tuple[list[int], int]:
    """All slots of the verify in ascending order, or the moved ones alone where there are too many."""
    moved = {
        s for m in step.moves for s in (m.source, m.target, m.engine_source, m.engine_target) if s is not None
    }
    everything = sorted(moved | set(step.out_cache_loc or ()))
    if len(everything) <= MOST_SLOTS:
        return everything, 0
    first = [s for m in step.moves if not _as_due(m) or not m.in_place for s in _ends(m)]
    rest = [s for s in everything if s not in set(first)]
    shown = sorted(list(dict.fromkeys(first + rest))[:MOST_SLOTS])
    return shown, len(everything) - len(shown)


def _ends(move: SlotMove) -> list[int]:
    ends = (move.source, move.target, move.engine_source, move.engine_target)
    return [slot for slot in ends if slot is not None]


def _before(
    step: VerifyStep, slots: list[int], x: dict[int, int], content: Mapping[int, str]
) -> Iterator[Html]:
    accepted = {letter(row) for row in step.accepted}
    for slot in slots:
        held = content.get(slot, "")
        yield label(x[slot] + CELL / 2, BEFORE - 6, slot, "small")
        yield from _cell(x[slot], BEFORE, held, "accepted" if held in accepted else "rejected")


def _after(
    step: VerifyStep, slots: list[int], x: dict[int, int], content: Held, marks: Mapping[int, str]
) -> Iterator[Html]:
    due = {m.target: m for m in step.moves if m.target is not None}
    for slot in slots:
        said = marks.get(slot, "")
        kind = "wrong" if said.startswith("✗") else "rejected" if slot not in due or said else "accepted"
        yield from _cell(x[slot], AFTER, content.get(slot, ""), kind)
        if slot in due:
            yield label(x[slot] + CELL / 2, AFTER + TALL + 14, f"p {due[slot].position}", "small")
    yield from words_below([(x[slot] + CELL / 2, marks.get(slot, "")) for slot in slots], AFTER + TALL + 32)


def _marks(step: VerifyStep, content: Held, known: bool, lost: Lost) -> dict[int, str]:
    """What is to be said of the targets that do not hold what is due."""
    said: dict[int, str] = {}
    for move in step.moves:
        if move.target is None:
            continue
        wanted = letter(move.verify_row)
        if content.get(move.target, wanted) != wanted:
            said[move.target] = f"{'✗ ' if known else ''}due {wanted}"
        elif move.target in lost:
            said[move.target] = f"✗ {lost[move.target]}"
    return said


def _cell(x: float, y: float, held: str, kind: str) -> Iterator[Html]:
    yield box(x, y, CELL, TALL, f"cell {kind}")
    yield label(x + CELL / 2, y + 19, held or "·", f"letter {kind}")


def _arrows(moves: tuple[SlotMove, ...], x: dict[int, int], lost: Lost) -> Iterator[Html]:
    """Pairs of one call in whatever order: what was due and ran, what was due alone, what ran alone."""
    top, bottom = BEFORE + TALL + 3, AFTER - 3
    for kind, pairs in _kinds(moves, lost).items():
        for source, target in pairs:
            if kind == "same":
                yield from _straight(x, target, top, bottom)
            else:
                yield from _between(x, (source, target), top, bottom, kind)


def _kinds(moves: tuple[SlotMove, ...], lost: Lost) -> dict[str, list[Pair]]:
    """The pairs by what is to be said of them; one that is in place need not run."""
    due = dict.fromkeys((m.source, m.target) for m in moves if m.source is not None and m.target is not None)
    ran = dict.fromkeys(
        (m.engine_source, m.engine_target)
        for m in moves
        if m.engine_source is not None and m.engine_target is not None
    )
    asked = [pair for pair in due if pair[0] != pair[1]]
    return {
        "same": [pair for pair in due if pair[0] == pair[1]],
        "due": [pair for pair in asked if pair not in ran],
        "ran": [pair for pair in asked if pair in ran and pair[1] not in lost],
        "lost": [pair for pair in asked if pair in ran and pair[1] in lost],
        "wrong": [pair for pair in ran if pair not in due],
    }


def _straight(x: dict[int, int], slot: int | None, top: float, bottom: float) -> Iterator[Html]:
    if slot in x:
        middle = x[slot] + CELL / 2
        yield line(middle, top, middle, bottom, "same")


def _between(x: dict[int, int], ends: Pair, top: float, bottom: float, kind: str) -> Iterator[Html]:
    source, target = ends
    if source in x and target in x:
        yield arrow(x[source] + CELL / 2, top, x[target] + CELL / 2, bottom, kind)


def _as_due(move: SlotMove) -> bool:
    return (move.engine_source, move.engine_target) == (move.source, move.target)


WORDS = {
    "same": "same slot",
    "ran": "moved as due",
    "due": "due, no such move recorded",
    "lost": "✗ ran, and did not bring all of it",
    "wrong": "✗ ran, was not due",
}


def _legend(moves: tuple[SlotMove, ...], hidden: int, lost: Lost) -> Html:
    """What each kind of line means, in words, for the kinds that are drawn."""
    kinds = _kinds(moves, lost)
    keys = [element("span", element("i", class_=f"key {k}"), w) for k, w in WORDS.items() if kinds[k]]
    if hidden:
        keys.append(element("span", f"{amount(hidden, 'more slot is', 'more slots are')} not drawn"))
    return element("p", *keys, class_="legend")


def _title(step: VerifyStep, after: Held, marks: Mapping[int, str], lost: Lost) -> str:
    kinds = _kinds(step.moves, lost)
    due = [f"{letter(m.verify_row)}: {m.source} to {m.target}" for m in step.moves]
    missing = [f"{source} to {target} due, no such move recorded" for source, target in kinds["due"]]
    wrong = [f"engine ran {source} to {target}, not due" for source, target in kinds["wrong"]]
    left = [
        f"slot {slot} ends with {after.get(slot) or 'nothing known'}, {said}" for slot, said in marks.items()
    ]
    return "Slots before and after the move. " + "; ".join([*due, *missing, *wrong, *left])
