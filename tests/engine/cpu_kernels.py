"""A stand-in for `sgl_kernel`: attention in plain torch over the real KV buffers, and nothing else.

KV bookkeeping is never stood in for. Its `*_cpu` names can be imported and raise when called; the platform
flags of the modules that would call them are turned, so that SGLang's own Triton kernels run, interpreted.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.machinery
import importlib.util
import sys
import types
from typing import ClassVar

import torch
import tree_kernels

PARTS = ("speculative", "kvcacheio", "utils", "mamba", "flash_attn", "elementwise", "quantization")
TRITON_FLAGS = (
    ("sglang.kernels.ops.kvcache.cache_move", {"_is_cpu": False}),
    ("sglang.kernels.ops.speculative.eagle", {"_is_cpu": False}),
    ("sglang.kernels.ops.speculative.cache_locs", {"_is_cpu": False, "_is_xpu": True}),
    ("sglang.kernels.ops.speculative.spec_tree", {"_is_cpu": False, "_is_xpu": True}),
    ("sglang.kernels.ops.speculative.multi_layer_eagle", {"_is_cpu": False}),
    ("sglang.kernels.ops.speculative.reconstruct_tree", {"_is_xpu": True}),
    ("sglang.srt.mem_cache.allocation", {"_is_cpu": False}),
    ("sglang.srt.speculative.spec_utils", {"_is_cpu": False}),
    ("sglang.srt.mem_cache.common", {"_is_cpu": False}),
)
OLD_TRITON_FLAGS = (  # before the kernels moved to sglang.kernels
    ("sglang.srt.speculative.triton_ops.cache_locs", {"_is_xpu": True, "_is_musa": True}),
    ("sglang.srt.speculative.eagle_utils", {"_is_xpu": True}),
)
FIRST_TRITON_FLAGS = (("sglang.srt.speculative.eagle_info_v2", {"_is_musa": True}),)  # 0.5.12
TREE_IN_UTILS = (  # 0.5.16 to 0.5.22: before the tree's kernels moved to spec_tree
    ("sglang.srt.speculative.eagle_utils", {"_is_xpu": True}),
    ("sglang.srt.speculative.eagle_worker_common", {"_is_cpu": False}),
)
FULL_MASK_FLAGS = (  # SGLang's triton attention reads the mask layout of a GPU
    ("sglang.srt.speculative.eagle_utils", {"_is_cpu": False}),
    ("sglang.srt.speculative.ngram_worker", {"_is_cpu": False}),
)


class _Module(types.ModuleType):
    __path__: ClassVar[list[str]] = []
    __version__ = "0.0.0"

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)

        def never(*args: object, **kwargs: object) -> None:
            raise RuntimeError(f"sgl_kernel.{name} must not be called")

        setattr(self, name, never)
        return never


def install(page_size: int) -> None:
    """Make `sgl_kernel` importable; call before any import of SGLang."""
    for name in ("sgl_kernel", *(f"sgl_kernel.{part}" for part in PARTS)):
        module = _Module(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        sys.modules[name] = module
        if "." in name:
            setattr(sys.modules["sgl_kernel"], name.partition(".")[2], module)
    sys.modules["sgl_kernel"].build_draft_decode_metadata_cpu = _BranchTable(page_size)
    torch.ops.sgl_kernel.decode_attention_cpu = decode_attention
    torch.ops.sgl_kernel.extend_attention_cpu = extend_attention


def use_triton(attention: str) -> None:
    """Let bookkeeping run in SGLang's Triton kernels, and the mask fit the attention backend."""
    flags = list(TRITON_FLAGS)
    if importlib.util.find_spec("sglang.srt.speculative.triton_ops") is not None:
        flags += (*OLD_TRITON_FLAGS, *FIRST_TRITON_FLAGS)
    else:
        flags += TREE_IN_UTILS
    _verify_without_sgl_kernel()
    if attention == "triton":
        flags += FULL_MASK_FLAGS
    for name, values in flags:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue  # this release keeps it elsewhere
        for flag, value in values.items():
            if hasattr(module, flag):
                setattr(module, flag, value)
    _interpret_faster()


