"""Windows in which a sweep has nothing to object to: nothing else is said of them than by columns."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.mutation.bases import Base, in_memory, numbered, reference, stored
from benchmarks.mutation.kinds import drawn
from speckv_debug.checks import RULES, plain
from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult
from speckv_debug.replay import windows, worthwhile

LAWS = [rule.id for rule in RULES.values() if rule.scope in windows.OF_LIVES]
TABLES = (
    "accept", "forward", "lengths", "reserve", "alloc", "table_write", "release", "row_alloc", "row_free", "pool_stat",
)  # fmt: skip
REAL = ("eagle_k1_p64", "eagle_k1_p1_rejection", "eagle_k4_p1", "eagle_k4_p64_sync", "none_p64")
EVENTS = 700


@cache
def base(number: int) -> Base:
    """The beginning of a real run, or a run of the reference engine without what its drafter stores behind a forward."""
    if number < len(REAL):
        found = stored(f"real/{REAL[number]}.jsonl.xz")
        assert found is not None
        return Base(found.name, found.head, found.lines[:EVENTS])
    run = reference(number, sessions=False)
    drafted = [e.get("pool") == "draft" and e.get("mode") in ("extend", "draft_extend") for e in run.lines]
    lines = [line for line, out in zip(run.lines, drafted, strict=True) if not out]
    return Base(run.name, run.head, numbered(lines))


@contextmanager
def swept(events: int) -> Iterator[list[bool]]:
    """Windows of so many events, swept where they are plain; which ones were."""
    said: list[bool] = []
    judge = plain.PlainRules.judge

    def told(rules: plain.PlainRules, window: windows.WindowView) -> Counter[str] | None:
        found = judge(rules, window)
        said.append(found is not None)
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows, "WINDOWED_FROM", 0)
        patch.setattr(windows, "WINDOW", events)
        patch.setattr(worthwhile, "COMPILED_FROM", 0)
        patch.setattr(plain.PlainRules, "judge", told)
        yield said


def judged(of: Base) -> CheckResult:
    return check(in_memory(of.head, of.lines), only=LAWS, replay="off")


def test_all_laws_over_lives_are_swept() -> None:
    assert set(plain.SCOPES) == set(windows.OF_LIVES)


@pytest.mark.parametrize("number", [0, 1, 3, 11, 12])
def test_clean_runs_are_plain(number: int) -> None:
    whole = judged(base(number))
    assert whole.verdict == "clean"
    with swept(10_000) as said:
        assert judged(base(number)) == whole
    assert said == [True]


def test_windows_behind_one_that_is_not_plain_are_judged_by_columns() -> None:
    run = base(0)
    at = max(i for i, line in enumerate(run.lines) if line.get("cause") == "verify_commit")
    wrong = run.lines[at] | {"committed": run.lines[at]["committed"] + 1}
    spoilt = Base(run.name, run.head, (*run.lines[:at], wrong, *run.lines[at + 1 :]))
    whole = judged(spoilt)
    assert "LEN-COMMIT" in {finding.rule for finding in whole.findings}
    with swept(50) as said:
        assert judged(spoilt) == whole
    assert True in said and said.count(False) == 1 and not said[-1]


@pytest.mark.parametrize("examples", [25, pytest.param(3000, marks=pytest.mark.full)])
def test_a_change_is_seen_by_the_sweep_as_by_columns(examples: int) -> None:
    @settings(max_examples=examples, deadline=None)
    @given(st.integers(0, 40), st.integers(0, 1 << 30))
    def same(number: int, seed: int) -> None:
        of = base(number)
        mutant = drawn(of, 0, seed, TABLES)
        spoilt = of if mutant is None else Base(of.name, of.head, tuple(mutant.lines(of)))
        whole = judged(spoilt)
        with swept(random.Random(seed).choice((20, 100, 1000))):
            assert judged(spoilt) == whole

    same()
