"""Pools in unified memory, built by SGLang's own factories: what is recorded and judged of their virtual slots."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from test_families import recorded, run

RELEASES = ("0.5.15", "0.5.18", "0.5.21", "0.5.23")
places = pytest.mark.parametrize(
    ("release", "page"),
    [
        pytest.param(release, page, marks=() if (release, page) == ("0.5.23", 4) else pytest.mark.full)
        for release in RELEASES
        for page in (1, 4)
    ],
)


@cache
def runs(release: str, page: int) -> dict[str, Any]:
    """All runs of real_unified.py."""
    return run("real_unified.py", str(page), release=release)


def judged(release: str, page: int, name: str) -> Any:
    """What the rules say of one of them."""
    told = runs(release, page)
    assert told[name]["failures"] == []
    pool = told["pools"][name.partition(" ")[0]]
    space = {"slots": pool["slots"], "page_size": page, "reserved_slots": pool["reserved"]}
    pools = [{"name": "full", "kind": "full", **space}]
    if "size" in told[name]:
        size = {"slots": told[name]["size"], "page_size": 1, "reserved_slots": 1, "namespace": "mamba"}
        pools.append({"name": "mamba", "kind": "mamba", "owner": "request", **size})
    return recorded(told[name], pools=pools).check("OWN-DFREE")


@places
def test_the_pool_is_as_large_as_its_slots_have_names(release: str, page: int) -> None:
    """How many of them there is room for moves; which ones there can be does not."""
    for pool in runs(release, page)["pools"].values():
        assert pool["last"] == pool["slots"] + pool["reserved"] - 1 and pool["first"] >= pool["reserved"]
        assert pool["untouched"] and pool["touched"], "a recording that begins here begins from the start"


@places
def test_grants_and_frees_are_those_of_the_engine(release: str, page: int) -> None:
    told = runs(release, page)["states none"]
    of_states = [e for e in told["events"] if e.get("pool") == "mamba"]
    (own,), (drawn,) = told["own"], told["drawn"]
    assert [(e["event"], e["slots"]) for e in of_states] == [
        ("alloc", [own]),
        ("alloc", [drawn, drawn + 1]),
        ("free", [drawn + 1]),
        ("free", [own, drawn]),
        ("alloc", told["last"]),
    ], "a batch is granted once, and what nobody drew goes back"
    for name, frees in (("states none", 4), ("window none", 2)):
        result = judged(release, page, name)
        assert result.findings == () and result.checked == {"OWN-DFREE": frees}


@places
@pytest.mark.parametrize(
    "planted", ["states slot-freed-twice", "states state-freed-twice", "window slot-freed-twice"]
)
def test_what_is_freed_twice_is_found(release: str, page: int, planted: str) -> None:
    assert {finding.rule for finding in judged(release, page, planted).findings} == {"OWN-DFREE"}
