"""Every hook that a release's tier promises is a function of that release, with the parameters that the hook reads."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest
from contract import METHODS, function_hooks, method_hooks
from scenarios import FETCHED
from sources import Found, Sources

from speckv_debug.collectors.hooking import Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.releases import KNOWN, promised

OPTIONAL_METHODS = {"free_pages", "move_core", "cache_finished"}
NAMES = {name: value for name, value in vars(targets).items() if isinstance(value, Target)}
every_release = pytest.mark.parametrize(
    "release", [pytest.param(r, marks=() if r in FETCHED else pytest.mark.full) for r in KNOWN]
)


@lru_cache
def sources(release: str) -> Sources:
    """An unpacked release."""
    folder = Path(sys.prefix) / f"sglang-{release}"
    assert (folder / "sglang").is_dir(), f"{folder} is missing: make setup-releases fetches it"
    return Sources(folder)


def resolved(release: str, target: Target) -> Found | None:
    """The first candidate that can be wrapped, as `Patches.install` takes it."""
    found = (sources(release).find(candidate) for candidate in target.candidates)
    return next((each for each in found if each is not None and each.is_function), None)


def misfits(found: Found, reads: frozenset[str], leading: tuple[str, ...], own: set[str]) -> Iterator[str]:
    """What a hook reads and the function has not, and leading parameters that stand elsewhere."""
    own = own if found.in_class else set()
    yield from sorted(f"no parameter {name}" for name in reads - set(found.parameters) - own)
    leading = tuple(name for name in leading if name not in own)
    if found.parameters[: len(leading)] != leading:
        yield f"begins with {found.parameters[: len(leading)]}, not {leading}"


def test_each_target_and_each_method_has_its_hook() -> None:
    assert set(function_hooks()) == set(NAMES)
    assert set(method_hooks()) - OPTIONAL_METHODS == set(METHODS)


@every_release
def test_what_the_tier_promises_resolves(release: str) -> None:
    assert [target.name for target in promised(release) if resolved(release, target) is None] == []


@every_release
def test_functions_have_the_parameters_that_their_hooks_read(release: str) -> None:
    wrong = {}
    for name, expected in function_hooks().items():
        target = NAMES[name]
        if (found := resolved(release, target)) is not None:
            own = {"self", target.bound_as}
            wrong[name] = list(misfits(found, expected.reads, target.parameters, own))
    assert {name: lines for name, lines in wrong.items() if lines} == {}
    assert len(wrong) >= len(list(promised(release)))


@every_release
def test_methods_of_the_default_classes_have_the_parameters_that_their_hooks_read(release: str) -> None:
    for name, (owners, methods) in METHODS.items():
        hooked = [
            found
            for owner in owners
            for method in methods
            if (found := sources(release).inherited(f"{owner}.{method}")) is not None
        ]
        assert hooked, f"{name}: none of {methods} in {owners}"
        for found in hooked:
            assert found.is_function
            assert list(misfits(found, method_hooks()[name].reads, (), {"self"})) == [], name
