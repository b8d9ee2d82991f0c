"""Triton's interpreter, without the third of its time that it spends on preparing the language anew for each function."""

from __future__ import annotations

from typing import Any


def interpret_faster() -> None:
    """Prepare the language once for each module whose functions kernels call, not at each call.

    A kernel's launch prepares it for the kernel's module and takes that back; what a called function's module needs (the
    `core` that `tl.sum` is written in, say) the interpreter prepares at each call and never takes back.
    """
    from triton.runtime import interpreter

    prepared: set[str] = set()

    def call(function: Any, *args: Any, **kwargs: Any) -> Any:
        if function.fn.__module__ not in prepared:
            interpreter._patch_lang(function.fn)
            prepared.add(function.fn.__module__)
        return function.rewrite()(*args, **kwargs)

    interpreter.InterpretedFunction.__call__ = call
