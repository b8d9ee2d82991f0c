"""Recordings cut into random windows give what they give when they are judged whole, spoilt ones too."""

from __future__ import annotations

import io
import json
import lzma
import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.replay import ledger, windows, worthwhile

RECORDINGS = Path(__file__).parents[2] / "recordings"
OF_RULES = sorted(RECORDINGS.glob("rules/*/*.jsonl"))
REAL = ("eagle_k1_p64", "eagle_k4_p1", "ngram_b4_p1", "none_p64")
NUMBERS = ("row", "epoch", "step", "committed", "allocated", "accept_len", "seq_len", "new_allocated")
SEEDS = st.integers(0, 1 << 30)


@contextmanager
def cut(events: int, compiled: bool) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOWED_FROM", 0)
        patch.setattr(windows, "WINDOW", events)
        for module in (ledger, worthwhile):
            patch.setattr(module, "COMPILED_FROM", 0 if compiled else 1 << 60)
        yield


def judged(path: Path) -> CheckResult:
    raised: list[str] = []
    result = check(
        Recording.open(path), replay="off", on_error=lambda rule, e: raised.append(f"{rule}: {e!r}")
    )
    assert not raised
    return result


@cache
def lines_of(name: str) -> list[dict[str, Any]]:
    """The first events of a real recording."""
    with lzma.open(RECORDINGS / "real" / f"{name}.jsonl.xz") as file:
        return [json.loads(line) for _, line in zip(range(900), file, strict=False)]


def spoilt(lines: list[dict[str, Any]], draw: random.Random) -> list[dict[str, Any]]:
    """The same with some events lost, repeated, exchanged or changed, and no trace of it in `seq`."""
    heads = sum(line["event"] in ("recording", "process") for line in lines)
    lines = list(lines)
    for _ in range(draw.choice((0, 1, 1, 2, 4))):
        at, other = (draw.randrange(heads, len(lines)) for _ in range(2))
        known = [name for name in NUMBERS if type(lines[at].get(name)) is int]
        match draw.randrange(5):
            case 0:
                del lines[at]
            case 1:
                lines.insert(other, dict(lines[at]))
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3 if known:
                name = draw.choice(known)
                lines[at] = lines[at] | {name: max(0, lines[at][name] + draw.choice((-1, 1, 2)))}
            case 4 if known:
                lines[at] = {name: value for name, value in lines[at].items() if name != draw.choice(known)}
    for seq, line in enumerate(lines[heads:]):
        lines[heads + seq] = line | {"seq": seq}
    return lines


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
@example(seed=31044)  # an accept that stands twice, far apart: predictions too short for its batch
def test_spoilt_real_runs(seed: int) -> None:
    draw = random.Random(seed)
    lines = spoilt(lines_of(draw.choice(REAL)), draw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.speckv"
        import_jsonl(io.BytesIO("".join(json.dumps(line) + "\n" for line in lines).encode()), path)
        whole = judged(path)
        with cut(draw.choice((1, 20, 100, 300)), draw.random() < 0.5):
            assert judged(path) == whole


@pytest.mark.parametrize("source", OF_RULES[::4], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_examples_of_rules(source: Path, tmp_path: Path) -> None:
    import_jsonl(source, tmp_path / "x.speckv")
    draw = random.Random(source.parent.name)
    whole = judged(tmp_path / "x.speckv")
    with cut(draw.choice((1, 2, 4, 8)), draw.random() < 0.5):
        assert judged(tmp_path / "x.speckv") == whole
