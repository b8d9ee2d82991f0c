"""Random trees whose siblings repeat: any walk of a greedy target is right, and no other path is."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.model.process import Process
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.replayed_accepts import ReplayedAccepts
from speckv_debug.replay.replayed_paths import ReplayedPaths
from speckv_debug.replay.verifies import VerifyBatch

Line = dict[str, Any]


class Tree:
    """A random tree over two tokens, and a walk down it that takes any child with the token that the target chose."""

    def __init__(self, rng: random.Random) -> None:
        self.width = rng.randint(1, 9)
        self.parents = [-1] + [rng.randrange(row) for row in range(1, self.width)]
        self.tokens, self.chosen = ([rng.randrange(2) for _ in range(self.width)] for _ in range(2))
        self.path = [0]
        while hits := self.hits(self.path[-1]):
            self.path.append(rng.choice(hits))

    def hits(self, row: int) -> list[int]:
        """Children of a row that carry its choice."""
        below = (child for child in range(1, self.width) if self.parents[child] == row)
        return [child for child in below if self.tokens[child] == self.chosen[row]]

    def allows(self, path: list[int], sampled: bool) -> bool:
        """Whether a greedy target may accept this path, or a sampled one."""
        led = all(child in self.hits(row) for row, child in itertools.pairwise(path))
        return path[:1] == [0] and led and (sampled or not self.hits(path[-1]))

    def line(self, path: list[int], **columns: Any) -> Line:
        """The verify's accept, with that path."""
        child, sibling = [-1] * self.width, [-1] * self.width
        for row in range(self.width - 1, 0, -1):
            sibling[row], child[self.parents[row]] = child[self.parents[row]], row
        line: Line = {"seq": 0, "step": 1, "request": "a", "row": 1, "batch_index": 0, "block_start": 0}
        line |= {"layout": "tree", "sampling": "greedy", "width": self.width, "draft_tokens": self.tokens}
        line |= {"next_token": child, "next_sibling": sibling, "predict": self.chosen}
        line |= {"accept_index": path, "accept_len": len(path), "num_correct_drafts": len(path) - 1}
        return line | columns


def replayed(line: Line) -> ReplayedAccepts:
    columns = Columns(pa.Table.from_pylist([line], schema=SCHEMAS["accept"]))
    return ReplayedAccepts(VerifyBatch(columns, Process(label="p")), Kernels())


def modes(tree: Tree) -> list[Line]:
    return [{"target_predict": tree.chosen}, {}, {"sampling": "rejection"}]


@given(st.integers(0, 10**9))
@settings(max_examples=80)
def test_any_walk_of_the_target_is_right(seed: int) -> None:
    tree = Tree(random.Random(seed))
    for mode in modes(tree):
        accepts = replayed(tree.line(tree.path, **mode))
        assert not accepts.path_differs.any() and not accepts.tokens_differ.any()
        paths = ReplayedPaths(accepts.verifies, lambda accepts=accepts: accepts.recomputed)  # type: ignore[misc]
        assert paths.rows[0].tolist() == tree.path


@given(st.integers(0, 10**9))
@settings(max_examples=80)
def test_any_other_path_is_not(seed: int) -> None:
    rng = random.Random(seed)
    tree = Tree(rng)
    path = list(tree.path)
    path[rng.randrange(len(path)) :] = [rng.randrange(tree.width) for _ in range(rng.randint(0, 3))]
    path = path[: tree.width] or [0]
    for mode in modes(tree):
        accepts = replayed(tree.line(path, **mode))
        allowed = tree.allows(path, sampled="sampling" in mode)
        assert bool(accepts.path_differs[0]) is not allowed
        if not allowed:
            assert accepts.difference(0).what == "row"
