"""The runner: what is missing is unknown, what raises hurts nobody, repeats fold, consequences know their cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.folding import FINDINGS_A_RULE, with_causes
from speckv_debug.checks.rule import ERROR, NOTE, Details, Judgement, rule
from speckv_debug.checks.run import check
from speckv_debug.checks.selection import named, select
from speckv_debug.errors import UsageError
from speckv_debug.model.finding import CheckResult, Finding, Severity
from speckv_debug.model.process import Pool, Process
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.schema import TABLES
from speckv_debug.replay.namespaces import Namespaces
from speckv_debug.replay.verifies import VerifyBatch
from speckv_debug.replay.view import ProcessView

Build = Callable[..., Any]
MOVE = {"event": "move", "step": 1, "pool": "full", "caller": "accept"}
RIGHT = MOVE | {"src": [100, 101, 103], "tgt": [100, 101, 102]}
SWAPPED = MOVE | {"src": [100, 101, 102], "tgt": [100, 101, 103]}


@pytest.fixture
def toy() -> Iterator[Callable[..., None]]:
    """`toy(check, **options)` registers a rule TOY for the test."""

    names = list[str]()

    def register(function: Callable[[VerifyBatch], Judgement], id: str = "TOY", **options: Any) -> None:
        rule(id, **({"severity": ERROR, "needs": ("accept",), "scope": "verifies"} | options))(function)
        names.append(id)

    yield register
    for name in names:
        RULES.pop(name, None)


def unknown(result: CheckResult, rule: str) -> dict[str, int]:
    return {each.why: each.instances for each in result.unknown if each.rule == rule}


def test_every_instance_is_judged_or_unknown(record: Build, verify: Build) -> None:
    result = check(record(verify(), verify(step=2, predict=None), RIGHT), only=["ACC-SHIFT"])
    assert result.checked == {"ACC-SHIFT": 1}
    assert unknown(result, "ACC-SHIFT") == {"no predict": 1}
    assert result.judged_share == 0.5


def test_a_table_that_was_not_recorded(record: Build, verify: Build) -> None:
    result = check(record(verify(), head={"tables": ["accept"]}), only=["MOV-MISSING"])
    assert unknown(result, "MOV-MISSING") == {"move was not recorded": 1}
    assert result.verdict == "unknown"


def test_a_listed_table_without_rows_is_evidence(record: Build, verify: Build) -> None:
    prefix = verify(accept_index=[0, -1, -1], accept_len=1, num_correct_drafts=0, bonus_token=21)
    result = check(record(prefix, head={"tables": ["accept", "move"]}), only=["MOV-MISSING"])
    assert result.checked == {"MOV-MISSING": 1}
    assert result.verdict == "clean"


def test_a_hole_in_the_span_of_an_instance(record: Build, verify: Build) -> None:
    lines = [verify(seq=0), SWAPPED | {"seq": 5}, verify(seq=6, step=2), RIGHT | {"seq": 7, "step": 2}]
    result = check(record(*lines), only=["MOV-PAIR", "ACC-COUNT"])
    assert unknown(result, "MOV-PAIR") == {"events 1 to 4 are missing": 1}
    assert result.checked == {"MOV-PAIR": 1, "ACC-COUNT": 2}
    assert not result.findings


def test_rows_that_the_recorder_dropped(record: Build, verify: Build) -> None:
    drop = {"event": "drop", "table": "move", "rows": 3, "why": "queue full"}
    reader = verify(step=2, seq_len=13, out_cache_loc=[103, 104, 105, 106], table_slots=[103, 104, 105, 106])
    result = check(record(verify(), drop, reader), only=["MOV-MISSING", "MOV-HAZARD"])
    assert "the recorder dropped rows of move" in unknown(result, "MOV-MISSING")
    assert unknown(result, "MOV-HAZARD") == {"the recorder dropped rows of move": 3}
    assert not result.findings


def test_a_recording_that_was_cut_off(record: Build, verify: Build) -> None:
    recording = record(verify())
    assert list(unknown(check(recording, only=["MOV-MISSING"]), "MOV-MISSING")) == [
        "nobody reads the rows before the recording ends"
    ]
    recording.processes[0].clean = False
    assert unknown(check(recording, only=["MOV-MISSING"]), "MOV-MISSING") == {
        "the recording was cut off before it could be seen": 1
    }


FULL = {"name": "full", "kind": "full", "slots": 1000, "page_size": 1, "reserved_slots": 1}
ALLOC = {"event": "alloc", "pool": "full", "request": "a", "row": 1, "slots": [100]}
FREES = [{"event": "free", "pool": "full", "request": "a", "row": 1, "slots": [100]}] * 2


def test_slots_of_a_pool_that_is_not_declared(record: Build, verify: Build) -> None:
    lines = [ALLOC, *FREES, verify(), SWAPPED]
    rules = ("OWN-DFREE", "MOV-PAIR")
    assert {f.rule for f in check(record(*lines, head={"pools": [FULL]}), only=rules).findings} == set(rules)
    result = check(record(*lines, head={"pools": [FULL | {"name": "renamed"}]}), only=rules)
    assert not result.findings
    assert result.checked == {"OWN-DFREE": 0, "MOV-PAIR": 0}
    why = "events of {} name pool full, which the process line does not declare"
    assert unknown(result, "OWN-DFREE") == {why.format("alloc"): 1, why.format("free"): 2}
    assert unknown(result, "MOV-PAIR") == {why.format("move"): 1}


OTHER = {"event": "free", "pool": "odd", "request": "a", "row": 1, "slots": [100], "step": 1}


@pytest.mark.parametrize("odd", [OTHER, OTHER | {"pool": "full", "epoch": -2}])
def test_a_single_event_that_means_nothing_leaves_what_comes_before_it(
    odd: dict[str, Any], record: Build, verify: Build
) -> None:
    head = {"pools": [FULL], "tables": ["alloc", "free", "free_group"], "from_start": True}
    lines = [ALLOC | {"epoch": 1}, *(free | {"epoch": 1} for free in FREES)]
    result = check(record(*lines, odd, head=head), only=["OWN-DFREE"])
    assert [f.first_seq for f in result.findings] == [2]
    assert sum(unknown(result, "OWN-DFREE").values()) == 1 and result.checked["OWN-DFREE"] == 2
    early = check(record(lines[0], odd, *lines[1:], head=head), only=["OWN-DFREE"])
    assert [f.first_seq for f in early.findings] == [
        3
    ]  # of the first free it is not known, the second is one too many
    assert early.checked["OWN-DFREE"] == 1


def test_a_verify_that_means_nothing_leaves_the_others(record: Build, verify: Build) -> None:
    odd = verify(step=2, seq_len=13, layout="bush")
    wrong = verify(step=3, seq_len=16, accept_len=2)
    result = check(record(verify(), odd, wrong), only=["ACC-COUNT", "LEN-SEQ"])
    assert [(f.rule, f.step) for f in result.findings] == [("ACC-COUNT", 3)]
    why = "events of accept have layout 'bush', which is none of tree, chain"
    assert unknown(result, "ACC-COUNT") == {why: 1} and result.checked["ACC-COUNT"] == 2
    assert unknown(result, "LEN-SEQ")[why] == 2 and result.checked["LEN-SEQ"] == 1


def test_many_events_that_mean_nothing_leave_nothing_of_their_table(record: Build, verify: Build) -> None:
    verifies = [verify(step=step, layout="bush") for step in range(1, 102)]
    result = check(record(verify(), *verifies), only=["ACC-COUNT"])
    assert sum(unknown(result, "ACC-COUNT").values()) == 102 and not result.checked["ACC-COUNT"]


def test_a_kind_of_pool_that_is_not_known(record: Build, verify: Build) -> None:
    recording = record(verify(), SWAPPED, verify(step=2, seq_len=13))
    info = recording.processes[0].info
    recording.processes[0].info = replace(info, pools=(replace(info.pools[0], kind="fulll"),))
    result = check(recording, only=["MOV-MISSING", "ACC-COUNT"])
    assert not result.findings
    assert result.checked == {"MOV-MISSING": 0, "ACC-COUNT": 2}


def test_a_word_that_nobody_knows(record: Build, verify: Build) -> None:
    result = check(record(verify(sampling="GREEDY"), SWAPPED), only=["ACC-CHAIN", "LOC-RANGE", "MOV-HAZARD"])
    why = (
        "events of accept have sampling 'GREEDY', which is none of greedy, rejection, target_only, simulated"
    )
    assert unknown(result, "ACC-CHAIN") == {why: 1}
    assert not result.findings and result.checked["MOV-HAZARD"] == 1


@pytest.mark.parametrize("column", ["step", "row", "epoch"])
def test_a_negative_number_of_what_counts_from_zero(column: str, record: Build, verify: Build) -> None:
    recording = record(verify(bonus_token=4, **{column: -3}), verify(step=2))
    result = check(recording, only=["ACC-SHIFT"])
    assert unknown(result, "ACC-SHIFT") == {f"events of accept have a negative {column}, -3": 1}
    assert result.checked["ACC-SHIFT"] == 1
    assert not result.findings


def test_a_rule_that_raises_takes_no_other_with_it(record: Build, verify: Build, toy: Build) -> None:
    def broken(batch: VerifyBatch) -> Judgement:
        raise ValueError("no such thing")

    toy(broken)
    told: list[tuple[str, str]] = []
    result = check(
        record(verify()),
        only=["TOY", "ACC-COUNT"],
        on_error=lambda rule, error: told.append((rule, str(error))),
    )
    assert unknown(result, "TOY") == {"the rule raised ValueError: no such thing": 1}
    assert result.checked == {"ACC-COUNT": 1, "TOY": 0}
    assert told == [("TOY", "no such thing")]


@pytest.mark.parametrize(("needs", "count"), [(("accept",), 2), ((), 1)])
def test_instances_are_counted_though_they_can_t_be_made(
    record: Build,
    verify: Build,
    toy: Build,
    monkeypatch: pytest.MonkeyPatch,
    needs: tuple[str, ...],
    count: int,
) -> None:
    def too_large(view: ProcessView) -> None:
        raise MemoryError("too large")

    monkeypatch.setattr(ProcessView, "oversized", property(too_large), raising=False)
    toy(lambda scope: pytest.fail("never made"), scope="oversized", needs=needs)
    result = check(record(verify(), verify(step=2)), only=["TOY"])
    assert unknown(result, "TOY") == {"the rule raised MemoryError: too large": count}
    assert result.verdict == "unknown"


def test_a_finding_survives_its_explanation(record: Build, verify: Build, toy: Build) -> None:
    def unexplained(batch: VerifyBatch) -> Judgement:
        """Nothing is ever right."""
        return Judgement(failed=np.arange(len(batch)), explain=lambda i: Details(message=str(1 // 0)))

    toy(unexplained)
    (finding,) = check(record(verify()), only=["TOY"]).findings
    assert finding.message == "Broken: Nothing is ever right."


def test_notes_leave_the_verdict_alone(record: Build, verify: Build, toy: Build) -> None:
    toy(
        lambda batch: Judgement(failed=np.arange(len(batch)), explain=lambda i: Details(message="")),
        severity=NOTE,
    )
    result = check(record(verify()), only=["TOY"])
    assert (len(result.findings), result.verdict) == (1, "clean")


def test_the_same_breach_of_a_request_is_one_finding(record: Build, verify: Build) -> None:
    wrong = [verify(step=step, request=name, bonus_token=9) for step in range(1, 6) for name in ("a", "b")]
    result = check(record(*wrong), only=["ACC-SHIFT"])
    assert [(f.request, f.step, f.repeats) for f in result.findings] == [("a", 1, 4), ("b", 1, 4)]


def test_requests_beyond_the_limit_are_counted_and_named_apart(record: Build, verify: Build) -> None:
    names = [str(number) for number in range(FINDINGS_A_RULE + 60)]
    wrong = [verify(step=1 + i, request=name, bonus_token=9) for i, name in enumerate([*names, names[-1]])]
    result = check(record(*wrong), only=["ACC-SHIFT"])
    *listed, note = result.findings
    assert [(f.request, f.repeats) for f in listed] == [(name, 0) for name in names[:FINDINGS_A_RULE]]
    assert (note.rule, note.severity, note.request, note.cause) == ("ACC-SHIFT", NOTE, None, None)
    assert note.message.startswith("60 more findings, 61 broken instances")
    assert [row[0] for row in note.evidence[0].rows] == names[FINDINGS_A_RULE:]
    assert [row[-1] for row in note.evidence[0].rows] == [1] * 59 + [2]


def finding(rule: str, seq: int, **columns: Any) -> Finding:
    return Finding(rule=rule, severity=Severity.ERROR, process="p", message="", first_seq=seq, **columns)


LIFE: dict[str, Any] = {"request": "a", "row": 1, "epoch": 1}


@pytest.mark.parametrize(
    ("first", "then", "cause"),
    [
        (finding("ACC-COUNT", 3, request="a"), finding("ACC-SHIFT", 3, request="a"), 3),
        (finding("ACC-COUNT", 3, request="a", step=1), finding("MOV-PAIR", 4, request="b", step=1), 3),
        (finding("ACC-COUNT", 3, request="a", step=1), finding("MOV-PAIR", 9, request="b", step=2), None),
        (finding("ACC-CHAIN", 3, request="a", step=1), finding("MOV-PAIR", 4, request="b", step=1), None),
        (finding("LOC-UNIQ", 3, slots=(7,)), finding("LOC-ROW", 5, slots=(8, 7)), 3),
        (finding("LOC-UNIQ", 3, slots=(7,), step=1), finding("LOC-ROW", 5, slots=(7,), step=65), 3),
        (finding("LOC-UNIQ", 3, slots=(7,), step=1), finding("LOC-ROW", 5, slots=(7,), step=66), None),
        (finding("LOC-UNIQ", 3, slots=(7,), pool="draft"), finding("LOC-ROW", 5, slots=(7,)), 3),
        (finding("LOC-UNIQ", 3, slots=(7,), pool="swa"), finding("LOC-ROW", 5, slots=(7,)), None),
        (finding("ACC-COUNT", 3, **LIFE), finding("ACC-SHIFT", 9, **LIFE), 3),
        (finding("ACC-COUNT", 3, **LIFE), finding("ACC-SHIFT", 9, **LIFE | {"epoch": 2}), None),
        (finding("MOV-PAIR", 3, request="a"), finding("MOV-PAIR", 3, request="b"), 3),
        (finding("MOV-PAIR", 3, request="a"), finding("LOC-ROW", 5, request="a"), None),
        (finding("LOC-WIDTH", 3, row=1), finding("LOC-WIDTH", 5, row=7), 3),
    ],
)
def test_causes(first: Finding, then: Finding, cause: int | None) -> None:
    pools = (Pool(name="full", kind="full"), Pool(name="draft", kind="draft", allocated_by="full"))
    share_ids = Namespaces(Process(label="p", pools=pools)).share_ids
    assert [each.cause for each in with_causes([first, then], share_ids)] == [None, cause]


def test_the_nearest_cause_counts() -> None:
    chain = [
        finding("ACC-COUNT", 1, request="a"),
        finding("ACC-BLOCK", 5, request="a"),
        finding("ACC-SHIFT", 9, request="a"),
    ]
    assert [each.cause for each in with_causes(chain)] == [None, 1, 5]


MOVED, SHADOW = {"request": "a", "step": 6}, {"request": "a", "step": 6, "slots": (68,)}


@pytest.mark.parametrize("cause", ["RPL-ACCEPT", "RPL-LOC", "RPL-MOVE", "RPL-COMPACT"])
@pytest.mark.parametrize(("seq", "then"), [(5, 5), (5, 9), (9, 5)])
def test_what_the_shadow_cache_shows_follows_from_the_replay_of_the_step(
    cause: str, seq: int, then: int
) -> None:
    findings = [finding(cause, seq, **MOVED), finding("RPL-SHADOW", then, **SHADOW)]
    findings.sort(key=lambda f: (f.first_seq, list(RULES).index(f.rule)))
    assert {f.rule: f.cause for f in with_causes(findings)} == {cause: None, "RPL-SHADOW": seq}


def test_a_law_that_comes_later_in_the_step_comes_before_replay() -> None:
    order = [
        finding("RPL-SHADOW", 5, **SHADOW),
        finding("RPL-MOVE", 7, **MOVED),
        finding("MOV-PAIR", 8, **MOVED),
    ]
    assert [f.cause for f in with_causes(order)] == [8, 8, None]


def test_rules_are_chosen_by_name_in_any_case() -> None:
    assert [r.id for r in select(["mov-pair", "ACC-COUNT"], ["ACC-COUNT"])] == ["MOV-PAIR"]
    with pytest.raises(UsageError) as error:
        named("MOV-PIAR")
    assert "MOV-PAIR" in error.value.remedy


def test_to_leave_out_all_rules_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no rule is left"):
        select(["RPL-MOVE"], ["rpl-move"])


def test_rules_stand_in_the_order_of_the_catalogue() -> None:
    families = list(dict.fromkeys(rule.partition("-")[0] for rule in RULES))
    assert families == [
        family for family in ("ACC", "LOC", "MOV", "LEN", "OWN", "ST", "TRC", "RPL") if family in families
    ]


def test_two_runs_say_the_same(record: Build, verify: Build) -> None:
    recording = record(verify(), SWAPPED, verify(step=2, bonus_token=4))
    assert check(recording) == check(recording)


def test_a_damaged_file_hides_what_it_held(record: Build, verify: Build) -> None:
    path = record(verify(), RIGHT, verify(step=2, seq_len=13)).path
    (part,) = path.glob("*/move/*.parquet")
    part.write_bytes(part.read_bytes()[:-20])
    result = check(Recording.open(path), only=["ACC-COUNT", "MOV-MISSING"])
    assert result.checked == {"ACC-COUNT": 2, "MOV-MISSING": 0}
    assert any(why.startswith("a damaged file of move") for why in unknown(result, "MOV-MISSING"))
    assert not result.findings


@pytest.mark.parametrize("table", TABLES)
def test_a_bare_event_of_any_table_raises_nothing(record: Build, table: str) -> None:
    raised: list[str] = []
    recording = record({"event": table}, {"event": table, "step": 1}, head={"tables": list(TABLES)})
    check(recording, on_error=lambda rule, error: raised.append(f"{rule}: {error!r}"))
    assert not raised
