"""The columns of `accept`, cut from the tensors of one target verify of a whole batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from speckv_debug.collectors.sglang.requests import Identity
from speckv_debug.collectors.staging import Derived, Staged, stage

Columns = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Sampled:
    """A batch's verify input and what `eagle_sample` made of it, staged; bs requests of `width` rows each."""

    requests: Sequence[Identity]
    width: int
    index_width: int
    topk: int | None
    lists: dict[str, Staged | None]
    accept_index: Staged
    accept_lens: Staged
    seq_lens: Staged
    retrieve_index: Staged | None
    sampling: str = "greedy"
    algorithm: str | None = None
    target_predict: Staged | None = None
    correct: Staged | None = None

    @classmethod
    def of(
        cls, verify_input: Any, batch: Any, triple: Any, table_slots: Staged | None, whose: Sequence[Identity]
    ) -> Sampled:
        """Stage what belongs to one call of `eagle_sample`.

        Args:
            verify_input: EagleVerifyInput or NgramVerifyInput; its tensors may be buffers of the worker.
            batch: The ScheduleBatch, as the worker sees it: `out_cache_loc` is that of the verify.
            triple: predict [bs*width], accept_lens [bs], accept_index [bs, index_width].
            table_slots: The rows' entries when out_cache_loc was built, [bs*width].
            whose: The requests, in the batch's order.
        """
        predict, accept_lens, accept_index = triple
        count, width = len(batch.seq_lens), int(verify_input.draft_token_num)
        topk = int(getattr(verify_input, "tree_topk", -1))
        return cls(
            requests=whose[:count],
            width=width,
            index_width=accept_index.numel() // count,
            topk=topk if topk > 0 else None,
            lists={
                "draft_tokens": stage(verify_input.draft_token),
                "positions": _staged(verify_input.positions),
                "next_token": _staged(verify_input.retrieve_next_token),
                "next_sibling": _staged(verify_input.retrieve_next_sibling),
                "predict": stage(predict),
                "out_cache_loc": stage(batch.out_cache_loc),
                "table_slots": table_slots,
            },
            accept_index=stage(accept_index),
            accept_lens=stage(accept_lens),
            seq_lens=stage(batch.seq_lens),
            retrieve_index=_staged(verify_input.retrieve_index),
        )


@dataclass(frozen=True, slots=True)
class Commit:
    """What the verify handed on: new lengths and bonus tokens, one a request; None where it did not return them."""

    new_seq_lens: Staged | None = None
    bonus: Any = None

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
            bonus = _LastAccepted(stage(following.accept_tokens), sampled)
        return cls(_staged(new_seq_lens), bonus)


class _LastAccepted:
    """NGRAM hands on all accepted tokens, [bs, index_width] flat; the last of each request is its next root."""

    def __init__(self, tokens: Staged, sampled: Sampled) -> None:
        self._tokens, self._sampled = tokens, sampled

    def item(self, index: int) -> Derived:
        width = self._sampled.index_width

        def last() -> int:
            length = int(self._sampled.accept_lens.resolve()[index])
            return int(self._tokens.resolve()[index * width + max(length, 1) - 1])

        return Derived(last, self._tokens.ready)


def verify_rows(sampled: Sampled, commit: Commit) -> Iterator[Columns]:
    """One row of `accept` a request."""
    width = sampled.width
    for index, identity in enumerate(sampled.requests):
        start, stop = index * width, (index + 1) * width
        first = index * sampled.index_width
        lists = {name: values and values.part(start, stop) for name, values in sampled.lists.items()}
        yield {
            **identity.columns(),
            "batch_index": index,
            "algorithm": sampled.algorithm,
            "layout": "chain" if sampled.topk == 1 else "tree",
            "sampling": sampled.sampling,
            "topk": sampled.topk,
            "width": width,
            "block_start": start if sampled.retrieve_index is None else sampled.retrieve_index.item(start),
            "seq_len": sampled.seq_lens.item(index),
            **lists,
            "target_predict": sampled.target_predict and sampled.target_predict.part(start, stop),
            "accept_index": sampled.accept_index.part(first, first + sampled.index_width),
            "accept_len": sampled.accept_lens.item(index),
            "num_correct_drafts": sampled.correct and sampled.correct.item(index),
            "new_seq_len": commit.new_seq_lens and commit.new_seq_lens.item(index),
            "bonus_token": commit.bonus and commit.bonus.item(index),
        }


def _staged(tensor: Any) -> Staged | None:
    return None if tensor is None else stage(tensor)
