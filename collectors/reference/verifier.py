"""One verify round on the device: target forward, accept, lengths, move, compaction."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from speckv_debug.collectors.reference.batch import Round, VerifyInput
from speckv_debug.collectors.reference.captured import StaticBuffer, captured_size
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.pool import fingerprint_rows
from speckv_debug.collectors.reference.target import Target
from speckv_debug.kernels.accept import verify_chain_rejection, verify_tree_greedy
from speckv_debug.kernels.compact import compact_accepted
from speckv_debug.kernels.locate import accepted_pairs, bonus_tokens


@dataclass(slots=True, kw_only=True)
class Accepted:
    """What the target accepted of a round.

    Attributes:
        target_predict: `[bs, w]` argmax on every row; None when sampling.
        predict: `[bs * w]` the target's choice on accepted rows, in tree order.
        index: `[bs, W]` flat rows.
        drafts: `[bs]` accepted drafts.
        lens: `[bs]` accepted rows.
    """

    target_predict: Tensor | None
    predict: Tensor
    index: Tensor
    drafts: Tensor
    lens: Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What the draft model and the host go on from.

    Attributes:
        tokens: `[bs, w]` output tokens, the accepted ones at the front.
        features: `[bs, w, hidden]` of the target, in the same order.
        lens: `[bs]` accepted rows.
    """

    tokens: Tensor
    features: Tensor
    lens: Tensor


