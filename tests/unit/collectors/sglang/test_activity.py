"""Whose allocation it is, and why a free is made."""

import pytest

from speckv_debug.collectors.sglang.activity import Activity, Grant
from speckv_debug.collectors.sglang.requests import NOBODY, Identity

SOMEONE = Identity("r1", 2, 1)


def test_a_context_ends_however_its_block_ends():
    activity = Activity()
    with pytest.raises(ValueError), activity.working_on(SOMEONE), activity.freeing("evict"):
        assert activity.request is SOMEONE
        assert activity.free_reason() == "evict"
        raise ValueError
    assert activity.request is NOBODY
    assert activity.free_reason() == "other"


def test_the_first_free_behind_an_insert_returns_duplicates():
    activity = Activity()
    with activity.freeing("finish", after_insert="duplicate_prefix"):
        activity.inserted()
        assert [activity.free_reason() for _ in range(3)] == ["duplicate_prefix", "finish", "finish"]


def test_without_an_insert_all_frees_have_the_same_reason():
    activity = Activity()
    with activity.freeing("retract", after_insert="duplicate_prefix"):
        assert [activity.free_reason(), activity.free_reason()] == ["retract", "retract"]


def test_the_innermost_stretch_of_code_says_why():
    activity = Activity()
    with activity.freeing("finish"), activity.freeing("overshoot"):
        assert activity.free_reason() == "overshoot"


def test_grants_nest():
    activity = Activity()
    with activity.granting(Grant("extend")), activity.granting(Grant("spec_reserve", (1,), (4,))):
        assert activity.grant.reason == "spec_reserve"
    assert activity.grant.reason == "other"


def test_a_mover_has_the_caller_around_it():
    activity = Activity()
    with activity.moving("accept"):
        with activity.moving("draft_tail"):
            assert activity.mover == "draft_tail"
        assert activity.mover == "accept"
    assert activity.mover == "other"


def test_a_batch_runs_inside_another():
    activity = Activity()
    with activity.running("outer", [SOMEONE]), activity.running("inner", []):
        assert list(activity.batch) == []
    assert activity.schedule_batch is None
