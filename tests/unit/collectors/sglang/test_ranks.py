"""Who records: rank 0 of each attention-TP group, or everybody."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from speckv_debug.collectors.sglang.ranks import attention_rank, is_recorded


@pytest.fixture(autouse=True)
def no_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPECKV_DEBUG_RANKS", raising=False)


def given(tp_rank: int, **server: Any) -> dict[str, Any]:
    """Arguments of a constructor of 0.5.12 to 0.5.20."""
    return {"server_args": SimpleNamespace(**server), "tp_rank": tp_rank}


@pytest.mark.parametrize(
    ("server", "recorded"),
    [
        ({"tp_size": 4}, [0]),
        ({"tp_size": 4, "dp_size": 2}, [0]),
        ({"tp_size": 4, "dp_size": 2, "enable_dp_attention": True}, [0, 2]),
        ({"tp_size": 4, "dp_size": 4, "enable_dp_attention": True}, [0, 1, 2, 3]),
        ({"tp_size": 4, "attn_cp_size": 2}, [0, 2]),
        ({"tp_size": 8, "dp_size": 2, "enable_dp_attention": True, "attn_cp_size": 2}, [0, 2, 4, 6]),
    ],
)
def test_the_first_of_each_attention_group_records(server: dict[str, Any], recorded: list[int]) -> None:
    ranks = range(server["tp_size"])
    assert [rank for rank in ranks if is_recorded(given(rank, **server))] == recorded


def test_all_record_if_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECKV_DEBUG_RANKS", "all")
    assert all(is_recorded(given(rank, tp_size=4)) for rank in range(4))


@pytest.mark.parametrize(("published", "recorded"), [(0, True), (1, False)])
def test_later_releases_have_published_the_rank(
    monkeypatch: pytest.MonkeyPatch, published: int, recorded: bool
) -> None:
    context = SimpleNamespace(get_parallel=lambda: SimpleNamespace(attn_tp_rank=published))
    monkeypatch.setitem(sys.modules, "sglang.srt.runtime_context", context)
    assert is_recorded({"server_args": SimpleNamespace(tp_size=2)}) is recorded


def test_a_rank_that_can_not_be_told_records(monkeypatch: pytest.MonkeyPatch) -> None:
    def unpublished() -> None:
        raise RuntimeError("not published")

    monkeypatch.setitem(sys.modules, "sglang.srt.runtime_context", SimpleNamespace(get_parallel=unpublished))
    assert attention_rank({}) is None
    assert is_recorded({})
