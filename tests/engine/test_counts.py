"""What each clean run recorded of its slots, held against an independent count and the engine's own account."""

from __future__ import annotations

import pytest
from accounts import account_of
from running import Run
from scenarios import CLEAN, LIVES, MORE_LIVES, RELEASES, UNO

SCENARIOS = [
    *(scenario.name for scenario in (*CLEAN, *LIVES)),
    *(pytest.param(scenario.name, marks=pytest.mark.full) for scenario in (*RELEASES, *MORE_LIVES, *UNO)),
]
pytestmark = pytest.mark.parametrize("scenario", SCENARIOS)


def test_slots_and_moves_are_those_of_an_independent_count(run: Run) -> None:
    counted = run.counted
    assert [slot for e in run.of("alloc") for slot in e.slots or ()] == counted["allocated"]
    assert [slot for e in run.of("free") for slot in e.slots] == counted["freed"]
    assert [[list(e.tgt), list(e.src)] for e in run.of("move")] == counted["moves"]


def test_the_engines_own_account_of_its_pool_follows_from_the_events(run: Run) -> None:
    account = account_of(run.process)
    assert account.compared >= 10
    assert account.faults == []
