"""From scored candidates to the links of a draft tree; plain integers, one request at a time."""

from __future__ import annotations

from dataclasses import dataclass

NONE = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeLinks:
    """Local verify rows in order of depth, row 0 the root.

    Attributes:
        chosen: Candidate of each row after the root.
        parents: Parent of each row, -1 for the root.
        depths: Distance of each row from the root.
        next_token: First child of each row, or -1.
        next_sibling: Next child of the same parent, or -1.
    """

    chosen: list[int]
    parents: list[int]
    depths: list[int]
    next_token: list[int]
    next_sibling: list[int]


def link_tree(scores: list[float], parents: list[int], width: int) -> TreeLinks:
    """Keep the `width - 1` best candidates and link them (SGLang `organize_draft_results`, `build_tree`).

    Args:
        scores: Cumulative probability of each candidate; a child's is below its parent's.
        parents: Candidate that each candidate continues, -1 for the root; a parent comes first.
        width: Rows of the tree, root included.
    """
    best = sorted(range(len(scores)), key=lambda candidate: (-scores[candidate], candidate))
    chosen = sorted(best[: width - 1])
    row_of = {NONE: 0} | {candidate: row for row, candidate in enumerate(chosen, start=1)}
    above = [NONE] + [row_of[parents[candidate]] for candidate in chosen]
    depths = [0] * width
    next_token, next_sibling = [NONE] * width, [NONE] * width
    for row in range(1, width):
        depths[row] = depths[above[row]] + 1
    for row in range(width - 1, 0, -1):
        next_sibling[row], next_token[above[row]] = next_token[above[row]], row
    return TreeLinks(
        chosen=chosen, parents=above, depths=depths, next_token=next_token, next_sibling=next_sibling
    )


def ancestors(parents: list[int]) -> list[list[bool]]:
    """`[w][w]`: whether row t attends to row j, which is itself or an ancestor."""
    sees = [[False] * len(parents) for _ in parents]
    for row, parent in enumerate(parents):
        if parent != NONE:
            sees[row] = list(sees[parent])
        sees[row][row] = True
    return sees
