"""Our accept kernels beside the real SGLang functions, on random inputs, on the CPU.

    python tests/engine/real_accept.py DIR [SHARE]

DIR is the folder that holds the package `sglang`, SHARE the part of all inputs to take (1). Prints one JSON object: for each function how many requests
went through both, and how many came out different; "only rounding" counts those left out because our own
result changes when it is computed in twice the precision.
"""

from __future__ import annotations

import inspect
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import building
from beside import find, some

from speckv_debug.kernels import accept
from speckv_debug.kernels.accepted import Accepted
from tests import accept_cases as cases

GARBAGE = -7
REJECTION = ("kernels.ops.speculative.reject_sampling", "srt.speculative.reject_sampling")
BUILD = "kernels.ops.speculative.dspark.dspark_verify_window"
counts: dict[str, Counter[str]] = {}


def buffers(bs: int, rows: int, width: int) -> tuple[Tensor, Tensor, Tensor]:
    """What `eagle_sample` lets the kernels write into, with garbage where they need not write."""
    predict, drafts = (torch.full((n,), GARBAGE, dtype=torch.int32) for n in (bs * rows, bs))
    return predict, torch.full((bs, width), -1, dtype=torch.int32), drafts


def links(bs: int, rows: int) -> Tensor:
    """`retrieve_index`."""
    return torch.arange(bs * rows).view(bs, rows)


def count(name: str, ours: Accepted, real: tuple[Tensor, ...], skip: Tensor | None = None) -> None:
    """Compare bit for bit what is defined: accept_index, draft counts, predict on accepted rows."""
    predict, index, drafts = real
    path = ours.accept_index
    bad = (path != index).any(1) | (ours.num_correct_drafts != drafts)
    rows = path.clamp(min=0)
    bad |= ((path >= 0) & (ours.predict[rows] != predict[rows])).any(1)
    tally(name, bad, skip)


def tally(name: str, bad: Tensor, skip: Tensor | None = None) -> None:
    """Add a batch to the counts."""
    skip = torch.zeros_like(bad) if skip is None else skip
    counts.setdefault(name, Counter()).update(
        {"requests": len(bad), "different": int((bad & ~skip).sum()), "only rounding": int(skip.sum())}
    )


def greedy() -> None:
    """`verify_tree_greedy_kernel_triton`."""
    real = find("verify_tree_greedy_func", "kernels.ops.speculative.spec_tree", "srt.speculative.eagle_utils")
    for seed, (rows, width, alphabet) in enumerate(
        ((1, 1, 2), (4, 3, 3), (6, 6, 2), (8, 5, 4), (12, 4, 6), (10, 5, 2))
    ):
        toss, bs = cases.seeded(seed), some(350)
        tree, chosen = cases.tree(toss, bs, rows, alphabet), cases.tokens(toss, bs, rows, alphabet)
        names = ("predicts", "accept_index", "accept_token_num")
        out = dict(zip(names, buffers(bs, rows, width), strict=True))
        linked = {"retrieve_next_token": tree.next_token, "retrieve_next_sibling": tree.next_sibling}
        returned = real(
            **out,
            candidates=tree.candidates,
            retrieve_index=links(bs, rows),
            **linked,
            target_predict=chosen,
        )
        count("verify_tree_greedy", accept.verify_tree_greedy(*tree, chosen, width), returned)


def chain_batches() -> Iterator[tuple[str, cases.Chain]]:
    """Exact batches, and batches whose sums are rounded."""
    for seed, (rows, vocab) in enumerate(((1, 5), (2, 3), (3, 12), (5, 8), (5, 12))):
        yield "exact", cases.chain(cases.seeded(seed), some(250), rows, vocab)
    for seed, (rows, vocab, sharpness) in enumerate(((4, 50, 1.0), (6, 300, 3.0), (5, 5000, 4.0))):
        yield "rounded", cases.rounded_chain(cases.seeded(seed), some(80), rows, vocab, sharpness)


