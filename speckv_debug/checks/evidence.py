"""The small tables that prove a finding about a verify: draft tree, accepted path, tokens one apart."""

from __future__ import annotations

import math
from collections.abc import Iterator

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.lettering import BONUS, letter
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.verifies import VerifyBatch


def number(value: int) -> int | None:
    """A plain integer, None where the column has no value."""
    return None if value == NULL else int(value)


def named(request: str | None) -> str:
    """A request by its name, as the subject of a sentence."""
    return "a request" if request is None else f"request {request}"


def more(found: Int64s, noun: str) -> str:
    """Of how many more than the first one, which a sentence names, the same is true."""
    return f"; the same of {quantity(len(found) - 1, f'more {noun}')}" if len(found) > 1 else ""


def row_name(row: int, token: int | None) -> str:
    """Letter and token of a local verify row, such as `C 23`."""
    return f"{letter(row)} {'?' if token is None else token}"


def draft_tree(
    batch: VerifyBatch, index: int, accepted: set[int], recorded: set[int] | None = None
) -> Evidence:
    """The draft tree, drawn, root first; accepted rows are filled circles.

    Where replay accepts the rows, `recorded` are those that the engine accepted: both are named.
    """
    parents, tokens = batch.parents[index].tolist(), batch.ragged("draft_tokens")[index].tolist()
    drawn = list(_draw(parents)) if parents else []
    loose = [(row, "? ") for row, parent in enumerate(parents) if parent < 0 and row > 0]
    readings = (accepted,) if recorded is None else (accepted, recorded)
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            f"{lead}{'●' if row in accepted else '○'} {row_name(row, number(tokens[row]) if row < len(tokens) else None)}",
            row,
            *("accepted" if row in rows else "rejected" for rows in readings),
        )
        for row, lead in (*drawn, *loose)
    )
    if recorded is None:
        return Evidence(title="draft tree", columns=("tree", "row", ""), rows=rows)
    columns = ("tree as replay accepts it", "row", "replay", "engine")
    apart = tuple(k for k, line in enumerate(rows) if line[2] != line[3])
    return Evidence(title="draft tree, as replay accepts it", columns=columns, rows=rows, marked=apart)


def _draw(parents: list[int]) -> Iterator[tuple[int, str]]:
    """(row, lead of its line) of every row below the root, in depth-first order."""
    children: dict[int, list[int]] = {}
    for child, parent in enumerate(parents):
        children.setdefault(parent, []).append(child)
    stack = [(0, "", "")]
    while stack:
        row, lead, below = stack.pop()
        yield row, lead
        for child in reversed(children.get(row, [])):
            last = child == children[row][-1]
            stack.append((child, below + ("└─" if last else "├─"), below + ("  " if last else "│ ")))


def accept_entries(batch: VerifyBatch, index: int, marked: tuple[int, ...] = ()) -> Evidence:
    """accept_index as the engine wrote it, with the token, parent and prediction of each row."""
    origin, parents = number(batch.origin[index]), batch.parents[index].tolist()
    width = math.inf if batch.width[index] == NULL else int(batch.width[index])
    rows: list[tuple[Cell, ...]] = []
    for k, entry in enumerate(batch.ragged("accept_index")[index].tolist()):
        local = None if origin is None or entry in (-1, NULL) else entry - origin
        token = value_at(batch, "draft_tokens", index, local)
        name = None if local is None else row_name(local, token) if 0 <= local < width else "not its own"
        parent = parents[local] if local is not None and 0 <= local < len(parents) else None
        rows.append((k, number(entry), name, parent, value_at(batch, "predict", index, local)))
    columns = ("k", "accept_index", "row", "parent row", "predict")
    return Evidence(title="accept_index", columns=columns, rows=tuple(rows), marked=marked)


def value_at(batch: VerifyBatch, column: str, index: int, local: int | None) -> int | None:
    """Value of a list column at a local row, None where there is none."""
    values = batch.ragged(column)[index]
    return number(values[local]) if local is not None and 0 <= local < len(values) else None


def strips(batch: VerifyBatch, index: int) -> Evidence:
    """What KV commits and what the output gains, one cell apart."""
    path, start = batch.path[index].tolist(), number(batch.seq_len[index])
    kv: list[Cell] = [row_name(row, value_at(batch, "draft_tokens", index, row)) for row in path]
    out: list[Cell] = [value_at(batch, "predict", index, row) for row in path]
    heads = tuple(f"+{k}" if start is None else str(start + k) for k in range(len(path) + 1))
    bonus = number(batch.bonus_token[index])
    rows: tuple[tuple[Cell, ...], ...] = (
        ("KV commits", *kv, ""),
        ("output gains", "", *out),
        ("bonus handed on", *[""] * len(path), None if bonus is None else f"{BONUS} {bonus}"),
    )
    return Evidence(title="same length, one token apart", columns=("position", *heads), rows=rows)
