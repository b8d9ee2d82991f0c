"""Families whose workers need a GPU or an adapter: what their own code builds and returns, without their models."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from running import HERE, _environment

RELEASE = Path(sys.prefix) / "sglang-0.5.23"


@pytest.mark.full
def test_uno_verifies_one_row_more_than_it_drafts() -> None:
    ran = subprocess.run(
        [sys.executable, str(HERE / "real_uno.py"), str(RELEASE)],
        capture_output=True,
        text=True,
        timeout=300,
        env=_environment(),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    told = json.loads(ran.stdout)
    first, second = told["events"]
    assert told["result"]["accept_lens"] == [3, 2]
    assert [e["accept_len"] for e in told["events"]] == [3, 2]
    assert [e["new_seq_len"] for e in told["events"]] == told["result"]["new_seq_lens"] == [8, 11]
    assert [*first["predict"], *second["predict"]] == told["result"]["next_token_ids"]
    assert (first["seq_len"], first["positions"]) == (5, [5, 6, 7, 8])
    assert first["draft_tokens"] == [11, 12, 13, 40], "the seed, the clean root, the drafts"
    assert first["target_predict"] == [12, 13, 14, 15]
    assert first["out_cache_loc"] == first["table_slots"] == [37, 38, 39, 40]
    assert (first["bonus_token"], second["bonus_token"]) == (14, 23)
    assert {e["layout"] for e in told["events"]} == {"chain"}
