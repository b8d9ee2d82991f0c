"""Functions that numba compiles. Modules that use it are imported where many events make it worth the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy.typing as npt
from numba import carray  # type: ignore[attr-defined]
from numba.core import cgutils, types
from numba.extending import intrinsic

from speckv_debug.replay.compiled_sources import with_sources

Array = npt.NDArray[Any]
Call = TypeVar("Call", bound=Callable[..., Any])


def compiled(function: Call) -> Call:
    """Compile on the first call; kept for later processes where numba finds a folder that it may write.

    It runs without the interpreter's lock, so that another thread can judge meanwhile.
    """
    try:
        made: Any = numba.njit(cache=True, nogil=True)(with_sources(function))
    except RuntimeError:
        made = numba.njit(nogil=True)(function)
    return cast(Call, made)


def inlined(function: Call) -> Call:
    """The same for a function that becomes part of each function that calls it.

    A call of its own counts a reference to every array that it hands on: half a microsecond for those of a ledger.
    """
    return cast(Call, numba.njit(inline="always")(function))


def _pointer(typing: Any, address: Any) -> Any:
    """An address as a pointer."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], cgutils.voidptr_t)

    return types.voidptr(types.uintp), generate


pointer_to: Any = intrinsic(_pointer)


@inlined
def uncounted(array: Array) -> Array:
    """The same values as an array whose references are not counted: the caller of the compiled function holds it.

    Each count locks the bus; a pass over events that hands its arrays on counts several times an event.
    """
    return carray(pointer_to(array.ctypes.data), array.shape, array.dtype)
