"""Root causes come first, errors before warnings, everything that follows stands below them."""

from speckv_debug.model.causes import root_causes, worst_first
from speckv_debug.model.finding import Severity
from tests.reported import finding, result


def test_consequences_of_consequences_stand_below_the_root() -> None:
    root = finding(first_seq=10)
    near = finding(rule="LEN-TOKEN", first_seq=20, cause=10)
    far = finding(rule="OWN-LEAK", first_seq=30, cause=20)
    (group,) = root_causes(result(root, near, far).findings)
    assert (group.finding, group.consequences) == (root, (near, far))


def test_a_cause_of_another_process_is_no_cause() -> None:
    root, other = finding(first_seq=10), finding(first_seq=20, cause=10, process="tp1-pp0-dp0")
    assert [group.finding for group in root_causes(result(root, other).findings)] == [root, other]


def test_of_two_findings_at_the_event_named_as_cause_the_root_is_the_cause() -> None:
    later = finding(rule="MOV-HAZARD", first_seq=10, cause=10)
    root = finding(first_seq=10)
    (group,) = root_causes(result(later, root).findings)
    assert (group.finding, group.consequences) == (root, (later,))


def test_a_ring_of_causes_still_shows_each_finding_once() -> None:
    one, two = finding(first_seq=10, cause=20), finding(rule="OWN-UAF", first_seq=20, cause=10)
    (group,) = root_causes(result(one, two).findings)
    assert (group.finding, group.consequences) == (one, (two,))


def test_errors_come_before_warnings_and_notes() -> None:
    note, warning, error = (
        finding(first_seq=seq, severity=severity)
        for seq, severity in ((1, Severity.NOTE), (2, Severity.WARNING), (3, Severity.ERROR))
    )
    assert [group.finding for group in worst_first(root_causes(result(note, warning, error).findings))] == [
        error,
        warning,
        note,
    ]
