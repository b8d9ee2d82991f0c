"""ST-DRAFT: what the drafter reads, and what looks like a break of the law and is none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from speckv_debug.model.finding import Severity
from speckv_debug.replay import draft_fold
from speckv_debug.replay.compiling import compiled

Build = Callable[..., Any]
Line = dict[str, Any]
POOLS = [
    {"name": "full", "kind": "full", "slots": 960, "page_size": 1, "reserved_slots": 1},
    {"name": "draft", "kind": "draft", "slots": 960, "page_size": 1, "reserved_slots": 1, "allocated_by": "full"},
]  # fmt: skip
HEAD = {
    "pools": POOLS,
    "settings": {"algorithm": "EAGLE"},
    "tables": ["forward", "alloc", "table_write", "row_alloc"],
}


def forward(mode: str, start: int | None, slots: list[int], **more: Any) -> Line:
    line = {
        "event": "forward",
        "step": 1,
        "mode": mode,
        "pool": "draft",
        "request": "a",
        "row": 1,
        "epoch": 1,
    }
    line |= {"start": start, "slots": slots, "padded": False}
    return {name: value for name, value in (line | more).items() if value is not None}


def extend(start: int, *slots: int, **more: Any) -> Line:
    return forward("draft_extend", start, list(slots), **more)


def draft(position: int, *slots: int, **more: Any) -> Line:
    return forward("draft", None, list(slots), positions=[position] * len(slots), **more)


def begin(row: int = 1, epoch: int = 1) -> Line:
    return {"event": "row_alloc", "request": "a", "row": row, "epoch": epoch}


def grant(*slots: int, **more: Any) -> Line:
    return {"event": "alloc", "pool": "full", "slots": list(slots), "reason": "extend"} | more


def name(start: int, *slots: int, row: int = 1) -> Line:
    return {"event": "table_write", "row": row, "epoch": 1, "start": start, "slots": list(slots)}


SEAT = [begin(), grant(10, 11, 12, 13, 14, 15), name(0, 10, 11, 12, 13, 14, 15)]
PROMPT = [*SEAT, extend(0, 10, 11)]
"""A prompt of two tokens and room for four more."""


@pytest.mark.parametrize(
    ("lines", "wrong"),
    [
        ([*PROMPT, draft(2, 12), draft(3, 13), extend(2, 12, 13, 14), draft(4, 14)], ""),
        ([*SEAT, draft(2, 12)], "the draft reads positions [0, 2), 2 of them, from 0 on, have no draft KV"),
        ([*SEAT, extend(0, 10), draft(2, 12)], "the draft reads positions [0, 2), 1 of them, from 1 on, has"),
        ([*SEAT, extend(2, 12)], "the draft extend reads positions [0, 2), 2 of them, from 0 on"),
        ([*PROMPT, draft(2, 12), draft(3, 13), draft(4, 14)], ""),  # a round reads what it drafts
        (
            [*PROMPT, draft(2, 12), draft(3, 13), extend(4, 14)],
            "the draft extend reads positions [0, 4), 2 of them, from 2 on",
        ),
        ([*PROMPT, extend(2, 12, 13), grant(12), extend(4, 14)], "the draft extend reads positions [0, 4), 1 of them, from 2 on"),
        ([*PROMPT, begin(2), name(0, 10, 11, row=2), extend(2, 20, row=2)], ""),  # a prefix of the tree
        ([*PROMPT, begin(2), name(0, 14, 15, row=2), extend(2, 20, row=2)], "the draft extend reads positions [0, 2), 2"),
        ([*PROMPT, {"event": "transfer", "pool": "draft", "slots": [12, 13]}, extend(4, 14)], ""),
        ([*PROMPT, {"event": "move", "pool": "draft", "src": [10, 11], "tgt": [12, 13]}, extend(4, 14)], ""),
        ([*PROMPT, {"event": "move", "pool": "full", "src": [10, 11], "tgt": [12, 13]}, extend(4, 14)], "the draft extend"),
        ([*PROMPT, extend(4, 14, padded=True)], ""),
    ],
)  # fmt: skip
def test_coverage(judge: Build, lines: list[Line], wrong: str) -> None:
    result = judge("ST-DRAFT", *lines, **HEAD)
    found = [f.message for f in result.findings]
    assert len(found) == bool(wrong) and all(message.startswith(wrong) for message in found), found
    assert all(f.severity is Severity.WARNING for f in result.findings) and not result.unknown


def test_a_standalone_drafter_writes_its_own_kv_as_it_drafts(judge: Build) -> None:
    lines = [*PROMPT, draft(2, 12), draft(3, 13), extend(4, 14)]
    head = HEAD | {"settings": {"algorithm": "STANDALONE"}}
    assert not judge("ST-DRAFT", *lines, **head).findings


def test_a_drafter_with_a_window_reads_no_further_back(judge: Build) -> None:
    lines = [*SEAT, extend(2, 12, 13), extend(4, 14)]
    narrow = HEAD | {"settings": {"algorithm": "EAGLE", "draft_window": 2}}
    assert [f.first_seq for f in judge("ST-DRAFT", *lines, **HEAD).findings] == [3]
    assert [f.first_seq for f in judge("ST-DRAFT", *lines[:3], *lines[4:], **narrow).findings] == [3]
    assert not judge("ST-DRAFT", *SEAT, extend(0, 10, 11), extend(4, 14), **narrow | {"tables": []}).findings


@pytest.mark.parametrize(
    ("lines", "head", "why"),
    [
        ([*SEAT, extend(2, 12)], {"tables": ["forward", "alloc"]}, "what the draft pool holds there was not seen"),
        ([name(0, 10, 11), extend(2, 12)], {}, "what the draft pool holds there was not seen"),  # granted before
        ([*SEAT[:2], extend(2, 12)], {}, "what the draft pool holds there was not seen"),  # its row was not written
        (
            [*SEAT, {"event": "transfer", "pool": "full", "slots": [10, 11]}, extend(2, 12)],
            {},
            "what the draft pool holds there was not seen",
        ),
        ([*SEAT, begin(epoch=2), extend(2, 12)], {}, "what the draft pool holds there was not seen"),  # restored
        ([*SEAT, forward("draft_extend", None, [12])], {}, "the forward says no start and no positions"),
        ([*SEAT, name(1 << 26, 20), extend(2, 12)], {}, "the request rows are too many to follow"),
    ],
)  # fmt: skip
def test_what_can_t_be_judged(judge: Build, lines: list[Line], head: Line, why: str) -> None:
    result = judge("ST-DRAFT", *lines, **(HEAD | head))
    assert not result.findings and [each.why for each in result.unknown] == [why]


UNTOLD = [*PROMPT, draft(2, 12), draft(3, 13)]
"""A round of drafts; the draft extend behind its verify was not recorded."""


@pytest.mark.parametrize("forwards", [[], ["forward:target_verify"]])
def test_forwards_that_were_recorded_in_part(judge: Build, forwards: list[str]) -> None:
    tables = [*forwards, *HEAD["tables"][1:]]
    result = judge("ST-DRAFT", *UNTOLD, draft(4, 14), extend(4, 14), **(HEAD | {"tables": tables}))
    assert not result.findings
    assert [each.why for each in result.unknown] == ["what the draft pool holds there was not seen"]
    assert judge("ST-DRAFT", *UNTOLD, extend(4, 14), **HEAD).findings


def test_a_forward_that_does_not_say_its_pool_may_have_written_draft_kv(judge: Build) -> None:
    nameless = extend(2, 12, 13, pool=None)
    result = judge("ST-DRAFT", *UNTOLD, nameless, extend(4, 14), **HEAD)
    assert not result.findings and [each.instances for each in result.unknown] == [1]
    elsewhere = extend(2, 12, pool=None)  # position 3 is missing all the same
    assert judge("ST-DRAFT", *UNTOLD, elsewhere, extend(4, 14), **HEAD).findings


@pytest.mark.parametrize("algorithm", ["DFLASH", "DSPARK"])
def test_a_chain_drafter_s_context_is_written_beside_its_forwards(judge: Build, algorithm: str) -> None:
    head = HEAD | {"settings": {"algorithm": algorithm}}
    result = judge("ST-DRAFT", *SEAT, draft(2, 12, 13, 14), **head)
    assert not result.findings and [each.instances for each in result.unknown] == [1]
    assert judge("ST-DRAFT", *SEAT, draft(2, 12, 13, 14), **HEAD).findings


def test_a_chunked_prompt_keeps_its_row(judge: Build) -> None:
    assert not judge("ST-DRAFT", *PROMPT, begin(), extend(2, 12), **HEAD).unknown


def test_drafters_without_a_pool_are_no_instances(judge: Build) -> None:
    result = judge("ST-DRAFT", *SEAT, extend(2, 12), **(HEAD | {"pools": POOLS[:1]}))
    assert not result.checked["ST-DRAFT"] and not result.findings


def test_what_was_lost_may_have_written(judge: Build) -> None:
    lines = [line | {"seq": seq} for seq, line in enumerate([*SEAT, extend(2, 12)])]
    assert judge("ST-DRAFT", *lines, **HEAD).findings
    lines[-1]["seq"] += 1
    assert not judge("ST-DRAFT", *lines, **HEAD).findings


@pytest.mark.parametrize("seed", range(3))
def test_the_compiled_fold_is_the_plain_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count = 400
    events = np.stack(
        [draw.integers(0, 8, count), draw.integers(-1, 4, count), draw.integers(-1, 12, count)], axis=1
    )
    sizes = 2 * draw.integers(0, 3, count)
    ends = np.cumsum(sizes)
    reads, window = draw.integers(-1, 14, count), draw.integers(0, 2, count) * 3
    whole = np.stack((*events.T, ends - sizes, ends, reads, window), axis=1).astype(np.int64)
    slots = draw.integers(-1, 22, int(ends[-1]))

    def run(fold: Callable[..., None]) -> list[np.ndarray[Any, Any]]:
        table, state = np.full((4, 12), -1, np.int32), np.full(20, draft_fold.UNSEEN, np.int8)
        found = np.tile(np.array([-1, 0, 0], dtype=np.int64), (count, 1))
        fold(whole, slots, table, state, seed, found)
        return [table, state, found]

    plain, fast = run(draft_fold.fold), run(compiled(draft_fold.fold))
    assert all((one == other).all() for one, other in zip(plain, fast, strict=True))
    assert (plain[2][:, 1] > 0).any() and (plain[2][:, 2] > 0).any()