class SmallTiles:
    """A kernel launched with tiles of 8 tokens, not 4096: the same sums, of which the interpreter makes less work."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    def __getitem__(self, grid: Any) -> Callable[..., None]:
        return lambda *args, **options: self._kernel[grid](*args, **options | {"BLOCK_V": 8})


@contextmanager
def small_tiles(real: Callable[..., None]) -> Iterator[None]:
    """Let `real` launch its kernel so; only where rounding plays no part, since tiles are summed one by one."""
    module: Any = sys.modules[real.__module__]
    kernel = module.speculative_sampling_classic_kernel
    module.speculative_sampling_classic_kernel = SmallTiles(kernel)
    yield
    module.speculative_sampling_classic_kernel = kernel


def chain() -> None:
    """`chain_speculative_sampling_triton`, classic, and by block where the release has it."""
    real = find("chain_speculative_sampling_triton", *REJECTION)
    by_block = "block_verification" in inspect.signature(real).parameters
    for kind, batch in chain_batches():
        modes: list[dict[str, bool]] = [{"block": False, "guard": by_block}]
        for mode in modes + [{"block": True}] * by_block:
            block = mode["block"]
            out = buffers(len(batch.candidates), batch.candidates.shape[1], batch.candidates.shape[1])
            with small_tiles(real) if kind == "exact" else nullcontext():
                _run_chain(real, batch, out, {"block_verification": True} if block else {})
            ours = accept.verify_chain_rejection(*batch, **mode)
            exact = cases.Chain(batch.candidates, *(t.double() for t in batch[1:]))
            again = accept.verify_chain_rejection(*exact, **mode)
            bs = len(batch.candidates)
            unsure = (ours.accept_index != again.accept_index).any(1)
            unsure |= (ours.predict != again.predict).view(bs, -1).any(1)
            name = f"chain_speculative_sampling, {'block' if block else 'classic'}, {kind}"
            count(name, ours, out, unsure if kind == "rounded" else None)


def _run_chain(real: Callable[..., None], batch: cases.Chain, out: Any, mode: dict[str, bool]) -> None:
    retrieve = links(*batch.candidates.shape)
    none = torch.full_like(retrieve, -1)
    coins = torch.cat((batch.coins, torch.rand(len(batch.coins), 1)), 1)  # as wide as the candidates
    probs = (batch.target_probs, batch.draft_probs)
    real(
        *out, batch.candidates, retrieve, none, none, coins, batch.final_coins, *probs, 1.0, 1.0, True, **mode
    )


def unguarded() -> None:
    """Draft probabilities that are none: 0, above 1, NaN, infinite, below 0.

    Block verification weighs them unguarded but draws guarded, and 0.5.15 can't draw from NaN: these two get fewer kinds.
    """
    real = find("chain_speculative_sampling_triton", *REJECTION)
    guard = "block_verification" in inspect.signature(real).parameters
    classic = [0.0, 2.0] + [float("nan"), float("inf"), -1.0] * guard
    modes: list[tuple[dict[str, bool], list[float]]] = [({}, classic)]
    for mode, values in modes + [({"block_verification": True}, [0.0])] * guard:
        toss, bs = cases.seeded(3), some(400)
        batch = cases.chain(toss, bs, 4, 8)
        odd = torch.tensor(values)[torch.randint(len(values), batch.draft_probs.shape, generator=toss)]
        hit = torch.rand(odd.shape, generator=toss) < 0.3
        batch = batch._replace(draft_probs=torch.where(hit, odd, batch.draft_probs))
        out = buffers(bs, 4, 4)
        with small_tiles(real):
            _run_chain(real, batch, out, mode)
        name = f"chain_speculative_sampling, {'block' if mode else 'classic'}, q out of range"
        count(name, accept.verify_chain_rejection(*batch, block=bool(mode), guard=guard), out)


def simulated() -> None:
    """`generate_simulated_accept_index`, and the fused kernel of 0.5.23."""
    real = find("generate_simulated_accept_index", "srt.speculative.spec_utils")
    fused = find("simulated_accept", "kernels.ops.speculative.simulated_accept")
    for seed in range(some(60)):
        toss = cases.seeded(seed)
        rows, width = 6, 5
        candidates, chosen = (cases.tokens(toss, 20, rows, 90) for _ in range(2))
        for mode in ("fixed", "real-draft-token"):
            for how in ("match-expected", "multinomial"):
                predict, index, drafts = buffers(20, rows, width)
                index[:, 0] = torch.arange(20) * rows
                mean = 1 + 4 * torch.rand((), generator=toss).item()
                options = {"simulate_acc_method": how, "simulate_acc_token_mode": mode}
                with OnCpu():
                    index = real(
                        index,
                        predict,
                        drafts,
                        candidates,
                        chosen,
                        20,
                        width - 1,
                        simulate_acc_len=mean,
                        **options,
                    )
                ours = accept.simulate_accept(
                    candidates, chosen, drafts + 1, width, real_tokens=mode != "fixed"
                )
                count(f"generate_simulated_accept_index, {mode}", ours, (predict, index, drafts))
                tally(
                    f"generate_simulated_accept_index, {mode}, whole predict",
                    torch.tensor([mode == "fixed" and not torch.equal(ours.predict, predict.long())]),
                )
            if fused:
                _fused(fused, candidates, chosen, seed % width + 1, mode)


def _fused(fused: Callable[..., Tensor], candidates: Tensor, chosen: Tensor, n: int, mode: str) -> None:
    predict, index, drafts = buffers(20, 6, 5)
    index[:, 0] = torch.arange(20) * 6
    real = mode != "fixed"
    tensors = {"candidate_tokens": candidates, "target_tokens": chosen, "predict_tokens": predict}
    index = fused(
        accept_indices=index,
        num_correct_drafts=drafts,
        width=5,
        num_accept_tokens=n,
        real_tokens=real,
        **tensors,
    )
    ours = accept.simulate_accept(candidates, chosen, torch.full((20,), n), 5, real_tokens=real)
    count(f"simulated_accept (fused), {mode}", ours, (predict, index, drafts))


class OnCpu(torch.overrides.TorchFunctionMode):
    """0.5.15 asks for a buffer on the device "cuda" by name."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if kwargs.get("device") == "cuda":
            kwargs["device"] = "cpu"
        return func(*args, **kwargs)