class Verifier:
    """Runs the target over the draft trees of a round (SGLang `run_eagle_verify`)."""

    def __init__(
        self, config: EngineConfig, target: Target, observer: Observer, coins: torch.Generator
    ) -> None:
        """Verify with `target`."""
        self.config, self.target, self._observer, self._coins = config, target, observer, coins
        self.addresses = StaticBuffer(captured_size(config.max_running) * config.num_draft_tokens)
        self.lengths = StaticBuffer(captured_size(config.max_running))

    def verify(self, round_: Round, draft: VerifyInput) -> Verified:
        """Run one round; the requests' device state moves on by the accepted rows."""
        width = self.config.num_draft_tokens
        table_slots = self.target.table.window(round_.rows, round_.seq_lens, width)
        padded = self.locate(table_slots)
        features = self.target.verify(round_, draft, padded, self.prefixes(round_, len(padded)))
        out_cache_loc = padded[: round_.size]
        accepted = self.accept(round_, draft, self.target.model.logits(features))
        bonus, new_lens = self.bonus(accepted), self.advance(round_, accepted)
        self._publish(round_, new_lens, bonus)
        self._report(round_, draft, accepted, out_cache_loc, table_slots)
        tokens, hidden = accepted.predict, features.flatten(0, 1)
        if self.config.topk > 1:
            self.move(round_, accepted, out_cache_loc)
            tokens = self._compacted("predict", tokens, accepted)
            hidden = self._compacted("hidden_states", hidden, accepted)
        if self.target.states:
            self.target.states.settle(round_, accepted.index, accepted.lens)
        blocks = (-1, width)
        return Verified(
            tokens=tokens.view(blocks), features=hidden.view(*blocks, hidden.shape[-1]), lens=accepted.lens
        )

    def locate(self, table_slots: Tensor) -> Tensor:
        """`out_cache_loc` `[padded bs, w]` from what the rows hold `[bs, w]`, through the replay's buffer."""
        size, width = table_slots.shape
        if not self.config.captured:
            return table_slots
        return (
            self.addresses.refresh(table_slots.flatten(), captured_size(size) * width).view(-1, width).clone()
        )

    def prefixes(self, round_: Round, padded: int) -> Tensor:
        """`[padded bs]` lengths that attention reads in front of each window, through the replay's buffer."""
        if not self.config.captured:
            return round_.seq_lens
        return self.lengths.refresh(round_.seq_lens, padded).clone()

    def accept(self, round_: Round, draft: VerifyInput, logits: Tensor) -> Accepted:
        """Which rows the target accepts (SGLang `eagle_sample`); logits `[bs, w, vocab]`."""
        if draft.draft_probs is None:
            chosen = logits.argmax(-1)
            links = (draft.tokens, draft.next_token, draft.next_sibling)
            predict, index, drafts = verify_tree_greedy(*links, chosen, self.config.accept_width)
        else:
            chosen, shape = None, (round_.size, self.config.num_draft_tokens)
            probs = (logits / self.config.temperature).softmax(-1)
            coins = torch.rand(shape, generator=self._coins, dtype=torch.float64)
            predict, index, drafts = verify_chain_rejection(
                draft.tokens, probs, draft.draft_probs, coins[:, 1:], coins[:, 0]
            )
        return Accepted(target_predict=chosen, predict=predict, index=index, drafts=drafts, lens=drafts + 1)

    def bonus(self, accepted: Accepted) -> Tensor:
        """`[bs]` last output token of each request."""
        tokens = accepted.predict[accepted.index]
        return bonus_tokens(tokens.flatten(), accepted.lens, tokens.shape[1])

    def advance(self, round_: Round, accepted: Accepted) -> Tensor:
        """`[bs]` positions whose KV is valid after the round."""
        return round_.seq_lens + accepted.lens

    def move(self, round_: Round, accepted: Accepted, out_cache_loc: Tensor) -> None:
        """Bring the KV of accepted rows to the front of each window `[bs, w]`."""
        targets, sources = accepted_pairs(out_cache_loc, accepted.index, accepted.lens)
        self.target.pool.move(targets, sources, caller="accept", target_source="window")
        self.move_index(targets, sources)

    def move_index(self, targets: Tensor, sources: Tensor) -> None:
        """The indexer's keys go along with keys and values."""
        if self.target.index_pool:
            self.target.index_pool.move(targets, sources)

    def to_front(self, tensor: str, x: Tensor, accepted: Accepted) -> Tensor:
        """The compaction of the tensor of that name, `[bs * w, ...]`."""
        return compact_accepted(x, accepted.index, self.config.num_draft_tokens)

    def _compacted(self, tensor: str, x: Tensor, accepted: Accepted) -> Tensor:
        after = self.to_front(tensor, x, accepted)
        before, behind = (t.tolist() if t.dim() == 1 else fingerprint_rows(t) for t in (x, after))
        self._observer.emit("compact", tensor=tensor, before=before, after=behind)
        return after

    def _publish(self, round_: Round, new_lens: Tensor, bonus: Tensor) -> None:
        for request, length, token in zip(round_.requests, new_lens.tolist(), bonus.tolist(), strict=True):
            assert request.device is not None
            request.device.seq_len, request.device.bonus = length, token

    def _report(
        self,
        round_: Round,
        draft: VerifyInput,
        accepted: Accepted,
        out_cache_loc: Tensor,
        table_slots: Tensor,
    ) -> None:
        width, chosen = self.config.num_draft_tokens, accepted.target_predict
        links = self.config.drafting == "eagle"
        for i, request in enumerate(round_.requests):
            assert request.device is not None
            self._observer.emit(
                "accept",
                **request.identity,
                batch_index=i,
                algorithm=self.config.drafting,
                layout="tree" if self.config.topk > 1 else "chain",
                sampling=self.config.sampling,
                topk=self.config.topk,
                width=width,
                block_start=i * width,
                seq_len=int(round_.seq_lens[i]),
                draft_tokens=draft.tokens[i].tolist(),
                positions=draft.positions[i].tolist(),
                next_token=draft.next_token[i].tolist() if links else None,
                next_sibling=draft.next_sibling[i].tolist() if links else None,
                target_predict=None if chosen is None else chosen[i].tolist(),
                predict=accepted.predict[i * width : (i + 1) * width].tolist(),
                accept_index=accepted.index[i].tolist() if links else None,
                accept_len=int(accepted.lens[i]),
                num_correct_drafts=int(accepted.drafts[i]),
                out_cache_loc=out_cache_loc[i].tolist(),
                table_slots=table_slots[i].tolist(),
                new_seq_len=request.device.seq_len,
                bonus_token=request.device.bonus,
            )
