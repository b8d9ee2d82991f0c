"""Verifies are found by step, request, text and event."""

import numpy as np
import pytest

from speckv_debug.viewers.tui.lookup import StepLookup
from tests.inspected import REQUESTS, SmallRun


@pytest.fixture
def lookup() -> StepLookup:
    return StepLookup(SmallRun(60))


def test_a_step_has_one_verify_a_request(lookup: StepLookup) -> None:
    assert lookup.at_step(812).tolist() == [36, 37, 38]
    assert lookup.at_step(7).tolist() == []


def test_a_request_is_followed_through_all_steps(lookup: StepLookup) -> None:
    assert lookup.of_request("8").tolist() == list(range(1, 60, 3))
    assert lookup.of_request("nobody").tolist() == []
    assert lookup.requests == REQUESTS


def test_text_matches_requests_without_regard_to_case(lookup: StepLookup) -> None:
    assert lookup.matching("CHAT").tolist() == list(range(2, 60, 3))
    assert lookup.matching("9").tolist() == list(range(2, 60, 3))
    assert lookup.matching("none of them").tolist() == []


def test_an_event_is_a_verify_only_at_its_own_seq(lookup: StepLookup) -> None:
    assert lookup.at_seq(460) == 36
    assert lookup.at_seq(461) is None
    assert lookup.at_seq(10**9) is None


@pytest.mark.parametrize(
    ("asked", "nearest"),
    [
        (812, 812),
        (0, 800),
        (5000, 819),
        (2**63 - 1, 819),
        (10**23, 819),
        (-(2**63), 800),
    ],
)
def test_nearest_step(lookup: StepLookup, asked: int, nearest: int) -> None:
    assert lookup.nearest_step(asked) == nearest


@pytest.mark.parametrize("asked", [2**63 - 1, 2**63, 10**23, -(2**63), -1])
def test_a_step_beyond_all_numbers_has_no_verify(lookup: StepLookup, asked: int) -> None:
    assert lookup.at_step(asked).tolist() == []


def test_verifies_without_a_step_are_never_near() -> None:
    run = SmallRun(6)
    run.step = np.full(6, np.iinfo(np.int64).min)
    lookup = StepLookup(run)
    assert lookup.nearest_step(3) is None
    assert lookup.at_step(3).tolist() == []


def test_a_run_without_verifies_has_nothing() -> None:
    lookup = StepLookup(SmallRun(0))
    assert len(lookup) == 0
    assert lookup.nearest_step(1) is None
    assert lookup.matching("").tolist() == []
