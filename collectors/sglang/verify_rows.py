"""The columns of `accept`: the tensors of one target verify of a whole batch, each staged once.

The engine's thread only stages them; the recorder's makes the columns, once they have arrived.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import compress
from typing import Any

import numpy as np

from speckv_debug.collectors.loads import stacked
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.staging import Load, Staged, stage_group
from speckv_debug.recording.blocks import Cut, Each

Columns = dict[str, Any]
FLAT = (
    "draft_tokens",
    "positions",
    "next_token",
    "next_sibling",
    "predict",
    "out_cache_loc",
    "target_predict",
)
"""Columns of [requests * width] values."""
SINGLE = ("accept_len", "seq_len", "num_correct_drafts", "new_seq_len")
"""Columns of one value a request."""
Shape = tuple[int, int, int]
"""Rows of each request, entries of its accepted path, branches of its tree (-1 without a number)."""
STAGED = (*FLAT, *SINGLE, "accept_index", "block_start", "bonus", "accepted")
"""The order in which the tensors of a verify are staged."""


@dataclass(slots=True)
class Sampled:
    """A batch's verify input and what `eagle_sample` made of it; bs requests of `width` rows each.

    The tensors are held, not copied: nobody writes to them before the verify returns, and only then are they staged.

    Attributes:
        verify_input: EagleVerifyInput or NgramVerifyInput.
        triple: predict [bs*width], accept_lens [bs], accept_index [bs, index_width].
        seq_lens: [bs], before the verify.
        out_cache_loc: [bs*width], the window that the verify writes.
        table_slots: The rows' entries when `out_cache_loc` was built, [bs*width], already staged.
        requests: In the batch's order.
        sampling: How was accepted.
        target_predict: [bs*width], where it is recorded.
        correct: Accepted drafts, [bs].
    """

    verify_input: Any
    triple: tuple[Any, Any, Any]
    seq_lens: Any
    out_cache_loc: Any
    table_slots: Staged | None
    requests: Batch
    sampling: str = "greedy"
    target_predict: Any = None
    correct: Any = None

    def stage(self, result: Any) -> tuple[Load, range, list[bool], Shape]:
        """Stage all tensors that there are: what they leave with, their places in it, which of `STAGED` they are, and the shape.

        Args:
            result: GenerationBatchResult of the verify, with new lengths and bonus tokens; None where there is none.
        """
        given, (predict, accept_lens, accept_index) = self.verify_input, self.triple
        lengths, bonus, accepted = (None, None, None) if result is None else _handed_on(result)
        tensors = (
            given.draft_token,
            given.positions,
            given.retrieve_next_token,
            given.retrieve_next_sibling,
            predict,
            self.out_cache_loc,
            self.target_predict,
            accept_lens,
            self.seq_lens,
            self.correct,
            lengths,
            accept_index,
            given.retrieve_index,
            bonus,
            accepted,
        )
        there = [each is not None for each in tensors]
        index_width = accept_index.numel() // len(self.requests.requests)
        shape = (int(given.draft_token_num), index_width, int(getattr(given, "tree_topk", -1)))
        return *stage_group("verify", list(compress(tensors, there))), there, shape


def _handed_on(result: Any) -> tuple[Any, Any, Any]:
    """New lengths [bs], bonus tokens [bs], and in their place all accepted tokens [bs * index_width] (NGRAM)."""
    following: Any = getattr(result, "next_draft_input", None)
    lengths = getattr(result, "new_seq_lens", None)
    if lengths is None:
        lengths = getattr(following, "new_seq_lens", None)
    bonus = getattr(following, "bonus_tokens", None)
    return lengths, bonus, getattr(following, "accept_tokens", None) if bonus is None else None


class _AcceptColumns:
    """The columns of `accept`, one row a request, once the tensors have arrived."""

    def __call__(
        self,
        load: Load,
        places: range,
        there: list[bool],
        table_slots: Staged | None,
        requests: Batch,
        shape: Shape,
        algorithm: str | None,
        sampling: str,
    ) -> Columns:
        """Those of one verify."""
        named = zip(compress(STAGED, there), places, strict=True)
        values = {name: load.values(place)[None] for name, place in named}
        slots = None if table_slots is None else table_slots.resolve()[None]
        whole = _arrived(values, slots, len(requests), shape)
        return {**_settled(requests, shape, algorithm, sampling, values), **whole}

    @staticmethod
    def together(given: Sequence[tuple[Any, ...]]) -> tuple[Columns, list[Columns]] | None:
        """Those of all rows of many verifies, and the others of each; None if the verifies are not alike."""
        _, _, there, slots, requests, shape, *_ = given[0]
        alike = (there, slots is None, len(requests), shape)
        if any(alike != (t, s is None, len(r), h) for _, _, t, s, r, h, *_ in given):
            return None
        stacks = stacked([(load, places) for load, places, *_ in given])
        if stacks is None:
            return None
        values = dict(zip(compress(STAGED, there), stacks, strict=True))
        if slots is not None:
            slots = np.stack([each[3].resolve() for each in given])
        rest = [_settled(r, h, algorithm, sampling, values) for *_, r, h, algorithm, sampling in given]
        return _arrived(values, slots, len(requests), shape), rest


accept_columns = _AcceptColumns()


def _settled(requests: Batch, shape: Shape, algorithm: str | None, sampling: str, values: Columns) -> Columns:
    """What is known without the device: it is a value for all rows, or a list that verifies share."""
    (width, _, topk), count = shape, len(requests)
    return {
        "request": Each(requests.requests),
        "row": Each(requests.rows),
        "epoch": Each(requests.epochs),
        "batch_index": _numbers(count, 1),
        "algorithm": algorithm,
        "layout": "chain" if topk == 1 else "tree",
        "sampling": sampling,
        "topk": topk if topk > 0 else None,
        "width": width,
        **({} if "block_start" in values else {"block_start": _numbers(count, width)}),
    }


def _arrived(values: Columns, slots: Any, count: int, shape: Shape) -> Columns:
    """What came from the device.

    Args:
        values: Of each of `STAGED` that there is, [verifies, values].
        slots: The rows' entries, [verifies, count * width], None where they are not recorded.
        count: Requests.
        shape: Rows of each request, entries of its accepted path, branches.
    """
    width, index_width, _ = shape
    flat = {name: values[name][:, : count * width].reshape(-1) for name in FLAT if name in values}
    if slots is not None:
        flat["table_slots"] = slots[:, : count * width].reshape(-1)
    single = {name: values[name][:, :count].reshape(-1) for name in SINGLE if name in values}
    if "block_start" in values:
        single["block_start"] = values["block_start"][:, : count * width : width].reshape(-1)
    if "bonus" in values:
        single["bonus_token"] = values["bonus"][:, :count].reshape(-1)
    elif "accepted" in values:
        both = zip(values["accepted"], values["accept_len"], strict=True)
        last = [_last_accepted(tokens, lens[:count], index_width) for tokens, lens in both]
        single["bonus_token"] = np.concatenate(last)
    index = values["accept_index"][:, : count * index_width].reshape(-1)
    return {
        **{name: Cut(each, width) for name, each in flat.items()},
        **{name: Each(each) for name, each in single.items()},
        "accept_index": Cut(index, index_width),
    }


def _last_accepted(tokens: Any, lens: Any, width: int) -> Any:
    """NGRAM hands on all accepted tokens; the last of each request is its next root."""
    return tokens[np.arange(len(lens)) * width + np.maximum(lens.astype(np.int64), 1) - 1]


@cache
def _numbers(count: int, distance: int) -> Each:
    """0, `distance`, 2 `distance`, …: the same object each time, which the writer converts once."""
    return Each(list(range(0, count * distance, distance)))
