"""Pages and states of compressed KV (DeepSeek-V4), driven with SGLang's own classes: what is recorded and judged of them."""

from __future__ import annotations

from typing import Any

import pytest
from test_families import recorded, run

FULL = {"name": "full", "kind": "full", "slots": 64, "page_size": 4, "reserved_slots": 4}
FULL |= {"namespace": "target", "owner": "page"}
RULES = ("OWN-DFREE", "OWN-REF", "ST-C128")


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    """All runs of real_dsv4.py."""
    return run("real_dsv4.py")


def judged(told: dict[str, Any]) -> Any:
    """What the rules say of one of them."""
    assert told["failures"] == []
    return recorded(told, pools=[FULL, *told["pools"]], also=("page_ref", "state_clear")).check(*RULES)


@pytest.mark.parametrize("level", [2, 3])
def test_a_life_with_a_shared_page_and_a_verify_is_clean(runs: dict[str, Any], level: int) -> None:
    told = runs[f"none {level}"]
    result = judged(told)
    assert result.findings == ()
    assert not [unknown for unknown in result.unknown if unknown.instances]
    assert result.checked["OWN-DFREE"] == 2, "both pages went back, once each"
    assert result.checked["OWN-REF"] >= 15 and result.checked["ST-C128"] == 5
    assert set(told["counts"]) == {0}, "all pages went back"
    clears = [event for event in told["events"] if event["event"] == "state_clear"]
    drafts = [(event["row"], event["ring_rows"]) for event in clears if "width" in event]
    assert drafts == [(1, [1]), (2, [3, 4, 5])], (
        "offset 3 behind length 6, offsets 1 to 3 behind length 10, ring of 8"
    )
    assert {len(event["ring_rows"]) for event in clears if "width" not in event} == {8}
    halves = {(event.get("first_half"), event.get("second_half")) for event in clears}
    assert halves == ({(0.0, float("-inf"))} if level == 3 else {(None, None)})


def test_the_pools_beside_the_main_one_say_whose_they_are(runs: dict[str, Any]) -> None:
    """The 49 rows of rings and of what stands for none are padded to 128, of which the last is no ring's."""
    pages = {"page_size": 4, "reserved_slots": 4, "slots": 64, "owner": "sidecar"}
    rings = {"page_size": 1, "reserved_slots": 0, "slots": 127 // 8 * 8, "owner": "request"}
    named = {"c128": pages, "c128_state": rings}
    assert runs["none 2"]["pools"] == [
        {"name": name, "kind": name, "namespace": name} | of for name, of in named.items()
    ]


def test_a_retain_counts_what_is_named_twice_and_a_release_does_not(runs: dict[str, Any]) -> None:
    told = runs["named-twice 2"]
    assert judged(told).findings == () and set(told["counts"]) == {0}
    named = [event for event in told["events"] if event["event"] == "page_ref" and event["pages"] == [1, 1]]
    assert [(event["action"], event["count_after"]) for event in named] == [
        ("retain", [5, 5]), ("release", [4, 4]), ("release", [3, 3]),
    ]  # fmt: skip


def test_a_free_by_index_gives_back_slots_and_peers_and_nothing_that_a_request_holds(
    runs: dict[str, Any],
) -> None:
    told = runs["by_index"]
    assert told["failures"] == [] and told["counts"] == [1]
    kept, given = told["slots"][:4], told["slots"][4:]
    (free,) = (event for event in told["events"] if event["event"] == "free")
    assert (free["pool"], free["form"], free["slots"], "request" in free) == ("full", "index", given, False)
    cleared = [event for event in told["events"] if event["event"] == "swa_map"]
    assert {
        (slot, peer)
        for event in cleared
        for slot, peer in zip(event["full_slots"], event["swa_slots"], strict=True)
    } == {(slot, 0) for slot in given}
    assert all(told["peers"][: len(kept)]) and not any(told["peers"][len(kept) :])
    assert {event["event"] for event in told["events"]} == {"free", "swa_map"}, "no page of C128, no ring"


def test_a_count_falls_below_zero_without_an_error(runs: dict[str, Any]) -> None:
    assert min(runs["released-twice 2"]["counts"]) == -1


@pytest.mark.parametrize(
    ("planted", "rule"),
    [
        ("released-twice 2", "OWN-REF"),
        ("moved-page 2", "OWN-REF"),
        ("count-of-drafts 2", "ST-C128"),
        ("count-of-drafts 3", "ST-C128"),
        ("one-offset-late 2", "ST-C128"),
        ("one-offset-late 3", "ST-C128"),
        ("half-cleared 2", "ST-C128"),
        ("half-cleared 3", "ST-C128"),
    ],
)
def test_a_fault_is_found(runs: dict[str, Any], planted: str, rule: str) -> None:
    assert {finding.rule for finding in judged(runs[planted]).findings if finding.cause is None} == {rule}


EXPECTED = {
    "none": "",
    "named-twice": "",
    "released-twice": "OWN-REF",
    "moved-page": "OWN-REF",
    **dict.fromkeys(("count-of-drafts", "one-offset-late", "half-cleared"), "ST-C128"),
}
"""What each planted fault is found by."""


@pytest.mark.full
@pytest.mark.parametrize("release", [f"0.5.{patch}" for patch in range(15, 23)])
def test_other_releases_do_the_same(release: str) -> None:
    """Rings are cleared from 0.5.15 on, pages are counted from 0.5.18 on."""
    told = run("real_dsv4.py", release=release)
    addresses, by_index = told.pop("addresses"), told.pop("by_index", {"failures": []})
    assert by_index["failures"] == []
    assert addresses == {"by_row": [21, 21, 24, -1], "by_page": [0, 5, 9, 19, -1]}
    counted = int(release.rpartition(".")[2]) >= 18
    assert {name.partition(" ")[0] for name in told} == {
        fault for fault in EXPECTED if counted or EXPECTED[fault] == "ST-C128" or fault == "none"
    }
    for name, each in told.items():
        result = judged(each)
        rules = {finding.rule for finding in result.findings if finding.cause is None}
        assert rules == {EXPECTED[name.partition(" ")[0]]} - {""}, name
        assert result.checked["ST-C128"] == (5 if counted else 3), "two of them as rows end"
        assert (result.checked["OWN-REF"] >= 15) == counted
        assert not any(unknown.rule == "OWN-REF" for unknown in result.unknown if unknown.instances)


def test_a_page_that_only_moves_in_its_row_ends_up_held_and_free(runs: dict[str, Any]) -> None:
    """What SGLang's own `replace` does: it releases before it retains."""
    events = runs["moved-page 2"]["events"]
    freed = [event["slots"] for event in events if event["event"] == "free"]
    retained = [event["pages"] for event in events if event["event"] == "page_ref"]
    assert freed[0] == [8] and [2, 1] in retained


def test_states_lie_where_the_trace_and_the_bundled_engine_have_them(runs: dict[str, Any]) -> None:
    """By request row `row * ring + position % ring`, by page of the window `page * ring + slot % ring`; -1 is the empty row."""
    ring, page = 8, 8
    assert runs["addresses"]["by_row"] == [*(r * ring + p % ring for r, p in ((2, 5), (2, 13), (3, 8))), -1]
    assert runs["addresses"]["by_page"] == [*(s // page * ring + s % ring for s in (0, 5, 9, 19)), -1]
