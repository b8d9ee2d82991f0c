"""What is recomputed of an accept comes from its inputs alone, and is the path that a greedy target takes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.model.process import Process
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.recompute import Kernels
from speckv_debug.replay.recomputed_accepts import RecomputedAccepts
from speckv_debug.replay.verifies import VerifyBatch

Line = dict[str, Any]
OUTPUTS = ("accept_index", "accept_len", "num_correct_drafts", "predict", "new_seq_len", "bonus_token")
CASES = Path(__file__).parents[2] / "recordings" / "cases"


def some_verify(rng: random.Random, index: int) -> Line:
    """A random tree over few tokens, so that siblings repeat and predictions hit, and random choices of the target."""
    width = rng.randint(1, 7)
    child, sibling = [-1] * width, [-1] * width
    for row in range(1, width):
        parent = rng.randrange(row)
        sibling[row], child[parent] = child[parent], row
    line: Line = {"seq": index, "step": 1, "request": f"r{index}", "row": index + 1, "batch_index": index}
    line |= {"layout": "tree", "sampling": "greedy", "width": width, "seq_len": rng.randrange(99)}
    line |= {name: [rng.randrange(3) for _ in range(width)] for name in ("draft_tokens", "target_predict")}
    if rng.random() < 0.3:
        return line | {"layout": "chain"}
    return line | {"next_token": child, "next_sibling": sibling}


def walked(line: Line) -> tuple[list[int], list[int]]:
    """The rows that a greedy target accepts, and the token behind each, one request in plain Python."""
    path, tokens, chosen = [0], line["draft_tokens"], line["target_predict"]
    while True:
        if line["layout"] == "chain":
            below = [row for row in (path[-1] + 1,) if row < line["width"]]
        else:
            below, row = [], line["next_token"][path[-1]]
            while row >= 0:
                below, row = [*below, row], line["next_sibling"][row]
        hits = [row for row in below if tokens[row] == chosen[path[-1]]]
        if not hits:
            return path, [chosen[row] for row in path]
        path.append(hits[0])


def recomputed(lines: list[Line], chunk: int = 1000, **engine: Any) -> RecomputedAccepts:
    columns = Columns(pa.Table.from_pylist(lines, schema=SCHEMAS["accept"]))
    kernels = Kernels()
    kernels.chunk = chunk
    return RecomputedAccepts(VerifyBatch(columns, Process(label="p", settings=engine)), kernels)


def values(accepts: RecomputedAccepts) -> list[Any]:
    """All that is recomputed, as plain values."""
    path = [accepts.path.tuple(index) for index in range(len(accepts))]
    numbers = (accepts.exact, accepts.lens, accepts.bonus, accepts.new_seq_len, accepts.tokens)
    return [path, *(each.tolist() for each in numbers)]


@given(st.integers(0, 10**9), st.integers(1, 9))
@settings(max_examples=60)
def test_the_path_is_the_one_of_a_greedy_target(seed: int, chunk: int) -> None:
    rng = random.Random(seed)
    lines = [some_verify(rng, index) for index in range(rng.randint(1, 12))]
    accepts = recomputed(lines, chunk)
    due = [walked(line) for line in lines]
    assert [list(accepts.path[i]) for i in range(len(lines))] == [path for path, _ in due]
    assert accepts.tokens.tolist() == [token for _, tokens in due for token in tokens]
    assert accepts.bonus.tolist() == [tokens[-1] for _, tokens in due]
    assert accepts.lens.tolist() == [len(path) for path, _ in due]
    grown = zip(lines, due, strict=True)
    assert accepts.new_seq_len.tolist() == [line["seq_len"] + len(path) for line, (path, _) in grown]


@given(st.integers(0, 10**9))
@settings(max_examples=30)
def test_predict_stands_in_for_the_choice_that_was_not_recorded(seed: int) -> None:
    rng = random.Random(seed)
    lines = [some_verify(rng, index) for index in range(6)]
    told = [line | {"target_predict": None, "predict": line["target_predict"]} for line in lines]
    assert values(recomputed(told)) == values(recomputed(lines))
    assert recomputed(told).by_predict.all() and not recomputed(lines).by_predict.any()


@pytest.mark.parametrize("case", sorted(path.stem for path in CASES.glob("*.jsonl")))
def test_no_recorded_result_is_read(case: str, tmp_path: Path) -> None:
    import_jsonl(CASES / f"{case}.jsonl", tmp_path / "x.speckv")
    for process in Recording.open(tmp_path / "x.speckv").processes:
        lines = process.table("accept").to_pylist()
        blank = [line | dict.fromkeys(OUTPUTS) for line in lines]
        found = values(recomputed(lines, **process.info.settings))
        assert found == values(recomputed(blank, **process.info.settings))
        assert all(found[1]) and NULL not in found[2]


@pytest.mark.parametrize(
    ("changed", "engine", "why"),
    [
        ({"sampling": None}, {}, "no sampling mode"),
        ({"sampling": "lottery"}, {}, "an unknown sampling mode"),
        ({"sampling": "rejection"}, {}, "how many rows a sampled verify accepts can't be recomputed"),
        ({"sampling": "target_only"}, {}, "how many rows a sampled verify accepts can't be recomputed"),
        ({}, {"watermark": True}, "the engine may rewrite tokens (watermark, vocab_map)"),
        ({}, {"num_non_draft": 2}, "the kernels know one non-draft row a request"),
        ({"width": None, "draft_tokens": None}, {}, "no width"),
        ({"width": 0}, {}, "no width"),
        ({"draft_tokens": [1]}, {}, "no draft_tokens"),
        ({"next_token": None}, {}, "no tree links"),
        ({"target_predict": [5, 5, 5]}, {}, "neither target_predict nor predict"),
    ],
)
def test_what_is_missing_is_named(changed: Line, engine: dict[str, Any], why: str) -> None:
    line: Line = {"seq": 0, "request": "a", "row": 1, "layout": "tree", "sampling": "greedy", "width": 2}
    line |= {
        "draft_tokens": [1, 2],
        "target_predict": [2, 3],
        "next_token": [1, -1],
        "next_sibling": [-1, -1],
    }
    assert values(recomputed([line]))[0] == [(0, 1)]
    accepts = recomputed([line | changed], **engine)
    assert next(reason for reason, where in accepts.unknown.items() if where.any()) == why
    assert (accepts.lens.tolist(), accepts.bonus.tolist()) == ([NULL], [NULL])


def test_an_empty_recording() -> None:
    assert values(recomputed([])) == [[], [], [], [], [], []]
