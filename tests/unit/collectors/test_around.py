"""What a plain hook is told of a call, however the engine makes it."""

from __future__ import annotations

from typing import Any

import pytest

from speckv_debug.collectors.around import NOTHING, WHOLE, Around, wrapped

PLACES = {"self": 0, "batch": 1, "result": 2}


@pytest.fixture
def seen() -> list[Any]:
    return []


def calling(seen: list[Any], takes: Any) -> Any:
    """An engine's function with a hook that notes what it is told."""
    hook = Around(lambda *told: seen.append(told), takes=takes)
    function = lambda self, batch, result=None: (self, batch, result)
    return wrapped("hook", function, hook, PLACES, set(), lambda name, error: seen.append(error))


@pytest.mark.parametrize(
    ("takes", "told"),
    [
        ("batch", ("b",)),
        (("result", "batch"), ("r", "b")),
        (("missing", "self"), (None, "s")),
        (NOTHING, (None,)),
    ],
)
def test_arguments_are_told_by_name(seen: list[Any], takes: Any, told: tuple[Any, ...]) -> None:
    call = calling(seen, takes)
    assert call("s", "b", "r") == call("s", "b", result="r") == call("s", batch="b", result="r")
    assert seen == [told] * 3


def test_what_is_not_passed_is_none_among_several(seen: list[Any]) -> None:
    assert calling(seen, ("batch", "result"))("s", "b") == ("s", "b", None)
    assert seen == [("b", None)]


def test_a_whole_call_has_them_all(seen: list[Any]) -> None:
    calling(seen, WHOLE)("s", "b", result="r")
    ((call,),) = seen
    assert (call["self"], call["batch"], call["result"], call.get("missing")) == ("s", "b", "r", None)
