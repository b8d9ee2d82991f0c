"""The draft model: grows a tree from the last accepted token, and follows what the target accepted."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from speckv_debug.collectors.reference.addressing import block_addresses, branch_addresses, causal
from speckv_debug.collectors.reference.batch import Chunk, Round, VerifyInput
from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.draft_tree import ancestors, link_tree
from speckv_debug.collectors.reference.model import Addresses, Transformer
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.pool import KVPool
from speckv_debug.collectors.reference.request import DraftInput, Request
from speckv_debug.collectors.reference.table import RequestTable
from speckv_debug.kernels.accept import draw
from speckv_debug.kernels.locate import branch_slots, branch_stride, tail_copies


class Drafter:
    """Drafts from features one position behind: its KV at position p holds token p + 1 (EAGLE)."""

    def __init__(
        self,
        config: EngineConfig,
        model: Transformer,
        pool: KVPool,
        table: RequestTable,
        observer: Observer,
        coins: torch.Generator,
    ) -> None:
        """Work on `pool`, which shares its slot ids with the target's."""
        self.config, self.model, self.pool, self.table = config, model, pool, table
        self._observer, self._coins = observer, coins

    def draft(self, round_: Round) -> VerifyInput:
        """Grow one draft per request."""
        if self.config.sampling == "rejection":
            return self._sampled_chain(round_)
        return self._greedy_tree(round_)

    def follow(self, round_: Round, tokens: Tensor, features: Tensor, accept_lens: Tensor) -> None:
        """Write draft KV for the accepted rows and keep what the next round starts from (draft extend).

        Args:
            round_: The verified requests.
            tokens: `[bs, w]` output tokens, accepted ones first; the rest is written too and never read.
            features: `[bs, w, hidden]` of the target, in the same order.
            accept_lens: `[bs]`.
        """
        size, width = tokens.shape
        positions = round_.seq_lens[:, None] + torch.arange(width)
        slots = self.table.window(round_.rows, round_.seq_lens, width)
        where = block_addresses(
            self.table, round_.rows, round_.seq_lens, positions, slots, causal(size, width)
        )
        if self.config.drafting == "dspark":
            where = _of_prefix(where, accept_lens)
        own = self.model.forward(self.model.embed(tokens, features), where, self.pool)
        last = own[torch.arange(size), accept_lens - 1]
        logits = self.model.logits(last)
        for i, request in enumerate(round_.requests):
            start = round_.starts[i]
            if self.config.drafting == "eagle":
                self._report("draft_extend", request, start, slots[i], tokens[i], positions[i], start + width)
            assert request.device is not None
            request.device.feature, request.device.logits = last[i], logits[i]

    def prefill(self, chunk: Chunk, following: list[int], features: Tensor) -> DraftInput:
        """Write draft KV for a chunk of the prompt.

        Args:
            chunk: The positions.
            following: The token behind each position.
            features: `[1, n, hidden]` of the target.
        """
        request, start, end = chunk.request, chunk.start, chunk.end
        row = torch.tensor([request.row])
        begin, size = torch.tensor([start]), end - start
        slots = self.table.window(row, begin, size)
        positions, tokens = torch.arange(start, end)[None], torch.tensor([following])
        where = block_addresses(self.table, row, begin, positions, slots, causal(1, size))
        own = self.model.forward(self.model.embed(tokens, features), where, self.pool)
        self._report("draft_extend", request, start, slots[0], tokens[0], positions[0], end)
        last = own[0, -1]
        return DraftInput(seq_len=end, bonus=following[-1], feature=last, logits=self.model.logits(last))

    def _greedy_tree(self, round_: Round) -> VerifyInput:
        topk, steps = self.config.topk, self.config.num_steps
        branches, stride = self._branches(round_)
        level = torch.stack([each.logits for each in round_.inputs]).softmax(-1).topk(topk)
        best, tokens = level.values, level.indices
        features = torch.stack([each.feature for each in round_.inputs])[:, None].expand(-1, topk, -1)
        scores, candidates = [best], [tokens]
        parents = [torch.full((round_.size, topk), -1)]
        names = torch.arange(topk).expand(round_.size, -1)
        for step in range(steps - 1):
            features = self._step(round_, step, tokens, features, branches, stride)
            below = self.model.logits(features).softmax(-1).topk(topk)
            score = (best[:, :, None] * below.values).flatten(1)
            scores.append(score)
            candidates.append(below.indices.flatten(1))
            parents.append(names.repeat_interleave(topk, dim=1))
            best, at = score.topk(topk)
            names = topk + step * topk**2 + at
            tokens = candidates[-1].gather(1, at)
            features = features.gather(1, (at // topk)[:, :, None].expand(-1, -1, features.shape[-1]))
        return self._linked(round_, torch.cat(scores, 1), torch.cat(candidates, 1), torch.cat(parents, 1))

    def _linked(self, round_: Round, scores: Tensor, candidates: Tensor, parents: Tensor) -> VerifyInput:
        width = self.config.num_draft_tokens
        trees = [
            link_tree(score, parent, width)
            for score, parent in zip(scores.tolist(), parents.tolist(), strict=True)
        ]
        chosen = candidates.gather(1, torch.tensor([tree.chosen for tree in trees]))
        return VerifyInput(
            tokens=torch.cat((self._roots(round_), chosen), 1),
            positions=round_.seq_lens[:, None] + torch.tensor([tree.depths for tree in trees]),
            next_token=torch.tensor([tree.next_token for tree in trees]),
            next_sibling=torch.tensor([tree.next_sibling for tree in trees]),
            sees=torch.tensor([ancestors(tree.parents) for tree in trees]),
            draft_probs=None,
        )

    def _sampled_chain(self, round_: Round) -> VerifyInput:
        steps, size = self.config.num_steps, round_.size
        branches, stride = self._branches(round_)
        probs = [self._tempered(torch.stack([each.logits for each in round_.inputs]))]
        tokens = [draw(probs[0], self._toss(size))]
        features = torch.stack([each.feature for each in round_.inputs])[:, None]
        for step in range(steps - 1):
            features = self._step(round_, step, tokens[-1][:, None], features, branches, stride)
            probs.append(self._tempered(self.model.logits(features[:, 0])))
            tokens.append(draw(probs[-1], self._toss(size)))
        after = torch.arange(1, steps + 2)
        after[-1] = -1
        return VerifyInput(
            tokens=torch.cat((self._roots(round_), torch.stack(tokens, 1)), 1),
            positions=round_.seq_lens[:, None] + torch.arange(steps + 1),
            next_token=after.expand(size, -1),
            next_sibling=torch.full((size, steps + 1), -1),
            sees=causal(size, steps + 1),
            draft_probs=torch.stack(probs, 1),
        )

    def _roots(self, round_: Round) -> Tensor:
        return torch.tensor([[each.bonus] for each in round_.inputs])

    def _branches(self, round_: Round) -> tuple[Tensor, Tensor]:
        """Slots `[bs, topk, steps]` of the branches; copies of the prefix's last page are made."""
        config = self.config
        shape = {"topk": config.topk, "steps": config.num_steps}
        stride = branch_stride(round_.seq_lens, page_size=config.page_size, **shape)
        memory, width = self.table.memory, self.table.width
        if stride.any():
            lengths = zip(round_.rows.tolist(), round_.seq_lens.tolist(), stride.tolist(), strict=True)
            copies = [
                tail_copies(memory, width, *at, topk=config.topk, page_size=config.page_size)
                for at in lengths
            ]
            targets, sources = (torch.cat(part) for part in zip(*copies, strict=True))
            if len(targets):
                self.pool.move(targets, sources, caller="draft_tail", target_source="table")
        return branch_slots(memory, width, round_.rows, round_.seq_lens, stride, **shape), stride

    def _step(
        self, round_: Round, step: int, tokens: Tensor, features: Tensor, branches: Tensor, stride: Tensor
    ) -> Tensor:
        """One forward of all branches; tokens `[bs, topk]`, features `[bs, topk, hidden]` in and out."""
        size, topk = tokens.shape
        where = branch_addresses(self.table, round_, branches, step, stride, self.config.page_size)
        x = self.model.embed(tokens.reshape(-1, 1), features.reshape(size * topk, 1, -1))
        own = self.model.forward(x, where, self.pool).view(size, topk, -1)
        for i, request in enumerate(round_.requests):
            at = round_.starts[i] + step
            positions = torch.full((topk,), at)
            self._report("draft", request, at, branches[i, :, step], tokens[i], positions, at + 1)
        return own

    def _tempered(self, logits: Tensor) -> Tensor:
        return (logits / self.config.temperature).softmax(-1)

    def _toss(self, count: int) -> Tensor:
        return torch.rand(count, generator=self._coins, dtype=torch.float64)

    def _report(
        self,
        mode: str,
        request: Request,
        start: int,
        slots: Tensor,
        tokens: Tensor,
        positions: Tensor,
        read_len: int,
    ) -> None:
        self._observer.emit(
            "forward",
            mode=mode,
            pool=self.pool.name,
            start=start,
            slots=slots.tolist(),
            tokens=tokens.tolist(),
            positions=positions.tolist(),
            read_len=read_len,
            padded=False,
            **request.identity,
        )


def _of_prefix(where: Addresses, accept_lens: Tensor) -> Addresses:
    """The same with rejected rows written to the padding: only a valid prefix is committed (SGLang
    `set_kv_buffer_prefix_valid`).
    """
    valid = torch.arange(where.slots.shape[1]) < accept_lens[:, None]
    return replace(where, slots=torch.where(valid, where.slots, 0))
