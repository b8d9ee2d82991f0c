"""The columns of `accept`: the tensors of one target verify of a whole batch, each staged once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from speckv_debug.collectors.sglang.requests import Batch, Identity
from speckv_debug.collectors.staging import Derived, Later, Staged, stage, stage_settled
from speckv_debug.recording.blocks import Cut, Each

Columns = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Sampled:
    """A batch's verify input and what `eagle_sample` made of it; bs requests of `width` rows each.

    The tensors are held, not copied: nobody writes to them before the verify returns, and only then are they staged.

    Attributes:
        lists: Column → tensor [bs * width], or None; `target_predict` only where it is recorded.
        accept_index: [bs, index_width].
        table_slots: The rows' entries when out_cache_loc was built, [bs * width], already staged.
        correct: Accepted drafts, [bs].
    """

    requests: Batch
    width: int
    index_width: int
    topk: int | None
    lists: dict[str, Any]
    accept_index: Any
    accept_lens: Any
    seq_lens: Any
    retrieve_index: Any
    out_cache_loc: Any
    table_slots: Staged | None = None
    sampling: str = "greedy"
    algorithm: str | None = None
    correct: Any = None

    @classmethod
    def of(
        cls, verify_input: Any, batch: Any, triple: Any, table_slots: Staged | None, whose: Sequence[Identity]
    ) -> Sampled:
        """Hold what belongs to one call of `eagle_sample`.

        Args:
            verify_input: EagleVerifyInput or NgramVerifyInput.
            batch: The ScheduleBatch, as the worker sees it: `out_cache_loc` is that of the verify.
            triple: predict [bs*width], accept_lens [bs], accept_index [bs, index_width].
            table_slots: The rows' entries when out_cache_loc was built, [bs*width].
            whose: The requests, in the batch's order.
        """
        predict, accept_lens, accept_index = triple
        count, topk = len(batch.seq_lens), int(getattr(verify_input, "tree_topk", -1))
        return cls(
            requests=Batch.of(whose).first(count),
            width=int(verify_input.draft_token_num),
            index_width=accept_index.numel() // count,
            topk=topk if topk > 0 else None,
            lists={
                "draft_tokens": verify_input.draft_token,
                "positions": verify_input.positions,
                "next_token": verify_input.retrieve_next_token,
                "next_sibling": verify_input.retrieve_next_sibling,
                "predict": predict,
            },
            accept_index=accept_index,
            accept_lens=accept_lens,
            seq_lens=batch.seq_lens,
            retrieve_index=verify_input.retrieve_index,
            out_cache_loc=batch.out_cache_loc,
            table_slots=table_slots,
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """What the verify handed on: new lengths and bonus tokens, one a request; None where it did not return them."""

    new_seq_lens: Staged | None = None
    bonus: Later | None = None

    @classmethod
    def of(cls, result: Any, sampled: Sampled) -> Commit:
        """From a GenerationBatchResult; None where there is none."""
        if result is None:
            return cls()
        following: Any = getattr(result, "next_draft_input", None)
        new_seq_lens = getattr(result, "new_seq_lens", None)
        if new_seq_lens is None:
            new_seq_lens = getattr(following, "new_seq_lens", None)
        bonus: Any = _staged(getattr(following, "bonus_tokens", None))
        if bonus is None and getattr(following, "accept_tokens", None) is not None:
            bonus = _last_accepted(stage(following.accept_tokens, settled=True), sampled)
        return cls(_staged(new_seq_lens), bonus)


def _last_accepted(tokens: Staged, sampled: Sampled) -> Derived:
    """NGRAM hands on all accepted tokens, [bs, index_width] flat; the last of each request is its next root."""
    lens, width = stage(sampled.accept_lens, settled=True), sampled.index_width

    def last() -> Any:
        counts = lens.resolve().astype(int)
        return tokens.resolve()[[i * width + max(n, 1) - 1 for i, n in enumerate(counts.tolist())]]

    return Derived(last, lambda: tokens.ready() and lens.ready())


def verify_rows(sampled: Sampled, commit: Commit) -> Columns:
    """The columns of `accept`, one row a request; stages what `sampled` holds.

    What the verify runs under is a value for all rows; the rest is on its way from the device.
    """
    width, who, lists = sampled.width, sampled.requests, sampled.lists
    count = len(who)
    tokens, at, after, beside, chosen, predict, index, lens, before, correct, slots, blocks = stage_settled(
        (
            lists["draft_tokens"],
            lists["positions"],
            lists["next_token"],
            lists["next_sibling"],
            lists.get("target_predict"),
            lists["predict"],
            sampled.accept_index,
            sampled.accept_lens,
            sampled.seq_lens,
            sampled.correct,
            sampled.out_cache_loc,
            sampled.retrieve_index,
        )
    )
    return {
        "request": Each(who.requests),
        "row": Each(who.rows),
        "epoch": Each(who.epochs),
        "batch_index": _numbers(count, 1),
        "algorithm": sampled.algorithm,
        "layout": "chain" if sampled.topk == 1 else "tree",
        "sampling": sampled.sampling,
        "topk": sampled.topk,
        "width": width,
        "block_start": _numbers(count, width) if blocks is None else _every(blocks, count, width),
        "seq_len": _one_each(before, count),
        "draft_tokens": tokens and Cut(tokens, width),
        "positions": at and Cut(at, width),
        "next_token": after and Cut(after, width),
        "next_sibling": beside and Cut(beside, width),
        "target_predict": chosen and Cut(chosen, width),
        "predict": predict and Cut(predict, width),
        "accept_index": index and Cut(index, sampled.index_width),
        "accept_len": _one_each(lens, count),
        "num_correct_drafts": _one_each(correct, count),
        "out_cache_loc": slots and Cut(slots, width),
        "table_slots": sampled.table_slots and Cut(sampled.table_slots, width),
        "new_seq_len": _one_each(commit.new_seq_lens, count),
        "bonus_token": _one_each(commit.bonus, count),
    }


@cache
def _numbers(count: int, distance: int) -> Each:
    """0, `distance`, 2 `distance`, …: the same object each time, which the writer converts once."""
    return Each(list(range(0, count * distance, distance)))


def _every(values: Staged, count: int, width: int) -> Each:
    """The first of each request's `width` values."""
    return Each(Derived(lambda: values.resolve()[: count * width : width], values.ready))


def _one_each(values: Any, count: int) -> Each | None:
    """The first `count` of values that are there later."""
    if values is None:
        return None
    if getattr(values, "count", None) == count:
        return Each(values)
    return Each(Derived(lambda: values.resolve()[:count], values.ready))


def _staged(tensor: Any) -> Staged | None:
    return None if tensor is None else stage(tensor, settled=True)
