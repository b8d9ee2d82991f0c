"""Recordings out of a few lines, for the rules to judge."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording

settings.register_profile("unit", deadline=None)  # a shared machine's pauses are no failures
settings.load_profile("unit")

Line = dict[str, Any]

PROCESS: Line = {
    "event": "process",
    "engine": "sglang",
    "engine_version": "0.5.23",
    "pools": [{"name": "full", "kind": "full", "slots": 1000, "page_size": 1, "reserved_slots": 1}],
    "settings": {"algorithm": "EAGLE", "topk": 2, "num_steps": 2, "num_draft_tokens": 4, "row_width": 128},
    "tables": ["accept", "move", "compact", "forward", "alloc", "free", "table_write", "cache", "row_free"],
}
"""An engine that records what the families here look at."""


@pytest.fixture
def record(tmp_path: Path) -> Callable[..., Recording]:
    """`record(line, …, head={…})`: a recording of one process; `head` overrides what the process says of itself."""

    def build(*lines: Line, head: Line | None = None) -> Recording:
        text = "".join(json.dumps(line) + "\n" for line in (PROCESS | (head or {}), *lines))
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.speckv"
        import_jsonl(io.BytesIO(text.encode()), out)
        return Recording.open(out)

    return build


@pytest.fixture
def verify() -> Callable[..., Line]:
    """`verify(column=value, …)`: the smallest example's verify: rows R A B C, path R A C, slots 100 to 103."""

    def build(**columns: Any) -> Line:
        line: Line = {"event": "accept", "step": 1, "request": "a", "row": 1, "epoch": 1, "batch_index": 0}
        line |= {"algorithm": "eagle", "layout": "tree", "sampling": "greedy", "width": 4, "block_start": 0}
        line |= {
            "seq_len": 10,
            "new_seq_len": 13,
            "bonus_token": 31,
            "accept_len": 3,
            "num_correct_drafts": 2,
        }
        line |= {"draft_tokens": [11, 21, 22, 23], "predict": [21, 23, 0, 31], "accept_index": [0, 1, 3]}
        line |= {"next_token": [1, 3, -1, -1], "next_sibling": [-1, 2, -1, -1]}
        line |= {"out_cache_loc": [100, 101, 102, 103], "table_slots": [100, 101, 102, 103]}
        return {name: value for name, value in (line | columns).items() if value is not None}

    return build
