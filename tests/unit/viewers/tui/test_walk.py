"""n and N go from finding to finding in the order of the recording."""

from speckv_debug.viewers.tui.outline import Entry, outcome_of
from speckv_debug.viewers.tui.walk import Moment, next_finding
from tests.inspected import LABEL, SmallProcess, SmallRun, broken

ENTRIES = outcome_of(broken(), {LABEL: SmallProcess(SmallRun()).lookup}).entries


def rule_of(seq: int, by: int, visited: Entry | None = None) -> str | None:
    entry = next_finding(ENTRIES, [LABEL], Moment(0, seq), visited, by)
    return None if entry is None else entry.finding.rule


def test_from_anywhere_to_the_next_later_event() -> None:
    assert rule_of(100, 1) == "MOV-PAIR"
    assert rule_of(460, 1) == "LEN-TOKEN"
    assert rule_of(600, 1) == "OWN-LEAK"
    assert rule_of(900, 1) is None


def test_and_back_to_the_earlier_one() -> None:
    assert rule_of(900, -1) == "OWN-LEAK"
    assert rule_of(490, -1) == "MOV-PAIR"
    assert rule_of(460, -1) is None


def test_the_visited_finding_counts_rather_than_where_it_shows() -> None:
    assert rule_of(10**6, 1, visited=ENTRIES[0]) == "LEN-TOKEN"
    assert rule_of(0, -1, visited=ENTRIES[1]) == "MOV-PAIR"