def chain_engines() -> None:
    """DFlash and DSpark: accept by length."""
    dflash = "kernels.ops.speculative.dflash"
    match = find("compute_dflash_correct_drafts_and_bonus", dflash, "srt.speculative.dflash_utils")
    for seed, (rows, alphabet) in enumerate(((1, 3), (2, 2), (5, 2), (8, 2), (16, 2))):
        toss, bs = cases.seeded(seed), some(250)
        candidates, chosen = (cases.tokens(toss, bs, rows, alphabet) for _ in range(2))
        prefix = torch.randint(100, (bs,), generator=toss)
        ours = accept.match_chain(candidates, chosen)
        correct, bonus = match(candidates=candidates, target_predict=chosen)
        tally("compute_dflash_correct_drafts_and_bonus", (ours.lens - 1 != correct) | (ours.bonus != bonus))
        accepted = accept.accept_from_lens(candidates, ours.bonus, ours.lens, rows)
        tree = (torch.arange(1, rows + 1).expand(bs, rows).clone(), torch.full((bs, rows), -1))
        tree[0][:, -1] = -1
        walked = accept.verify_tree_greedy(candidates, *tree, chosen, rows)
        count("verify_tree_greedy on a chain (ours)", accepted, walked)
        _dflash_kernels(candidates, chosen, prefix, accepted, ours)
        _dspark(toss, candidates, chosen, prefix)


