"""Random batches of verifies with their moves, compactions, rings and recurrent state, and what a plain model has due."""

from __future__ import annotations

import itertools
import random
from typing import Any

Line = dict[str, Any]
TABLES = ["accept", "move", "compact", "table_write", "row_free", "row_alloc", "state_clear", "state_commit"]


class Batches:
    """Verifies of random trees with random paths, and what is due of each, worked out request by request."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.lines: list[Line] = []
        self.moves: list[list[tuple[int, int]]] = []
        self.fronts: list[list[int]] = []
        self.rings: list[list[int]] = []
        self.steps: list[int] = []
        for step in range(1, 4):
            self._batch(step, self.rng.randint(1, 4))

    def _batch(self, step: int, size: int) -> None:
        before: list[int] = []
        free = self.rng.sample(range(16, 90_000), 64)
        for index in range(size):
            before += self._verify(step, index, len(before), free)
        self.lines.append(
            {"event": "compact", "step": step, "tensor": "x", "before": before, "after": before}
        )
        calls = {"pool": "full", "caller": "accept", "src": [16], "tgt": [17]}
        self.lines.append({"event": "move", "step": step} | calls)

    def _verify(self, step: int, index: int, block: int, free: list[int]) -> list[int]:
        draw = self.rng
        width = draw.randint(1, 8)
        path = [0, *sorted(draw.sample(range(1, width), draw.randint(0, width - 1)))]
        loc = [free.pop() for _ in range(width)]
        values, length, n = [draw.randint(1, 999) for _ in loc], draw.randint(0, 300), len(path)
        who: Line = {"step": step, "row": index + 1, "request": f"r{index}"}
        line: Line = {"event": "accept", "epoch": 1, "batch_index": index, "block_start": block} | who
        line |= {"layout": "tree", "sampling": "greedy", "width": width, "seq_len": length}
        line |= self._tree(width, path)
        line |= {"out_cache_loc": loc, "accept_index": [block + row for row in path] + [-1], "accept_len": n}
        self.lines.append(line)
        ring = {"ring_size": 16, "width": width, "seq_len": length, "accept_len": n, "ring_rows": []}
        self.lines.append({"event": "state_clear", "pool": "c"} | who | ring)
        self.lines.append({"event": "state_commit", "pool": "m", "step_index": 0} | who)
        self.moves.append([(loc[row], loc[k]) for k, row in enumerate(path)])
        self.fronts.append([values[row] for row in path])
        self.rings.append(sorted((length + d) % 16 for d in range(n, width)))
        self.steps.append(path[-1])
        return values

    def _tree(self, width: int, path: list[int]) -> Line:
        """A random draft tree and choices of the target that lead along `path` and end there."""
        parents = [-1] + [self.rng.randrange(row) for row in range(1, width)]
        for parent, row in itertools.pairwise(path):
            parents[row] = parent
        child, sibling = [-1] * width, [-1] * width
        for row in range(width - 1, 0, -1):
            sibling[row], child[parents[row]] = child[parents[row]], row
        tokens, chosen = self.rng.sample(range(1, 500), width), [999] * width
        for row, following in itertools.pairwise(path):
            chosen[row] = tokens[following]
        links = {"next_token": child, "next_sibling": sibling}
        return links | {"draft_tokens": tokens, "target_predict": chosen}
