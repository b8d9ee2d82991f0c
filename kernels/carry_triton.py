"""Values of many tensors to pinned host memory in one launch, as little of it in Python as can be.

Addresses and sizes lie in a table of pinned memory, not among the arguments: the launch is then the same few words each
time, which `Launch` hands straight to the driver.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs, allow-untyped-calls, allow-untyped-decorators
from __future__ import annotations

import ctypes
from typing import Any

import triton
import triton.language as tl
from torch import Tensor

MOST = 128
"""Tensors a launch."""
TABLE_WORDS = 3 * MOST
"""64-bit words of a table: the address of each tensor, then its 32-bit words, then where they go, in 32-bit words."""
BLOCK = 1024
THREADS = 128


@triton.jit
def _carry(table, out, MOST: tl.constexpr, BLOCK: tl.constexpr):
    mine = tl.program_id(0)
    source = tl.load(table + mine).to(tl.pointer_type(tl.int32))
    words = tl.load(table + MOST + mine)
    target = out + tl.load(table + 2 * MOST + mine)
    for first in range(tl.program_id(1) * BLOCK, words, tl.num_programs(1) * BLOCK):
        at = first + tl.arange(0, BLOCK)
        tl.store(target + at, tl.load(source + at, at < words), at < words)


def carry(table: Tensor, out: Tensor, count: int, height: int) -> Any:
    """Copy what a table names: grid `[count, height]`; the compiled kernel.

    Args:
        table: `[TABLE_WORDS]` int64, pinned.
        out: int32, pinned.
        count: Tensors, up to `MOST`.
        height: Programs a tensor.
    """
    return _carry[(count, height)](table, out, MOST=MOST, BLOCK=BLOCK, num_warps=THREADS // 32)


class Launch:
    """The compiled kernel, launched without Triton's and with the interpreter's lock held: some microseconds.

    Raises:
        OSError, AttributeError: The driver's library is not here, or this Triton keeps no handle of the kernel.
    """

    def __init__(self, kernel: Any) -> None:
        self._function = ctypes.c_void_p(int(kernel.function))
        self._shared = int(kernel.metadata.shared)
        if int(kernel.metadata.num_warps) * 32 != THREADS:
            raise AttributeError("the kernel was compiled for another number of threads")
        launch = ctypes.PyDLL("libcuda.so.1").cuLaunchKernel
        launch.argtypes = [ctypes.c_void_p, *[ctypes.c_uint] * 7, *[ctypes.c_void_p] * 3]
        launch.restype = ctypes.c_int
        self._launch = launch

    @staticmethod
    def arguments(table: Tensor, out: Tensor) -> Any:
        """What a launch with this table and memory is told; both have to stay alive. The last two are Triton's scratch."""
        values = (ctypes.c_void_p * 4)(table.data_ptr(), out.data_ptr(), None, None)
        step, first = ctypes.sizeof(ctypes.c_void_p), ctypes.addressof(values)
        pointers: Any = (ctypes.c_void_p * 4)(*(first + step * place for place in range(4)))
        pointers._values = values
        return pointers

    def __call__(self, count: int, height: int, stream: int, arguments: Any) -> None:
        """Queue one launch.

        Raises:
            RuntimeError: The driver refused.
        """
        if failure := self._launch(
            self._function, count, height, 1, THREADS, 1, 1, self._shared, stream, arguments, None
        ):
            raise RuntimeError(f"cuLaunchKernel failed with {failure}")
