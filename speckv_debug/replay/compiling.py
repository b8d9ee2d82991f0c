"""Functions that numba compiles. Modules that use it are imported where many events make it worth the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy.typing as npt

Array = npt.NDArray[Any]
Call = TypeVar("Call", bound=Callable[..., Any])


def compiled(function: Call) -> Call:
    """Compile on the first call; kept for later processes where numba finds a folder that it may write.

    It runs without the interpreter's lock, so that another thread can judge meanwhile.
    """
    try:
        made: Any = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        made = numba.njit(nogil=True)(function)
    return cast(Call, made)


def inlined(function: Call) -> Call:
    """The same for a function that becomes part of each function that calls it.

    A call of its own counts a reference to every array that it hands on: half a microsecond for those of a ledger.
    """
    return cast(Call, numba.njit(inline="always")(function))
