"""OWN-CONSERVE in the pool of a sliding window: what the engine counts beside grants, or beside the mapping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.model.finding import CheckResult
from speckv_debug.replay.ledger import Ledger
from tests.ledgers import TABLES, Run, span
from tests.unit.replay.test_ledger_compiled import both

RULE = "OWN-CONSERVE"
SWA = {"name": "swa", "kind": "swa", "slots": 32, "page_size": 4, "reserved_slots": 4}
Grant = Callable[[Run, list[int], list[int]], None]


def by_grants(run: Run, full: list[int], swa: list[int]) -> None:
    """Peers are granted as the slots are, and mapped."""
    run.add("alloc", pool="swa", **run.who(1, None, 1), slots=swa, reason="extend")
    run.add("swa_map", full_slots=full, swa_slots=swa)


def by_mapping(run: Run, full: list[int], swa: list[int]) -> None:
    """Peers are told by the mapping alone."""
    run.add("swa_map", full_slots=full, swa_slots=swa)


def with_a_window(grant: Grant, **head: Any) -> Run:
    """A request with ten slots of which three pages of peers are taken."""
    run = Run(4, tables=[*TABLES, "swa_map"], **head)
    run.head["settings"] |= {"unified_memory": False}
    run.head["pools"] = [*run.head["pools"], SWA]
    run.start(1, span(8, 18))
    grant(run, span(8, 18), span(4, 14))
    return run


def stat(run: Run, available: int | None, total: int = 32, **figures: int) -> None:
    run.add("pool_stat", pool="swa", available=available, total=total, **figures)


def reasons(result: CheckResult) -> dict[str, int]:
    assert not result.findings
    return {unknown.why: unknown.instances for unknown in result.unknown}


@pytest.mark.parametrize("grant", [by_grants, by_mapping])
@pytest.mark.parametrize("figures", [{}, {"evictable": 4, "protected": 8}])
def test_what_is_available_is_what_is_left(grant: Grant, figures: dict[str, int]) -> None:
    run = with_a_window(grant)
    stat(run, 20, **figures)
    assert reasons(run.check(RULE)) == {} and run.check(RULE).checked == {RULE: 1}


@pytest.mark.parametrize("grant", [by_grants, by_mapping])
@pytest.mark.parametrize("available", [16, 24])
def test_a_page_too_few_or_too_many(grant: Grant, available: int) -> None:
    run = with_a_window(grant)
    stat(run, available)
    finding = run.only_finding(RULE)
    assert f"counts {available} slots available in pool swa, the events leave 20" in finding.message


def test_what_is_given_back_is_available_again() -> None:
    run = with_a_window(by_grants)
    run.add("free", pool="swa", slots=span(4, 8), reason="swa_window")
    stat(run, 24)
    run.group("begin")
    run.add("free", pool="swa", slots=span(8, 12), reason="finish", group=1)
    run.group("end")
    stat(run, 28)
    assert reasons(run.check(RULE)) == {}
    run = with_a_window(by_mapping)
    run.add("swa_map", full_slots=span(8, 11), swa_slots=[0, 0, 0])
    stat(run, 20)  # a page with one peer is taken
    run.add("swa_map", full_slots=[11], swa_slots=[0])
    stat(run, 24)
    assert reasons(run.check(RULE)) == {}


def opened(run: Run) -> None:
    run.group("begin")
    run.free(span(8, 12), 1, group=1)
    stat(run, 20)


def untold(run: Run) -> None:
    run.add("swa_map", full_slots=[8])
    stat(run, 20)


@pytest.mark.parametrize(
    ("head", "lines", "why"),
    [
        ({}, lambda run: stat(run, None), "a pool_stat does not tell all of its figures"),
        ({"from_start": False}, lambda run: stat(run, 16), "the recording did not see the process start"),
        (
            {"tables": TABLES},
            lambda run: stat(run, 16),
            "which slots of the window's pool are peers is not known",
        ),
        ({}, opened, "the pool was counted while a free group was open"),
        ({}, untold, "which slots of the window's pool are peers is not known"),
    ],
)
def test_what_is_not_known_is_unknown(head: dict[str, Any], lines: Callable[[Run], None], why: str) -> None:
    run = with_a_window(by_mapping)
    run.head |= head
    lines(run)
    (found,) = reasons(run.check(RULE))
    assert found.startswith(why)


def test_compiled_code_judges_the_same() -> None:
    def fold() -> Ledger:
        run = with_a_window(by_grants)
        for available in (20, 16, 24):
            run.quiet(available=52, evictable=0, protected=0, total=64)
            stat(run, available)
        return run.fold()

    first, second = both(fold)
    assert first.facts == second.facts
