"""The numbers of a verify's drawings as tables: draft tree, moves, the two strips, and what replay makes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from speckv_debug.model.lettering import BONUS, letter
from speckv_debug.model.text import amount
from speckv_debug.model.verify import SlotMove, VerifyStep
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.viewers.html.after_move import Held, Lost, moved
from speckv_debug.viewers.html.kept_kv import Kept
from speckv_debug.viewers.html.markup import Html, element, table
from speckv_debug.viewers.html.tree import Note

TREE = ("verify row", "token", "parent", "slot", "accepted")
MOVES = ("k", "token", "row", "position", "source", "target", "engine moved", "target holds after")
STRIPS = ("k", "position", "KV commits", "output gains")
REPLAY = ("result", "recorded", "replayed", "")
MOST_ROWS = 100


def tree_table(step: VerifyStep, notes: Mapping[int, Note]) -> Html:
    """A line a verify row; `slot` is where its KV is written."""
    if not step.tree.tokens:
        return Html()
    rows = range(min(len(step.tree.tokens), MOST_ROWS))
    wrong = [row for row in rows if row in notes and notes[row].wrong]
    grid = table(TREE, [_tree_row(step, row, notes) for row in rows], caption="draft tree", marked=wrong)
    hidden = len(step.tree.tokens) - len(rows)
    more = [element("p", f"{amount(hidden, 'more row')} not shown here.", class_="aside")] if hidden else []
    return element("div", grid, *more) if more else grid


def _tree_row(step: VerifyStep, row: int, notes: Mapping[int, Note]) -> tuple[object, ...]:
    parents, slots = step.tree.parents, step.out_cache_loc or ()
    parent = parents[row] if row < len(parents) else None
    above = None if parent is None or parent < 0 else letter(parent)
    taken = f"k = {step.accepted.index(row)}" if row in step.accepted else "no"
    said = f"{taken}, {notes[row].words}" if row in notes else taken
    slot = slots[row] if row < len(slots) else None
    return f"{letter(row)} ({row})", step.tree.tokens[row], above, slot, said


def move_table(step: VerifyStep, lost: Lost, kept: Kept) -> Html:
    """A line an accepted row: from accept_index to the slot, and what that slot holds behind the move."""
    if not step.moves:
        return Html()
    after = moved(step)
    rows = [(*_moved(move), _holds(move, after, lost)) for move in step.moves]
    wrong = [at for at, move in enumerate(step.moves) if move.k in kept or move.target in lost]
    return table(MOVES, rows, caption="from accept_index to the slot", marked=wrong)


def _moved(move: SlotMove) -> tuple[object, ...]:
    if move.engine_source is None:
        ran = "same slot" if move.in_place else "nothing recorded"
    else:
        ran = f"{move.engine_target} <- {move.engine_source}"
    token = f"{letter(move.verify_row)} {'?' if move.token is None else move.token}"
    return (move.k, token, move.verify_row, move.position, move.source, move.target, ran)


def _holds(move: SlotMove, after: Held, lost: Lost) -> str:
    if move.target is None or not (held := after.get(move.target)):
        return "unknown"
    if held != (due := letter(move.verify_row)):
        return f"{held}, due {due}"
    return f"{held}, {lost[move.target]}" if move.target in lost else held


def strip_table(step: VerifyStep, kept: Kept) -> Html:
    """A line a place: what KV commits there, and what the output gains with it."""
    count = max(len(step.accepted) + 1, *(k + 1 for k in kept), 0)
    if not step.accepted:
        return Html()
    rows = [
        (k, None if step.seq_len is None else step.seq_len + k, *_strip(step, kept, k)) for k in range(count)
    ]
    return table(STRIPS, rows, caption="same length, one token apart", marked=sorted(kept))


def _strip(step: VerifyStep, kept: Kept, k: int) -> tuple[object, object]:
    last = len(step.accepted)
    if k in kept:
        name, token, words = kept[k]
        commits: object = f"{_named(name, token)}, {words}"
    else:
        commits = _named(letter(step.accepted[k]), _at(step.kv_tokens, k)) if k < last else None
    if not 0 < k <= last:
        return commits, None
    return commits, _named(BONUS if k == last else letter(step.accepted[k]), _at(step.output_tokens, k - 1))


def _named(name: str, token: int | None) -> str:
    return name if token is None else f"{name} {token}"


def _at(tokens: tuple[int | None, ...], k: int) -> int | None:
    return tokens[k] if k < len(tokens) else None


def replay_table(results: Sequence[Recomputed]) -> Html:
    """What was recorded of the verify's result, and what the bundled kernels make of its inputs."""
    if not results:
        return Html()
    rows = [(each.what, each.recorded, each.replayed, _compared(each)) for each in results]
    differs = [at for at, each in enumerate(results) if each.same is False]
    return table(REPLAY, rows, caption="replay by the bundled kernels", marked=differs)


def _compared(each: Recomputed) -> str:
    if each.same is None:
        return "" if each.replayed.startswith("not computed") else "? not comparable"
    return "✓ the same" if each.same else "✗ differs"
