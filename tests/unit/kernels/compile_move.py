"""Compiles the kernels around the KV move for a GPU that need not be here, and prints their names and 16-byte accesses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from speckv_debug.kernels import (
    carry_triton,
    compact_triton,
    fingerprint_triton,
    locate_triton,
    move_plan_triton,
    move_triton,
    pack_triton,
    state_triton,
    windows_triton,
)
from speckv_debug.kernels.slots import Geometry

HOPPER = GPUTarget("cuda", 90, 32)
FLAT = Geometry(4, 16, 1, 512, 512, 1, 512, 512)  # 8 heads x 128, bf16
BY_HEAD = Geometry(4, 16, 64, 32768, 64, 8, 4096, 64)
LATENT = Geometry(4, 16, 1, 288, 288, 1, 288, 288)
COUNT = 64


def build(
    kernel: Any, types: str, tuples: dict[str, tuple[str, ...]] | None = None, **constants: Any
) -> None:
    """Compile with these types of the arguments that are no constants, in their order; pointers are aligned to 16."""
    rest, tuples = iter(types.split()), tuples or {}
    signature: dict[str, Any] = {
        n: "constexpr" if n in constants else tuples.get(n) or next(rest) for n in kernel.arg_names
    }
    places = {(kernel.arg_names.index(name),): value for name, value in constants.items()}
    aligned = [(k,) for k, kind in enumerate(signature.values()) if kind[0] == "*"]
    attrs = {key: [["tt.divisibility", 16]] for key in aligned}
    source = ASTSource(fn=kernel, signature=signature, constexprs=places, attrs=attrs)
    text = triton.compile(source, target=HOPPER, options={"num_warps": 8, "num_stages": 1}).asm["ptx"]
    print(kernel.__name__, text.count("ld.global.v4.b32"), text.count("st.global.v4.b32"))


def layouts(shape: Geometry) -> dict[str, Any]:
    """A layout as the kernels' constants."""
    names = ("BYTES", "ALIGN", "PAGE", "PAGE_STRIDE", "SLOT_STRIDE", "PIECES", "PIECE_STRIDE", "PIECE")
    return dict(zip(names, shape, strict=True)) | {"ELEMENT": tl.int32}


def main() -> None:
    """All kernels, those over slots in each layout."""
    for shape, columns in ((FLAT, 512), (BY_HEAD, 512), (LATENT, 64)):
        tiles = {"ROWS": 8192 // columns, "COLUMNS": columns, "CHUNK": 128, "SLICE": 64, "RELEASE": True}
        copied = "*i32 *i32 *i64 *i64 *i64 *u8 i32 i32 i32 i32"
        build(move_triton._copy, copied, **layouts(shape), **tiles, OVERLAP=True)
        build(
            fingerprint_triton._fingerprint,
            "*i64 *i64 *i64 *i64 i32 i32 i32",
            **layouts(shape),
            ROWS=4096 // columns,
            COLUMNS=columns,
        )
    pairs = "*i32 *i32 *i64 *i64 i32 i32"
    build(move_plan_triton._plan_alone, pairs, CHUNK=128, BLOCK=1024, OVERLAP=True)
    build(move_plan_triton._claim, pairs, BLOCK=1024, OVERLAP=True)
    build(move_plan_triton._route, pairs, CHUNK=128, BLOCK=1024, OVERLAP=True)
    build(locate_triton._row_slots, "*i32 i32 *i64 *i64 *i64 i32 i32", BLOCK=256)
    spans = "*i32 i32 *i64 *i64 *i64 *i64 i32 i32"
    for front in (False, True):
        build(locate_triton._spans_kernel, spans, FRONT=front, SPAN=64, REQUESTS=1024)
    for by_lens in (False, True):
        build(locate_triton._pack_kernel, "*i64 *i32 *i32 *i64 i32 i32 i32", BY_LENS=by_lens, BLOCK=256)
    build(locate_triton._bonus, "*i32 *i32 *i32 i32 i32", BLOCK=256)
    build(locate_triton._add, "*i64 *i32 *i64 i32", BLOCK=256)
    build(locate_triton._commit, "*i32 *i32 *i32 *i64 *i64 *i64 i32 i32 i32", BLOCK=256)
    build(compact_triton._compact, "*i32 *i32 *i32 i32 i32 i32", ROW=2048, ROWS=4, COLUMNS=1024)
    build(state_triton._clear, "*bf16 *i64 *i64 *i32 i32 i32", BLOCK=1024)
    for track in (False, True):
        build(state_triton._steps, "*i32 *i32 *i64 *i64 i32 i32 i32 i32", TRACK=track, REQUESTS=256)
    many = {"addresses": ("i64",) * COUNT, "sizes": ("i32",) * COUNT}
    build(carry_triton._carry, "*i64 *i32", MOST=carry_triton.MOST, BLOCK=carry_triton.BLOCK)
    for starts in ("*i64", "*i32"):
        build(windows_triton._windows, f"*i32 *i64 {starts} *i32 i64 i32 i32", BLOCK=windows_triton.BLOCK)
    build(pack_triton._pack, "*u8", many, COUNT=COUNT, WORD=4, ALIGNMENT=16, BLOCK=1024)


if __name__ == "__main__":
    main()
