"""Families whose workers need a GPU or an adapter: what their own code builds and returns, without their models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import pytest
from running import HERE, environment, release_folder

from tests.ledgers import TABLES, Run


def run(script: str, *arguments: str, release: str = "0.5.23") -> dict[str, Any]:
    """What a script prints that drives one part of the engine."""
    ran = subprocess.run(
        [sys.executable, str(HERE / script), release_folder(release), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment(),
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout)


def recorded(told: dict[str, Any], also: Sequence[str] = ("swa_map",), **head: Any) -> Run:
    """What a script recorded, as a process that records these tables whole."""
    found = Run(tables=[*TABLES, *also], **head)
    found.lines = [{key: value for key, value in event.items() if key != "seq"} for event in told["events"]]
    return found


def pools(page: int) -> list[dict[str, Any]]:
    """The pools of real_swa.py."""
    space = {"page_size": page, "reserved_slots": page, "owner": "page"}
    return [
        {"name": "full", "kind": "full", "slots": 32, "namespace": "target", **space},
        {"name": "swa", "kind": "swa", "slots": 16, "namespace": "swa", **space},
    ]


WINDOWED = [f"0.5.{patch}" for patch in range(12, 23)]
"""Releases beside the last, all of which have the allocator of a window."""


@pytest.mark.parametrize(
    ("page", "release"),
    [
        *((page, "0.5.23") for page in (1, 4)),
        *(pytest.param(4, release, marks=pytest.mark.full) for release in WINDOWED),
    ],
)
def test_slots_and_their_peers_in_the_window_are_those_of_the_engines_mapping(
    page: int, release: str
) -> None:
    told = run("real_swa.py", str(page), release=release)
    assert told["failures"] == []
    peers: dict[str, int] = {}
    seen = []
    for event in told["events"]:
        if event["event"] == "swa_map":
            pairs = zip(map(str, event["full_slots"]), event["swa_slots"], strict=True)
            peers = {slot: peer for slot, peer in (peers | dict(pairs)).items() if peer}
            seen.append(peers)
    granted, left, *_ = told["mappings"]
    assert granted and len(left) == len(granted) - page
    assert [each for each in told["mappings"] if each not in seen and each] == []
    assert peers == told["mappings"][-1] == {}
    assert all(len(set(each.values())) == len(each) for each in told["mappings"])
    frees = [event["slots"] for event in told["events"] if event["event"] == "free"]
    result = recorded(told, pools=pools(page)).check("OWN-MAP")
    assert result.findings == () and result.checked["OWN-MAP"] >= len(told["mappings"])
    counts = [len(slots) for slots in frees]
    assert (counts[:2], sum(counts[2:])) == ([4, 8 - page], 8 * (page > 1)), (
        "leaving the window frees no slot"
    )


@pytest.mark.parametrize("page", [1, 4])
def test_a_release_that_keeps_the_peers_is_recorded_as_it_is_and_found(page: int) -> None:
    told = run("real_swa.py", str(page), "keeps-peers")
    assert told["failures"] == []
    kept = [event for event in told["events"] if event["event"] == "swa_map"][2]
    assert all(kept["swa_slots"]), "the mapping behind what left the window, and not what it should be"
    findings = recorded(told, pools=pools(page)).check("OWN-MAP").findings
    assert findings and {finding.rule for finding in findings} == {"OWN-MAP"}


@pytest.mark.full
def test_pages_spread_over_ranks_are_counted_as_the_engines_leak_check_counts_them() -> None:
    told = run("real_interleave.py")
    assert told["failures"] == []
    recording = recorded(told, pools=[told["pool"]])
    stats = [event for event in recording.lines if event["event"] == "pool_stat"]
    assert [stat["available"] for stat in stats] == [36, 32, 24, 32]
    assert told["floors"] == [32, 32, 24, 32], "what `available_size` says is no account"
    assert recording.check("OWN-CONSERVE").checked == {"OWN-CONSERVE": 4}
    assert recording.check().findings == ()
    stats[0]["available"] = told["floors"][0]
    assert [finding.rule for finding in recording.check("OWN-CONSERVE").findings] == ["OWN-CONSERVE"]


@pytest.mark.parametrize("fault", ["", "left-behind"])
def test_the_keys_of_an_indexer_move_with_what_they_index(fault: str) -> None:
    told = run("real_indexer.py", *([fault] if fault else []))
    assert told["failures"] == [] and told["moved"] is not bool(fault)
    assert told["pool"]["components"] == ["kv", "index_k"]
    moved = [event["components"] for event in told["events"] if event["event"] == "move"]
    assert sorted(moved) == ([["kv"]] if fault else [["index_k"], ["kv"]])
    result = recorded(told, also=("move",), pools=[told["pool"]]).check("MOV-ALLPOOLS", "MOV-PAIR")
    assert [finding.rule for finding in result.findings] == ["MOV-ALLPOOLS"] * bool(fault)
    assert result.checked["MOV-ALLPOOLS"] == 1


STATES = [
    pools(1)[0],
    {"name": "mamba", "kind": "mamba", "slots": 8, "page_size": 1, "reserved_slots": 1, "namespace": "mamba"}
    | {"owner": "request"},
]
OF_STATES = ("ST-MAMBA", "OWN-DFREE")


@pytest.mark.parametrize(
    "release", ["0.5.23", *(pytest.param(r, marks=pytest.mark.full) for r in ("0.5.15", "0.5.18", "0.5.21"))]
)
def test_recurrent_states_that_the_tree_keeps_serves_and_gives_up(release: str) -> None:
    told = run("real_mamba_tree.py", release=release)
    assert told["failures"] == []
    assert (told["taken"], told["known"], told["hit"], told["missed"]) == (False, True, told["first"], None)
    states = [e for e in told["events"] if e.get("pool") == "mamba"]
    kept = [(e["action"], e["slots"]) for e in states if e["event"] == "cache"]
    assert kept == [(action, told["first"]) for action in ("insert", "match", "evict")]
    assert [(e["event"], e["slots"]) for e in states if e["event"] != "cache"] == [
        ("alloc", [1]), ("alloc", [2]), ("free", [2]), ("alloc", [3]), ("free", [1]),
    ]  # fmt: skip
    result = recorded(told, also=("state_commit",), pools=STATES).check(*OF_STATES)
    assert result.findings == () and result.checked == {"ST-MAMBA": 1, "OWN-DFREE": 4}


@pytest.mark.parametrize(
    ("fault", "rule"), [("freed-twice", "OWN-DFREE"), ("stale-state", "ST-MAMBA"), ("other-node", "ST-MAMBA")]
)
@pytest.mark.full
def test_a_fault_in_what_the_tree_keeps_of_states(fault: str, rule: str) -> None:
    told = run("real_mamba_tree.py", fault)
    result = recorded(told, also=("state_commit",), pools=STATES).check(*OF_STATES)
    assert {finding.rule for finding in result.findings} == {rule}


COMMITTING = [f"0.5.{patch}" for patch in range(14, 23)]
"""Releases beside the last whose commit of recurrent states is a function of its own."""


@pytest.mark.parametrize(
    "release", ["0.5.23", *(pytest.param(release, marks=pytest.mark.full) for release in COMMITTING)]
)
def test_the_recurrent_state_behind_the_last_accepted_row_is_kept(release: str) -> None:
    told = run("real_mamba.py", release=release)
    assert (told["failures"], told["kept"]) == ([], [[3, 0], [2, 2]])
    commits = [
        (e["request"], e["row"], e["step_index"]) for e in told["events"] if e["event"] == "state_commit"
    ]
    assert commits == [("a", 2, 3), ("b", 5, 0), ("a", 2, 2), ("b", 5, 2)]
    result = recorded(told, also=("state_commit",), pools=STATES).check("ST-MAMBA")
    assert result.findings == () and result.unknown == ()
    assert result.checked == {"ST-MAMBA": 8}, "four commits, and four verifies that a request goes on from"


@pytest.mark.parametrize(("fault", "request_", "row"), [("other-index", "b", 5), ("other-row", "a", 5)])
def test_a_commit_of_another_recurrent_state_is_found(fault: str, request_: str, row: int) -> None:
    told = run("real_mamba.py", fault)
    assert told["failures"] == []
    result = recorded(told, also=("state_commit",), pools=STATES).check("ST-MAMBA")
    assert {(finding.rule, finding.step) for finding in result.findings} == {("ST-MAMBA", 2)}
    assert (request_, row) in {(finding.request, finding.row) for finding in result.findings}


@pytest.mark.full
def test_uno_verifies_one_row_more_than_it_drafts() -> None:
    told = run("real_uno.py")
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


@pytest.mark.full
def test_a_worker_of_the_first_kind_frees_what_it_rejects() -> None:
    told = run("real_v1.py", release="0.5.13")
    assert told["failures"] == []
    first, second = told["granted"][:3], told["granted"][3:]
    events = {
        table: [e for e in told["events"] if e["event"] == table] for table in ("alloc", "free", "lengths")
    }
    assert [(e["request"], e["slots"], e["reason"]) for e in events["alloc"]] == [
        ("r1", first, "spec_reserve"),
        ("r2", second, "spec_reserve"),
    ]
    (free,) = events["free"]
    assert (free["slots"], free["reason"]) == ([first[1], *second[1:]], "reject")
    assert set(free["slots"]) <= set(told["free"])
    assert [(e["committed"], e["allocated"]) for e in events["lengths"]] == [(6, 6), (7, 7)]
