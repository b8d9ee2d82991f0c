"""A finding about state or pages beside the main KV answers: KV or state, whose, and what is its clean-up for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks.about import BY_POOL, BY_RULE, about
from speckv_debug.checks.rule import RULES
from speckv_debug.checks.run import check
from speckv_debug.model.process import Pool, Process
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording

Build = Callable[..., Any]
RECORDINGS = Path(__file__).parents[2] / "recordings" / "rules"
INFO = Process(
    label="tp0",
    pools=tuple(
        Pool(name=name, kind=kind, owner=owner)
        for name, kind, owner in (
            ("full", "full", "page"),
            ("c128", "c128", "sidecar"),
            ("swa", "swa", "page"),
            ("c4", "c4", "page"),
            ("indexer", "indexer", "page"),
            ("c4_state", "c4_state", "request"),
            ("c4_paged", "c4_state", "page"),
            ("c128_state", "c128_state", "request"),
            ("states", "mamba", "request"),
        )
    ),
)


@pytest.mark.parametrize(
    ("rule", "pool", "words"),
    [
        ("ST-C128", "c128_state", ("compressor state", "request row", "stale read")),
        ("ST-C128", None, ("compressor state", "request row", "stale read")),
        ("ST-RING", "c128_state", ("compressor state", "request row", "stale read")),
        ("ST-RING", "c4_state", ("compressor state", "request row", "overwritten before it is read")),
        ("ST-RING", "c4_paged", ("compressor state", "page of the sliding window", "overwritten before it is read")),
        ("RPL-STATE", "states", ("recurrent state", "request row", "not cleaned up")),
        ("ST-MAMBA", "states", ("recurrent state", "request row", "not cleaned up")),
        ("OWN-REF", "c128", ("a KV page", "references", "give the page back")),
        ("OWN-REF", None, ("a KV page", "references", "give the page back")),
        ("OWN-REF", "c128_state", ("compressor state", "request row", "stale read")),
        ("OWN-MAP", None, ("KV pages", "full slots", "give its pages back")),
        ("ST-SWA", "full", ("KV pages", "full slots", "give its pages back")),
        ("OWN-DFREE", "c128", ("a KV page", "references", "give the page back")),
        ("OWN-DFREE", "states", ("recurrent state", "request row", "not cleaned up")),
        ("OWN-UAF", "c128", ("a KV page", "references", "give the page back")),
        ("OWN-CONSERVE", "states", ("recurrent state", "request row", "not cleaned up")),
        ("LOC-RANGE", "c4", ("a KV page (C4)", "full slots", "give its pages back")),
        ("LOC-OWNED", "swa", ("KV pages", "full slots", "give its pages back")),
        ("MOV-ALLPOOLS", "indexer", ("indexer's keys", "target's KV", "give its pages back")),
        ("MOV-ALLPOOLS", "full", ("KV pages", "request rows", "give its pages back")),
        ("LOC-UNIQ", "swa", ("KV pages", "full slots", "give its pages back")),
        ("LOC-GROUP", "swa", ("KV pages", "full slots", "give its pages back")),
    ],
)  # fmt: skip
def test_the_three_questions(rule: str, pool: str | None, words: tuple[str, str, str]) -> None:
    answers = (about(rule, pool, INFO) or "").split(" · ")
    assert len(answers) == 3
    for answer, word in zip(answers, words, strict=True):
        assert word in answer


def test_other_rules_and_unknown_pools_have_no_answer() -> None:
    assert about("MOV-PAIR", "full", INFO) is None
    assert about("OWN-DFREE", "full", INFO) is None
    assert about("LOC-UNIQ", "full", INFO) is None
    assert about("ST-RING", "elsewhere", INFO) is None
    assert {*BY_RULE, *BY_POOL} <= set(RULES)
    assert {rule for rule in RULES if rule.startswith("ST-")} <= {*BY_RULE, *BY_POOL}


BESIDE = sorted(rule for rule in RULES if rule.startswith("ST-"))
BESIDE += ["OWN-MAP", "OWN-REF", "MOV-ALLPOOLS", "LOC-GROUP"]


@pytest.mark.parametrize("rule", BESIDE)
def test_each_finding_about_what_lies_beside_the_kv_answers_them(rule: str, tmp_path: Path) -> None:
    import_jsonl(RECORDINGS / rule / "fail.jsonl", tmp_path / "x.speckv")
    findings = check(Recording.open(tmp_path / "x.speckv"), only=[rule]).findings
    assert findings
    for finding in findings:
        assert len((finding.about or "").split(" · ")) == 3, finding


KEYS = {"name": "indexer", "kind": "indexer", "allocated_by": "full", "components": ["key"]}
KV = {"slots": 99, "page_size": 1, "reserved_slots": 1, "components": ["k"]}
MAIN, WINDOW = KV | {"name": "full", "kind": "full"}, KV | {"name": "swa", "kind": "swa"}
MOVE = {
    "event": "move",
    "step": 1,
    "pool": "full",
    "caller": "accept",
    "components": ["k"],
    "src": [9],
    "tgt": [8],
}
PEERS = {"event": "swa_map", "step": 1, "full_slots": [8, 9], "swa_slots": [18, 19]}
ROW = {"event": "table_write", "step": 1, "row": 1, "epoch": 1, "start": 0, "slots": [8, 9]}
READ = {"event": "forward", "step": 1, "mode": "extend", "pool": "full", "request": "a", "row": 1, "epoch": 1}
READ |= {"start": 0, "slots": [8, 9]}


@pytest.mark.parametrize(
    ("rule", "lines", "pools", "what"),
    [
        ("MOV-ALLPOOLS", [MOVE], [MAIN, KV | KEYS], "the indexer's keys"),
        ("MOV-ALLPOOLS", [PEERS, MOVE], [MAIN, WINDOW], "KV pages of the sliding window"),
        ("MOV-ALLPOOLS", [MOVE | {"components": ["v"]}], [MAIN], "KV pages of all positions"),
        ("LOC-GROUP", [ROW, PEERS, READ | {"group": "swa"}], [MAIN, WINDOW], "KV pages of the sliding window"),
        ("LOC-GROUP", [ROW, PEERS, READ | {"slots": [18, 19]}], [MAIN, WINDOW], "KV pages of all positions"),
    ],
)  # fmt: skip
def test_a_finding_at_the_main_pool_is_about_what_stays_behind(
    judge: Build, rule: str, lines: list[Any], pools: list[Any], what: str
) -> None:
    tables = ["move", "swa_map", "forward", "table_write"]
    (finding,) = judge(rule, *lines, pools=pools, tables=tables, from_start=True).findings
    assert finding.pool == "full" and (finding.about or "").startswith(what)
