"""Accepted paths out of accept rows, whatever the engine wrote there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.view import ProcessView

Build = Callable[..., Any]
LISTS = (
    "draft_tokens",
    "predict",
    "out_cache_loc",
    "table_slots",
    "next_token",
    "next_sibling",
    "accept_index",
)
BARE: dict[str, Any] = {"layout": "chain"} | dict.fromkeys(LISTS)


@pytest.fixture
def batch(record: Build, verify: Build) -> Build:
    def build(*verifies: dict[str, Any], **settings: Any) -> VerifyBatch:
        lines = [verify(**columns) for columns in verifies]
        return ProcessView(record(*lines, head={"settings": settings}).processes[0]).verifies

    return build


@pytest.mark.parametrize(
    ("columns", "path"),
    [
        ({}, (0, 1, 3)),
        ({"accept_len": None, "accept_index": [0, 1, -1]}, (0, 1)),
        ({"accept_len": 2}, (0, 1)),
        ({"accept_len": 4}, None),
        ({"accept_index": [0, -1, 3]}, None),
        ({"accept_index": [0, 1, 9]}, None),
        ({"block_start": 8, "accept_index": [8, 9, 11]}, (0, 1, 3)),
        ({"accept_len": 0}, ()),
        ({"accept_len": -1}, None),
        ({"accept_index": None}, None),
        ({"accept_index": None, "layout": "chain"}, (0, 1, 2)),
        (BARE | {"accept_len": 2**31 - 1, "width": 2**31 - 1}, None),
        (BARE | {"width": -5}, None),
    ],
)
def test_paths(batch: Build, columns: dict[str, Any], path: tuple[int, ...] | None) -> None:
    found = batch(columns)
    assert found.path.tuple(0) == path
    assert len(found.parents) == 1


def test_the_width_comes_from_the_lists_where_it_is_absent(batch: Build) -> None:
    found = batch({"width": None}, BARE | {"width": None, "out_cache_loc": [1, 2]}, BARE | {"width": 3})
    assert found.width.tolist() == [4, 2, 3]


def test_simulation_is_per_verify_or_by_the_engine(batch: Build) -> None:
    rows = ({"sampling": None}, {"sampling": "simulated"}, {"sampling": "greedy"})
    assert batch(*rows).simulated.tolist() == [False, True, False]
    assert batch(*rows, simulate_acc_len=3.0).simulated.tolist() == [True, True, False]


def test_the_targets_choice_falls_back_to_predict(batch: Build) -> None:
    found = batch({"target_predict": [1, 2, 3, 4]}, {})
    assert [found.chosen.tuple(0), found.chosen.tuple(1)] == [(1, 2, 3, 4), (21, 23, 0, 31)]


@pytest.mark.parametrize(
    ("columns", "sized"),
    [
        ({}, True),
        (BARE | {"width": 200}, True),
        (BARE | {"width": 60_000}, False),  # nothing bears it out: 2000 of these would take gigabytes
        (BARE | {"width": 300, "draft_tokens": [1] * 300}, True),
        (BARE | {"width": 2**31 - 1}, False),
        (BARE | {"width": -5}, False),
        (BARE | {"width": 0}, False),
    ],
)
def test_a_width_is_borne_out_by_a_list(batch: Build, columns: dict[str, Any], sized: bool) -> None:
    assert batch(columns).sized.tolist() == [sized]
    assert batch(columns).parents.present.tolist() == [sized]