def _tokens_differ(out_tokens: Tensor, accepted: Accepted, rows: int) -> Tensor:
    valid = torch.arange(rows) < accepted.accept_lens[:, None]
    return ((out_tokens != accepted.predict.view(-1, rows)) & valid).any(1)


def _dflash_kernels(
    candidates: Tensor, chosen: Tensor, prefix: Tensor, accepted: Accepted, ours: Any
) -> None:
    bs, rows = candidates.shape
    kernel = find(
        "_compute_dflash_accept_bonus_triton_unchecked",
        "kernels.ops.speculative.dflash",
        "srt.speculative.triton_ops.dflash",
    )
    if kernel:
        correct, commit = torch.empty(2, bs, dtype=torch.int32).unbind()
        bonus, new_lens = torch.empty(2, bs, dtype=torch.int64).unbind()
        tokens = torch.empty(bs, rows, dtype=torch.int64)
        kernel(candidates, chosen, correct, commit, bonus, tokens, prefix, new_lens)
        bad = (commit != ours.lens) | (bonus != ours.bonus) | _tokens_differ(tokens, accepted, rows)
        tally("dflash accept_bonus kernel", bad | (correct != accepted.num_correct_drafts))
    fused = find("_fused_correct_drafts_and_bonus_kernel", "kernels.ops.speculative.dflash")
    if fused:
        correct, bonus = torch.empty(bs, dtype=torch.int32), torch.empty(bs, dtype=torch.int64)
        width = 1 << max(rows - 2, 0).bit_length()
        fused[(bs,)](candidates, chosen, correct, bonus, rows, BLOCK=width)
        tally("dflash fused correct_drafts kernel", (correct + 1 != ours.lens) | (bonus != ours.bonus))
    commit_accept = find("_commit_accept", "srt.speculative.dflash_worker_v2")
    if commit_accept:
        tokens, commit = commit_accept(candidates, ours.lens - 1, ours.bonus)
        tally("dflash _commit_accept", (commit != ours.lens) | _tokens_differ(tokens, accepted, rows))


def _dspark(toss: torch.Generator, candidates: Tensor, chosen: Tensor, prefix: Tensor) -> None:
    bs, rows = candidates.shape
    place = "kernels.ops.speculative.dspark.dspark_accept"
    greedy_, build = find("accept_greedy_triton", place), find("BuildOutTokens", BUILD)
    if greedy_ is None:
        return
    verify_lens = torch.randint(1, rows + 1, (bs,), generator=toss)
    logits = torch.nn.functional.one_hot(chosen, 8).float().view(bs * rows, 8)
    cap = find("CapCorrectLen", place)
    cap.execute = cap.triton
    ours = accept.match_chain(candidates, chosen, verify_lens)
    correct, bonus, trimmed = greedy_(
        candidates=candidates,
        target_logits=logits,
        verify_num_draft_tokens=rows,
        cutoff_verify_lens=verify_lens,
    )
    final = find("FinalizeAcceptLens", place).triton(
        correct_len=correct, cap_trim_lens=trimmed, prefix_lens=prefix
    )
    bad = (final.commit_lens != ours.lens) | (bonus != ours.bonus) | (final.cap_trim_lens != ours.trimmed)
    tally("dspark accept_greedy_triton, capped", bad)
    if rows > 1:
        tokens = build.triton(
            draft_tokens=candidates[:, 1:].contiguous(),
            correct_len=correct,
            bonus=bonus,
            verify_num_draft_tokens=rows,
            gamma=rows - 1,
        )
        accepted = accept.accept_from_lens(candidates, ours.bonus, ours.lens, rows)
        tally("dspark build_out_tokens_triton", _tokens_differ(tokens, accepted, rows))


def compare() -> None:
    """All functions that the release has."""
    for part in (greedy, chain, unguarded, simulated, chain_engines):
        part()


def main() -> None:
    """Boot, compare, print."""
    building.boot(sys.argv[1], 1, "triton")
    compare()
    print(json.dumps(counts))


if __name__ == "__main__":
    main()
