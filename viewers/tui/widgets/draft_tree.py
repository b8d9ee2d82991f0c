"""The draft tree as indented lines; accepted rows are filled dots, others hollow ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.cells import cell_len
from textual.content import Content

from speckv_debug.model.lettering import letter
from speckv_debug.model.verify import DraftTree, VerifyStep
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel, token_name


class DraftTreePanel(StepPanel):
    """Every verify row below its parent."""

    TITLE = "Draft tree"

    def step_lines(self, step: VerifyStep, width: int) -> Iterable[Content]:
        rows = list(_walk(step.tree))
        if not rows:
            yield Content.styled("no draft token was recorded", ink.FAINT)
        if rows and not step.tree.parents:
            yield Content.styled("the links of the tree were not recorded", ink.FAINT)
        names = [token_name(letter(row), step.tree.tokens[row]) for row, _ in rows]
        stems = [stem for _, stem in rows]
        widest = max((cell_len(stem) + len(name) for stem, name in zip(stems, names, strict=True)), default=0)
        for (row, stem), name in zip(rows, names, strict=True):
            gap = " " * (widest - cell_len(stem) - len(name))
            yield _node(step, row, stem, name + gap)


def _node(step: VerifyStep, row: int, stem: str, name: str) -> Content:
    known = step.accept_len is not None or bool(step.accepted)
    accepted = row in step.accepted
    dot = "●" if accepted else "○" if known else "◌"
    style = ink.GOOD if accepted else ink.FAINT
    return Content.assemble(
        (stem, ink.FAINT),
        (f"{dot} {name}", f"bold {ink.GOOD}" if accepted else ink.FAINT if known else ""),
        (f"  row {row:<3}", ink.FAINT),
        (f" {_word(step, row, accepted, known)}", style),
    )


def _word(step: VerifyStep, row: int, accepted: bool, known: bool) -> str:
    if row and _parent(step.tree, row) < 0 and step.tree.parents:
        return "not linked" + (", yet accepted" if accepted else "")
    if not known:
        return "not known"
    return ("✓ root" if row == 0 else "✓ accepted") if accepted else "rejected"


def _walk(tree: DraftTree) -> Iterator[tuple[int, str]]:
    """Rows depth first with the branch drawing in front of each; unlinked rows follow as roots."""
    seen: set[int] = set()
    for root in range(len(tree.tokens)):
        if root not in seen and _parent(tree, root) < 0:
            yield from _below(tree, root, seen)
    for row in range(len(tree.tokens)):
        if row not in seen:  # a loop of parents: nothing leads to it from a root
            yield from _below(tree, row, seen)


def _parent(tree: DraftTree, row: int) -> int:
    return tree.parents[row] if row < len(tree.parents) else -1


def _below(tree: DraftTree, root: int, seen: set[int]) -> Iterator[tuple[int, str]]:
    stack = [(root, "", "")]
    while stack:
        row, branch, rail = stack.pop()
        if row in seen:
            continue
        seen.add(row)
        yield row, branch
        children = [child for child in tree.children(row) if child not in seen]
        for child in reversed(children):
            last = child == children[-1]
            stack.append((child, rail + ("└─" if last else "├─"), rail + ("  " if last else "│ ")))
