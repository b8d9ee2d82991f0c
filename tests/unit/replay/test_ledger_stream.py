"""The ledger that goes on from window to window judges what the ledger of the whole judges."""

from __future__ import annotations

import random
from collections import Counter
from typing import cast

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay import ledger as module
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.further import LooksFurther
from speckv_debug.replay.ledger import Ledger
from speckv_debug.replay.ledger_facts import FAIL, JUDGED, PASS
from speckv_debug.replay.ledger_stream import LedgerStream
from speckv_debug.replay.ownership import LEAK, EventFacts, Judged, RequestEnds
from speckv_debug.replay.pool_totals import PoolTotals
from tests.ledgers import Run, Stream
from tests.unit.replay.test_ledger_compiled import disturb
from tests.unit.replay.test_ledger_properties import PAGE_SIZES, SEEDS, SmallEngine

Told = dict[str, tuple[int, int, dict[str, int]]]
"""Law → instances that keep it, that break it, and why others can't be judged."""


def told_by(scope: Judged) -> tuple[int, int, dict[str, int]]:
    codes = Counter(scope.codes.tolist())
    return codes[PASS], codes[FAIL], {why: len(which) for why, which in scope.unknown.items()}


def whole(stream: Stream) -> Told:
    ledger = Ledger.fold(cast(ProcessRecording, stream))
    scopes: dict[str, Judged] = {law: EventFacts(ledger, law) for law in JUDGED if law != "totals"}
    return {
        law: told_by(each)
        for law, each in (scopes | {"totals": PoolTotals(ledger), LEAK: RequestEnds(ledger)}).items()
    }


def in_windows(stream: Stream, ends: list[int]) -> Told:
    ledger, before = LedgerStream(cast(ProcessRecording, stream)), -1
    for end in ends:

        def columns(name: str, first: int = before, last: int = end) -> Columns:
            table = stream.table(name)
            seq = table.column("seq")
            return Columns(table.filter(pc.and_(pc.greater(seq, first), pc.less_equal(seq, last))))

        ledger.feed(columns)
        before = end
    ledger.finish()
    found = {}
    for law, counts in ledger.counts.items():
        unknown = counts.unknown(ledger.ledger, law)
        known = counts.codes if not unknown or unknown.total() < counts.codes.total() else Counter[int]()
        found[law] = (known[PASS], known[FAIL], dict(unknown))
    return found


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES, spoil=st.booleans(), compiled=st.booleans())
def test_any_cut_of_a_run_says_the_same(seed: int, page_size: int, spoil: bool, compiled: bool) -> None:
    run, draw = SmallEngine(seed, page_size).play(40).run, random.Random(seed)
    if spoil:
        disturb(run, draw)
    for number, line in enumerate(run.lines):
        line["seq"] = number
    last = len(run.lines) - 1
    ends = sorted({*(draw.randrange(last) for _ in range(draw.choice((1, 3, 8)))), last})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "COMPILED_FROM", 0 if compiled else 1 << 60)
        stream = run.stream()
        try:
            found = in_windows(stream, ends)
        except LooksFurther:
            return
        assert found == (due := whole(stream))
        assert {law: list(told[2]) for law, told in found.items()} == {
            law: list(told[2]) for law, told in due.items()
        }


def test_a_use_of_a_page_that_was_freed_long_before_needs_the_whole() -> None:
    run = Run(4)
    run.start(1, [4, 5, 6, 7])
    run.end(1, [4, 5, 6, 7])
    freed = len(run.lines) - 1
    for row in (2, 3):
        run.start(row, [8 * row, 8 * row + 1])
    between = len(run.lines) - 1
    run.forward(2, 2, [4])
    with pytest.raises(LooksFurther, match="freed long before"):
        in_windows(run.stream(), [freed, freed + 1, between, len(run.lines) - 1])


def test_a_session_trim_needs_the_whole() -> None:
    run = Run(4)
    run.start(1, [4, 5, 6, 7])
    run.add("release", **run.who(1, None, 1), kind="session_trim", committed=4, allocated=4)
    with pytest.raises(LooksFurther, match="session trim"):
        in_windows(run.stream(), [len(run.lines) - 1])