def _verify_without_sgl_kernel() -> None:
    """Where `eagle_utils` itself verifies trees, the flag that picks the kernel also picks the tree's mask."""
    utils = importlib.import_module("sglang.srt.speculative.eagle_utils")
    if not hasattr(utils, "verify_tree_greedy_triton") and not hasattr(
        utils, "sgl_build_tree_kernel_efficient"
    ):
        utils.sgl_build_tree_kernel_efficient = tree_kernels.build_tree
        utils._is_musa = True
        sys.modules["sgl_kernel"].verify_tree_greedy = tree_kernels.verify_greedy
    if not hasattr(utils, "sgl_verify_tree_greedy_cpu"):
        return

    def verify(**named: object) -> object:
        return utils.verify_tree_greedy_triton(
            **{name.replace("retrive", "retrieve"): value for name, value in named.items()}
        )

    utils.sgl_verify_tree_greedy_cpu = verify


def _interpret_faster() -> None:
    """The interpreter checks every addition for overflow, at a third of its time."""
    from triton.runtime import interpreter

    options = interpreter.interpreter_builder.options
    interpreter.interpreter_builder.options = dataclasses.replace(options, sanitize_overflow=False)


def _attend(q, k, v, scale, mask, cap):
    """q [n, h, d], k and v [m, hk, d], mask [n, m]."""
    repeat = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(repeat, dim=1), v.repeat_interleave(repeat, dim=1)
    scores = torch.einsum("nhd,mhd->hnm", q.float(), k.float()) * scale
    if cap:
        scores = cap * torch.tanh(scores / cap)
    weights = torch.softmax(scores.masked_fill(~mask[None], float("-inf")), dim=-1)
    return torch.einsum("hnm,mhd->nhd", weights, v.float()).to(q.dtype)


def decode_attention(q, k_buf, v_buf, *rest):
    """One query a request, over the slots that its row of req_to_token names."""
    o, k, v, loc, _, table, rows, lengths, scale, cap, *_ = _without_scales(rest)
    for buffer, new in ((k_buf, k), (v_buf, v)):
        if new is not None:
            buffer[loc] = new.view(-1, *buffer.shape[1:]).to(buffer.dtype)
    for i in range(q.shape[0]):
        slots = table[int(rows[i]), : int(lengths[i])].long()
        mask = torch.ones(1, len(slots), dtype=torch.bool)
        o[i : i + 1] = _attend(q[i : i + 1], k_buf[slots], v_buf[slots], scale, mask, cap)


def extend_attention(q, k, v, o, k_buf, v_buf, *rest):
    """Several queries a request, causal or under a tree mask (of the new tokens alone, or of all)."""
    table, rows, lengths, extends, starts, _, scale, cap, *more = _without_scales(rest)
    _, _, _, _, tree_mask, is_causal = (*more, *NO_TREE[len(more) :])
    taken, count = 0, lengths.shape[0]
    for i in range(count):
        length, new, start = int(lengths[i]), int(extends[i]), int(starts[i])
        slots = table[int(rows[i]), :length].long()
        mask = torch.ones(new, length, dtype=torch.bool)
        if tree_mask is not None and tree_mask.numel() == count * new * new:
            mask[:, length - new :] = tree_mask.view(-1)[i * new * new : (i + 1) * new * new].view(new, new)
        elif tree_mask is not None:
            mask = tree_mask.view(-1)[taken : taken + new * length].view(new, length).bool()
            taken += new * length
        elif is_causal:
            mask[:, length - new :] = torch.tril(torch.ones(new, new, dtype=torch.bool))
        o[start : start + new] = _attend(q[start : start + new], k_buf[slots], v_buf[slots], scale, mask, cap)


NO_TREE = (False, None, None, None, None, True)
"""is_cross, window, encoder_lens, sinks, tree_mask, is_causal of a release that passes fewer."""


def _without_scales(rest):
    """Scales of the K and V buffers come first from 0.5.20 on; they are 1 here."""
    return rest if torch.is_tensor(rest[0]) else rest[2:]


class _BranchTable:
    """Slots that each draft branch reads: the committed prefix, then the branch's own."""

    def __init__(self, page_size: int) -> None:
        self._page = page_size

    def __call__(self, table, rows, lengths, topk, steps, width):
        out = torch.zeros(lengths.shape[0] * topk, width, dtype=table.dtype)
        for i in range(lengths.shape[0]):
            length, row = int(lengths[i]), table[int(rows[i])]
            for branch in range(topk):
                self._fill(out[i * topk + branch], row, length, topk, steps, branch)
        return out

    def _fill(self, out, row, length, topk, steps, branch):
        out[:length] = row[:length]
        if self._page == 1 or topk == 1:
            first = length + branch * steps
            out[length : length + steps] = row[first : first + steps]
            return
        tail = length % self._page
        stride = -(-(tail + steps) // self._page) * self._page
        base = length - tail
        first = base + branch * stride
        out[base : base + tail + steps] = row[first : first + tail + steps]
