"""A finding about state or pages beside the main KV answers: KV or state, whose, and what is its clean-up for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.about import BY_POOL, BY_RULE, about
from speckv_debug.checks.rule import RULES
from speckv_debug.model.process import Pool, Process

Build = Callable[..., Any]
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
    assert about("ST-RING", "elsewhere", INFO) is None
    assert {*BY_RULE, *BY_POOL} <= set(RULES)
    assert {rule for rule in RULES if rule.startswith("ST-")} <= {*BY_RULE, *BY_POOL}
