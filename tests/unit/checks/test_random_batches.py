"""Any batch that an engine would make keeps the laws; each way to spoil it breaks the law it should."""

from __future__ import annotations

import io
import json
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording

Line = dict[str, Any]
HERE = [rule for rule in RULES if rule.startswith(("ACC", "LOC", "MOV", "RPL"))]
SLOTS = 1000
PROCESS: Line = {
    "event": "process",
    "pools": [{"name": "full", "kind": "full", "slots": SLOTS, "page_size": 1, "reserved_slots": 1}],
    "settings": {"algorithm": "EAGLE", "row_width": 64},
    "tables": ["accept", "move", "compact"],
}


class Batch:
    """One verify of several requests: random trees, a random greedy path in each, moved and compacted as SGLang does."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.slots = self.rng.sample(range(1, SLOTS), 64)
        self.accepts: list[Line] = []
        self.paths: list[list[int]] = []
        for index in range(self.rng.randint(1, 4)):
            self._add(index)
        due = [
            (a["out_cache_loc"][row], a["out_cache_loc"][k])
            for a, path in self._each()
            for k, row in enumerate(path)
        ]
        padding = [(0, 0)] * self.rng.randint(0, 4)
        self.move: Line = {"event": "move", "step": 1, "pool": "full", "caller": "accept"}
        self.move |= {"src": [s for s, _ in due + padding], "tgt": [t for _, t in due + padding]}
        before = [token for accept in self.accepts for token in accept["predict"]]
        after = list(before)
        for accept, path in self._each():
            for k in range(len(accept["accept_index"])):
                if k < accept["width"]:
                    after[accept["block_start"] + k] = before[
                        accept["block_start"] + path[k] if k < len(path) else 0
                    ]
        self.compact: Line = {
            "event": "compact",
            "step": 1,
            "tensor": "predict",
            "before": before,
            "after": after,
        }

    def _each(self) -> list[tuple[Line, list[int]]]:
        return list(zip(self.accepts, self.paths, strict=True))

    def _add(self, index: int) -> None:
        rng, start = self.rng, sum(accept["width"] for accept in self.accepts)
        width = rng.randint(1, 8)
        parents = [-1] + [rng.randrange(row) for row in range(1, width)]
        child, sibling = links(parents)
        path = [0]
        while (below := [row for row in range(width) if parents[row] == path[-1]]) and rng.random() < 0.7:
            path.append(rng.choice(below))
        tokens = rng.sample(range(1, 500), width)
        predict = [0] * width
        for row, following in zip(path, [*path[1:], None], strict=True):
            predict[row] = rng.randint(500, 999) if following is None else tokens[following]
        loc = [self.slots.pop() for _ in range(width)]
        index_width = rng.randint(len(path), 9)
        line: Line = {"event": "accept", "step": 1, "request": f"r{index}", "row": index + 1, "epoch": 1}
        line |= {
            "batch_index": index,
            "algorithm": "eagle",
            "layout": "tree",
            "sampling": "greedy",
            "width": width,
        }
        line |= {"block_start": start, "seq_len": 7 * index, "draft_tokens": tokens, "predict": predict}
        line |= {"next_token": child, "next_sibling": sibling, "out_cache_loc": loc, "table_slots": list(loc)}
        line |= {"accept_index": [start + row for row in path] + [-1] * (index_width - len(path))}
        line |= {
            "accept_len": len(path),
            "num_correct_drafts": len(path) - 1,
            "bonus_token": predict[path[-1]],
            "new_seq_len": 7 * index + len(path),
        }
        self.accepts.append(line)
        self.paths.append(path)

    def judged(self) -> CheckResult:
        lines = [PROCESS, *self.accepts, self.move, self.compact]
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "x.speckv"
            import_jsonl(io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()), out)
            return check(Recording.open(out), only=HERE)


def links(parents: list[int]) -> tuple[list[int], list[int]]:
    """next_token and next_sibling of a tree."""
    child, sibling = [-1] * len(parents), [-1] * len(parents)
    for row in range(len(parents) - 1, 0, -1):
        sibling[row], child[parents[row]] = child[parents[row]], row
    return child, sibling


UNTOLD = {"MOV-MISSING", "RPL-SHADOW", "LOC-OWNED", "LOC-GROUP", "MOV-ALLPOOLS", "MOV-CONTENT"}
"""Nobody reads on, nothing says who holds the pages or where the prefix lies, what a pool consists of, and what was in it."""


@given(st.integers(0, 10**9))
@settings(max_examples=30)
def test_what_an_engine_does_keeps_every_law(seed: int) -> None:
    result = Batch(seed).judged()
    assert not result.findings
    assert {unknown.rule for unknown in result.unknown} <= UNTOLD


def _longer(batch: Batch, at: int) -> bool:
    batch.accepts[at]["accept_len"] += 1
    return True


def _hole(batch: Batch, at: int) -> bool:
    batch.accepts[at]["accept_index"][len(batch.paths[at]) - 1] = -1
    return True


def _outside(batch: Batch, at: int) -> bool:
    accept = batch.accepts[at]
    accept["accept_index"][len(batch.paths[at]) - 1] = accept["block_start"] + accept["width"]
    return True


def _skipped(batch: Batch, at: int) -> bool:
    accept, path = batch.accepts[at], batch.paths[at]
    if len(path) < 3:
        return False
    del accept["accept_index"][1]
    accept["accept_len"] -= 1
    accept["num_correct_drafts"] -= 1
    return True


def _bonus(batch: Batch, at: int) -> bool:
    batch.accepts[at]["bonus_token"] += 1
    return True


def _elsewhere(batch: Batch, at: int) -> bool:
    batch.accepts[at]["out_cache_loc"][-1] = batch.slots.pop()
    return True


def _shared(batch: Batch, at: int) -> bool:
    if at == 0:
        return False
    for column in ("out_cache_loc", "table_slots"):
        batch.accepts[at][column][-1] = batch.accepts[0][column][0]
    return True


def _wild(batch: Batch, at: int) -> bool:
    batch.accepts[at]["table_slots"][0] = batch.accepts[at]["out_cache_loc"][0] = SLOTS + 1
    return True


def _moving(batch: Batch) -> list[int]:
    return [k for k, (s, t) in enumerate(zip(batch.move["src"], batch.move["tgt"], strict=True)) if s != t]


def _swapped(batch: Batch, at: int) -> bool:
    batch.move["src"], batch.move["tgt"] = batch.move["tgt"], batch.move["src"]
    return bool(_moving(batch))


def _short(batch: Batch, at: int) -> bool:
    if not (moving := _moving(batch)):
        return False
    batch.move["src"][moving[-1]] = batch.move["tgt"][moving[-1]] = 0
    return True


def _reversed(batch: Batch, at: int) -> bool:
    tgt, src = batch.move["tgt"], batch.move["src"]
    batch.move["src"], batch.move["tgt"] = src[::-1], tgt[::-1]
    return bool(
        {s for s, t in zip(src, tgt, strict=True) if s != t}
        & {t for s, t in zip(src, tgt, strict=True) if s != t}
    )


def _uncompacted(batch: Batch, at: int) -> bool:
    batch.compact["after"] = batch.compact["before"]
    values = batch.compact["before"]
    blocks = [(values[a["block_start"] :], path) for a, path in batch._each()]
    return any(block[k] != block[row] for block, path in blocks for k, row in enumerate(path))


SPOILED: list[tuple[Callable[[Batch, int], bool], str]] = [
    (_longer, "ACC-COUNT"),
    (_hole, "ACC-COUNT"),
    (_outside, "ACC-BLOCK"),
    (_skipped, "ACC-CHAIN"),
    (_bonus, "ACC-SHIFT"),
    (_elsewhere, "LOC-ROW"),
    (_shared, "LOC-UNIQ"),
    (_wild, "LOC-RANGE"),
    (_swapped, "MOV-PAIR"),
    (_short, "MOV-PAIR"),
    (_reversed, "MOV-HAZARD"),
    (_uncompacted, "MOV-COMPACT"),
]


@pytest.mark.parametrize(("spoil", "rule"), SPOILED, ids=[spoil.__name__[1:] for spoil, _ in SPOILED])
def test_each_spoilt_batch_is_found(spoil: Callable[[Batch, int], bool], rule: str) -> None:
    spoilt = 0
    for seed in range(24):
        batch = Batch(seed)
        at = batch.rng.randrange(len(batch.accepts))
        if spoil(batch, at):
            spoilt += 1
            found = batch.judged().findings
            assert rule in {finding.rule for finding in found}, seed
            if rule[:3] in ("ACC", "LOC"):
                assert f"r{at}" in {finding.request for finding in found if finding.rule == rule}
    assert spoilt >= 2
