"""Compiles the accept kernels for a GPU that need not be here, and prints their names."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from speckv_debug.kernels import accept_chain_triton, accept_lens_triton, accept_tree_triton

HOPPER = GPUTarget("cuda", 90, 32)


def build(kernel: Any, types: str, **constants: Any) -> None:
    """Compile with these types of the arguments that are no constants, in their order."""
    rest = iter(types.split())
    signature = {n: "constexpr" if n in constants else next(rest) for n in kernel.arg_names}
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    triton.compile(ASTSource(fn=kernel, signature=signature, constexprs=places), target=HOPPER)
    print(kernel.__name__)


def main() -> None:
    """All kernels, the sampling ones with a vocabulary of several tiles."""
    tiles = {"VOCAB": 300, "TILE": 128}
    out = "*i64 *i64 *i64"
    build(accept_tree_triton._greedy, f"*i32 *i64 *i64 *i32 {out} i32", ROWS=8, WIDTH=5, REQUESTS=128)
    sampling = f"*i64 *i64 *i64 *fp32 *fp32 *fp32 {out} fp32 fp32"
    build(accept_tree_triton._target_only, sampling, ROWS=8, WIDTH=5, **tiles)
    for block in (False, True):
        chain = f"*i64 *fp32 *fp32 *fp32 *fp32 {out}"
        build(accept_chain_triton._chain, chain, ROWS=5, SLOTS=8, BLOCK=block, GUARD=True, **tiles)
    build(accept_lens_triton._prefix, f"*i32 *i64 *i32 {out} i32", ROWS=6, WIDTH=5, SLOTS=8, REQUESTS=32)
    build(accept_lens_triton._match, f"*i64 *i64 *i64 {out} i32", ROWS=6, SLOTS=8, REQUESTS=32)


if __name__ == "__main__":
    main()
