"""Any run of a paged engine keeps its prefixes; a fault is found where a plain account of the KV finds it first."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.paged_engine import PagedEngine, first_wrong, spoil

seeds = st.integers(0, 10**9)


@settings(max_examples=40, derandomize=True)
@given(seeds)
def test_a_run_without_fault_is_clean_and_judged_whole(seed: int) -> None:
    engine = PagedEngine(seed)
    assert first_wrong(engine.run.lines) is None
    result = engine.run.check("RPL-SHADOW")
    assert not result.findings
    assert {unknown.why for unknown in result.unknown} <= {"nobody reads the rows before the recording ends"}


def differ(seed: int, steps: int = 12) -> str:
    """Spoil a run and hold the first finding beside the account; returns the fault if it did harm."""
    engine = PagedEngine(seed, steps)
    what = spoil(engine, seed)
    wrong = first_wrong(engine.run.lines)
    found = engine.run.check("RPL-SHADOW").findings
    if wrong is None:
        assert not found, (what, found)
        return ""
    assert found, (what, wrong)
    first = found[0]
    assert (first.request, first.step) == wrong[:2], (what, first.message)
    assert first.message.startswith(f"position {wrong[2]} "), (what, wrong, first.message)
    return what


@settings(max_examples=150, derandomize=True)
@given(seeds)
def test_a_fault_is_found_where_it_first_does_harm(seed: int) -> None:
    differ(seed)


def test_every_kind_of_fault_does_harm_somewhere() -> None:
    harmful = {differ(seed) for seed in range(60)}
    assert harmful == {"", "source", "target", "no move", "short", "write", "stray", "entry"}
