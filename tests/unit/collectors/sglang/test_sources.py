"""Functions found by reading source: through imports, in conditions, on the class itself or its bases."""

from __future__ import annotations

from pathlib import Path

import pytest

from speckv_debug.collectors.sglang.sources import Sources

FILES = {
    "sglang/__init__.py": "",
    "sglang/a.py": """
import triton
from sglang.b import helper, shared as common
from .b import Base

if True:
    def chosen(x, *, y): ...
else:
    chosen = None

@triton.jit
def kernel(x): ...

class Pool(Base):
    def free(self, index, *rest): ...
    name = "pool"
""",
    "sglang/b.py": """
from sglang.c import helper
def shared(a, b=1, **more): ...
class Base:
    @staticmethod
    def size(n): ...
    def clear(self): ...
""",
    "sglang/c/__init__.py": "def helper(z): ...\n",
    "sglang/loop.py": "from sglang.loop import again\n",
}


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Sources(tmp_path)


@pytest.mark.parametrize(
    ("place", "parameters"),
    [
        ("sglang.a:chosen", ("x", "y")),
        ("sglang.a:helper", ("z",)),
        ("sglang.a:common", ("a", "b", "**")),
        ("sglang.a:Pool.free", ("index", "*")),
        ("sglang.b:Base.clear", ()),
    ],
)
def test_parameters(sources: Sources, place: str, parameters: tuple[str, ...]) -> None:
    found = sources.find(place)
    assert found is not None and found.is_function
    assert found.parameters == parameters


@pytest.mark.parametrize("place", ["sglang.a:kernel", "sglang.a:Pool"])
def test_what_can_not_be_wrapped(sources: Sources, place: str) -> None:
    found = sources.find(place)
    assert found is not None and not found.is_function


@pytest.mark.parametrize(
    "place",
    ["sglang.none:f", "sglang.a:none", "sglang.a:Pool.none", "sglang.a:Pool.clear", "sglang.loop:again"],
)
def test_what_is_not_there(sources: Sources, place: str) -> None:
    assert sources.find(place) is None


def test_a_method_of_a_base_is_found_where_asked_for(sources: Sources) -> None:
    found = sources.inherited("sglang.a:Pool.clear")
    assert found is not None and found.parameters == ()
    assert sources.inherited("sglang.a:Pool.none") is None


def test_the_first_function_of_some_places(sources: Sources) -> None:
    found = sources.first_function(("sglang.none:f", "sglang.a:kernel", "sglang.b:shared", "sglang.c:helper"))
    assert found is not None and found.parameters == ("a", "b", "**")
    assert sources.first_function(("sglang.a:kernel",)) is None
    assert sources.has_module_of(("sglang.none:f", "sglang.b:none"))
    assert not sources.has_module_of(("sglang.none:f",))
