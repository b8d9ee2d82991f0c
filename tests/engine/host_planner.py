"""SGLang's own planner of compressors (`c_plan.cuh`, CUDA), compiled for the host: launches are loops, what it works out is its own."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "planner"
STOOD_IN = (
    *("sgl_kernel/ffi.h", "sgl_kernel/tensor.h", "sgl_kernel/utils.h", "sgl_kernel/utils.cuh"),
    *("sgl_kernel/warp.cuh", "dlpack/dlpack.h", "tvm/ffi/container/tensor.h", "tvm/ffi/container/tuple.h"),
)
"""Headers of CUDA and TVM FFI that it includes."""
LAYOUTS = "sgl_kernel/deepseek_v4/compress_v2.cuh"
"""Its own, with the layouts of plans."""


def install(sglang: str) -> None:
    """Let SGLang's `CompressorPrefillPlan` and `CompressorDecodePlan` ask this planner, and pin no memory."""
    import torch
    from sglang.kernels.ops.attention.dsv4 import compress

    planner = HostPlanner(Path(sglang) / "sglang/kernels/jit")
    compress._jit_compress_plan_module = lambda: planner
    empty = torch.empty
    compress.torch.empty = lambda *sizes, pin_memory=False, **how: empty(*sizes, **how)


class HostPlanner:
    """The compiled module's two functions; plans as tensors, uint8 [n, 16] and [n, 8]."""

    def __init__(self, jit: Path) -> None:
        """Compile it from the folder with `csrc` and `include`."""
        self._library = ctypes.CDLL(str(_compiled(jit)))

    def plan_prefill(
        self, rows: Any, table: Any, mapping: Any, lengths: Any, extends: Any, *rest: Any
    ) -> Any:
        """As `plan_compress_prefill`: a plan of what is read, one of what is written."""
        import torch

        _, tokens, ratio, window_page, ring, by_row, for_graph = rest
        read, write = torch.empty(tokens, 16, dtype=torch.uint8), torch.empty(tokens, 8, dtype=torch.uint8)
        counts = torch.zeros(2, dtype=torch.int64)
        given = (lengths, extends, tokens, ratio, window_page, ring, by_row, for_graph, read, write, counts)
        self._call("plan_prefill", rows, table, mapping, *given)
        made, written = counts.tolist()
        return read[:made], write[:written]

    def plan_decode(self, rows: Any, table: Any, mapping: Any, lengths: Any, *rest: Any) -> Any:
        """As `plan_compress_decode`."""
        import torch

        plan = torch.empty(len(rows), 16, dtype=torch.uint8)
        self._call("plan_decode", rows, table, mapping, lengths, *rest, plan)
        return plan

    def _call(self, name: str, rows: Any, table: Any, mapping: Any, *rest: Any) -> None:
        given = (rows, len(rows), table, *table.shape, mapping, len(mapping), *rest)
        getattr(self._library, name)(*map(_as_c, given))


def _as_c(value: Any) -> Any:
    if hasattr(value, "data_ptr"):
        assert value.is_contiguous()
        return ctypes.c_void_p(value.data_ptr())
    return ctypes.c_bool(value) if isinstance(value, bool) else ctypes.c_int64(int(value))


def _compiled(jit: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="planner-"))
    for name in STOOD_IN:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f'#include "{HERE / "host.h"}"\n')
    (folder / LAYOUTS).parent.mkdir()
    (folder / LAYOUTS).symlink_to(jit / "include" / LAYOUTS)
    library = folder / "planner.so"
    command = ["g++", "-std=c++20", "-O1", "-w", "-shared", "-fPIC", f"-I{folder}"]
    command += [f"-I{jit / 'csrc/deepseek_v4'}", str(HERE / "host.cpp"), "-o", str(library)]
    subprocess.run(command, check=True)
    return library
