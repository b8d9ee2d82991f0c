"""The first lines: is it broken, where, since which step, and what could not be judged."""

import re
from dataclasses import replace

from speckv_debug.model.causes import root_causes, worst_first
from speckv_debug.model.finding import CheckResult, Known, Severity, Unknown
from speckv_debug.viewers.html.headline import headline, place_of
from tests.reported import finding, result


def lines(result: CheckResult) -> list[str]:
    """The headline's paragraphs as plain text."""
    html = re.sub(r"</(p|h1)>", "\n", headline(result, worst_first(root_causes(result.findings))))
    return re.sub(r"<[^>]+>", "", html).replace("&#x27;", "'").splitlines()


def test_a_broken_run_says_where_and_since_when() -> None:
    first, follows = (
        finding(step=812, first_seq=39),
        finding(rule="LEN-TOKEN", step=813, first_seq=60, cause=39),
    )
    assert lines(result(first, follows)) == [
        "✗ found",
        "Step 812, request 7: the last move runs backwards",
        "1 root cause, 1 consequence, since step 812; request 7.",
        "Judged 100 % of 100 instances, by 1 rule. Nothing was left unjudged.",
    ]


def test_a_finding_of_several_processes_names_its_own() -> None:
    roots = worst_first(root_causes(result(finding(process="tp1")).findings))
    assert "<h1>Process tp1, step 812, request 7: the last" in headline(
        result(finding()), roots, several=True
    )
    assert place_of(finding(), several=False) == "step 812, request 7"
    nowhere = finding(step=None, request=None, row=None, process="tp1")
    assert place_of(nowhere, several=True) == "process tp1, event 51"


def test_an_error_is_named_before_an_earlier_warning_but_since_counts_both() -> None:
    warning = finding(
        rule="TRC-GAP", severity=Severity.WARNING, step=3, message="events are missing", first_seq=1
    )
    _, title, counts, _ = lines(result(warning, finding()))
    assert title == "Step 812, request 7: the last move runs backwards"
    assert counts == "2 root causes, since step 3; request 7."


def test_notes_alone_are_nothing_found() -> None:
    said = lines(result(finding(severity=Severity.NOTE)))
    assert said[:3] == [
        "✓ nothing found",
        "Nothing found in 100 instances of 1 rule",
        "1 note; notes never change the verdict.",
    ]


def test_what_could_not_be_judged_is_named_most_instances_first() -> None:
    unknown = (
        Unknown(rule="ACC-CHAIN", why="no target_predict", instances=1),
        Unknown(rule="OWN-RACE", why="needs device times", instances=20),
        Unknown(rule="OWN-LEAK", why="needs device times", instances=3),
    )
    assert lines(result(unknown=unknown))[-1] == (
        "Judged 80.6 % of 124 instances, by 1 rule. "
        "Can't be judged: OWN-LEAK, OWN-RACE (needs device times); ACC-CHAIN (no target_predict)."
    )


def test_the_judged_share_is_never_rounded_up_to_all() -> None:
    (said,) = lines(result(unknown=(Unknown(rule="A", why="w", instances=1),), checked=99_999))[2:]
    assert said.startswith("Judged 99.9 % of 100,000 instances")


def test_no_tick_where_most_is_unknown() -> None:
    little = result(unknown=(Unknown(rule="A", why="w", instances=101),))
    assert lines(little)[0] == "? nothing found, most can't be judged"
    assert 'class="headline unknown"' in headline(little, ())
    assert lines(result(unknown=(Unknown(rule="A", why="w", instances=100),)))[0] == "✓ nothing found"


def test_no_tick_and_no_green_where_a_file_is_lost() -> None:
    some = result(unknown=(Unknown(rule="A", why="w", instances=1),))
    made = headline(some, (), damaged=True)
    assert "? nothing found, part of the recording is lost" in made
    assert 'class="headline unknown"' in made
    assert 'class="headline clean"' in headline(some, ()) and 'class="headline clean"' in headline(
        result(), (), damaged=True
    )


def test_what_baseline_and_configuration_took_away_is_said() -> None:
    less = replace(result(), known=Known(findings={"MOV-PAIR": 2}, unmatched=1), disabled=("LOC-PAD",))
    assert lines(less)[:4] == [
        "✓ nothing new found",
        "Nothing new found in 100 instances of 1 rule",
        "known: 2 findings of the baseline left out (MOV-PAIR 2); 1 of its entries fits nothing.",
        "disabled: LOC-PAD, by the configuration.",
    ]


def test_nothing_judged_says_why() -> None:
    nothing = CheckResult(unknown=(Unknown(rule="OWN-RACE", why="needs device times", instances=4),))
    assert lines(nothing)[:2] == [
        "? can't be judged",
        "Nothing could be judged: OWN-RACE (needs device times)",
    ]


def test_a_finding_without_step_and_request_still_has_a_place() -> None:
    said = lines(result(finding(step=None, request=None, row=None, first_seq=17)))
    assert said[1] == "Event 17: the last move runs backwards"
    assert said[2] == "1 root cause."
