"""UNO on the real scheduler, as a chain and as a tree: what is recorded, and what of it is claimed."""

from __future__ import annotations

import pytest
from running import Run
from scenarios import PLAIN, UNO

pytestmark = [
    pytest.mark.full,
    pytest.mark.parametrize("scenario", [scenario.name for scenario in UNO]),
]
ANOTHER_ROUND = {
    "no accept_index and no num_correct_drafts",
    "the engine gives accept lengths only",
    "the engine's algorithm verifies from one past the frontier",
    "the kernels know one non-draft row a request",
    "the recording does not show what was written to the slots",
    "no device times were recorded: the order on the host alone does not tell",
    "the tail starts before the committed length: a stop may have cut what is kept",
}
"""Why laws about one verify of one model don't judge a round of two forwards."""


def test_it_ended_well_with_the_tokens_of_plain_decoding(run: Run, runs) -> None:
    assert run.exit_code == 0, run.stderr[-2000:]
    assert None not in run.process.info.hooks.values()
    assert run.of("drop") == []
    assert run.tokens == runs[PLAIN.name].tokens


def test_check_finds_nothing(run: Run) -> None:
    assert run.report["findings"] == []
    assert run.report["checked"]["OWN-DFREE"] > 0


def test_what_is_claimed(run: Run) -> None:
    said = [note.text for note in run.of("note") if "may pass the hooks by" in note.text]
    if run.scenario.topk == 1:
        assert said == []
        assert max(e.accept_len for e in run.of("accept")) > 2
        unknown = {entry["why"] for entry in run.report["unknown"] if entry["instances"]}
        assert unknown <= ANOTHER_ROUND
    else:
        assert len(said) == 1 and "one position behind the committed length" in said[0]
        assert run.of("accept") == [] and run.of("move")
        assert not {"accept", "move", "reserve", "lengths", "table_write"} & set(run.process.info.tables)
