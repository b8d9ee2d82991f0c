"""Which steps are in the page, what it says of the others, and what a step shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Severity
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from speckv_debug.replay.verify_table import VerifyTable
from speckv_debug.viewers.html.page import render
from speckv_debug.viewers.html.shown_processes import MOST_PROCESSES
from speckv_debug.viewers.html.step_choice import MOST_AROUND, MOST_ASKED, MOST_VERIFIES, choose, runs_of
from tests.reported import PROCESS, accept, broken_run, finding, page, recording, result


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> VerifyTable:
    return VerifyTable(broken_run(tmp_path_factory.mktemp("run")).processes[0])


def roots(*steps: int | None) -> list[RootCause]:
    return [RootCause(finding(step=step), ()) for step in steps]


def test_steps_that_can_be_asked_for_are_listed_by_their_gaps(tmp_path: Path) -> None:
    assert runs_of(
        VerifyTable(recording(tmp_path, [accept(n) for n in (5, 6, 7, 9, 12, 13)]).processes[0])
    ) == [
        (5, 7),
        (9, 9),
        (12, 13),
    ]


def test_the_steps_around_a_finding_are_embedded_and_the_rest_is_counted(index: VerifyTable) -> None:
    chosen = choose(index, roots(812), None)
    assert chosen.steps == (810, 811, 812, 813, 814)
    assert chosen.left_out == "15 other steps of 20 with a verify"


def test_the_step_of_a_finding_is_there_though_it_has_no_verify(index: VerifyTable) -> None:
    chosen = choose(index, roots(900), None)
    assert chosen.steps == (818, 819, 900) and chosen.verifies[900] == ()
    assert chosen.left_out == "18 other steps of 20 with a verify"


def test_without_a_finding_the_first_steps_are_embedded(index: VerifyTable) -> None:
    assert choose(index, roots(None), None).steps == (800, 801, 802, 803, 804)


def test_steps_that_were_asked_for_take_their_place(index: VerifyTable) -> None:
    assert choose(index, roots(812), (802, 803)).steps == (802, 803)
    nothing = choose(index, roots(812), (5, 6))
    assert nothing.steps == () and nothing.left_out.startswith("no step from 5 to 6 has a verify")


def test_too_many_findings_or_asked_steps_are_cut_and_it_is_said(tmp_path: Path) -> None:
    run = recording(tmp_path, [accept(step) for step in range(1000, 1300)])
    long = VerifyTable(run.processes[0])
    around = choose(long, roots(*range(1010, 1290, 10)), None)
    assert (
        len(around.steps) == MOST_AROUND and "more steps around findings left out for size" in around.left_out
    )
    asked = choose(long, [], (1000, 1299))
    assert len(asked.steps) == MOST_ASKED and "200 more steps asked for left out for size" in asked.left_out


def test_a_large_batch_leaves_room_for_each_step_and_the_request_of_the_finding(tmp_path: Path) -> None:
    events = [accept(step, f"r{n}") for step in (1, 2, 3) for n in range(200)]
    run = recording(tmp_path, [*events, accept(4, "r0")])
    found = [finding(step=step, request="r199", row=7, first_seq=9000 + step) for step in (1, 2, 3)]
    chosen = choose(VerifyTable(run.processes[0]), [RootCause(each, ()) for each in found], None)
    assert [len(chosen.verifies[step]) for step in (1, 2, 3, 4)] == [53, 53, 53, 1]
    assert sum(map(len, chosen.verifies.values())) == MOST_VERIFIES
    assert all(chosen.verifies[step][0] == 200 * step - 1 for step in (1, 2, 3))
    made = page(run, result(*found)).partition('id="steps"')[2]
    assert "Step 3, 53 of 200 verifies" in made and "Step 4, 1 verify" in made
    assert "No verify in this step." not in made
    assert "441 verifies of the steps shown, for size" in made


def test_several_processes_share_the_room_of_the_page(tmp_path: Path) -> None:
    index = VerifyTable(
        recording(tmp_path, [accept(n, f"r{k}") for n in range(300) for k in range(3)]).processes[0]
    )
    alone, shared = (choose(index, [], (0, 299), parts) for parts in (1, 8))
    for chosen, parts in ((alone, 1), (shared, 8)):
        assert len(chosen.steps) == MOST_ASKED // parts
        assert sum(map(len, chosen.verifies.values())) == MOST_VERIFIES // parts
        assert f"{300 - MOST_ASKED // parts} more steps asked for left out for size" in chosen.left_out


def test_first_steps_are_never_called_those_around_a_finding(tmp_path: Path) -> None:
    run = broken_run(tmp_path)
    nowhere = finding(step=None, request=None, row=None, first_seq=9999)
    note = finding(severity=Severity.NOTE)
    for found, why in ((nowhere, "no finding names a step"), (note, "nothing was found")):
        made = page(run, result(found)).partition('id="steps"')[2]
        assert f"Embedded: the first steps, as {why}." in made and "✗" not in made.partition("</section>")[0]


def test_of_many_processes_those_with_findings_are_shown_first_and_the_rest_is_counted(
    tmp_path: Path,
) -> None:
    for rank in range(11):
        recorder = Recorder(tmp_path / "many.speckv", {"rank": {"tp": rank}})
        recorder.emit("accept", **{k: v for k, v in accept(812).items() if k != "event"})
        recorder.close()
    run = Recording.open(tmp_path / "many.speckv")
    label = run.processes[9].label
    made = page(run, result(finding(process=label, first_seq=0))).partition('id="environment"')[0]
    figures, _, steps = made.partition('id="steps"')
    tabs = re.findall(r'role="tab" id="process-\d+-tab"[^>]*>([^<]*)<', figures)
    assert len(tabs) == MOST_PROCESSES and tabs[0] == f"{label} ✗" and "✗" not in "".join(tabs[1:])
    shown = re.findall(r"Process <code>([^<]*)</code>", steps)
    assert shown == tabs
    for part in (figures, steps):
        assert "3 more processes not shown; those with findings come first." in part


def test_the_page_shows_a_step_as_the_inspector_does(tmp_path: Path) -> None:
    run = broken_run(tmp_path)
    with (tmp_path / "x.html").open("w") as out:
        render(run, result(finding()), out, steps=(811, 812))
    made = (tmp_path / "x.html").read_text().partition('id="steps"')[2]
    assert 'id="step-0-811"' in made and 'id="step-0-810"' not in made
    assert "Embedded as asked for: steps 811 to 812." in made and "--steps A:B" in made
    broken = made.partition('id="step-0-812"')[2]
    for words in (
        "✗ request 7: accept length 3",
        "Draft tree",
        "from accept_index to the slot",
        "B, due C",
        "draft tree",
        "same length, one token apart",
        "42083 &lt;- 42082",
        "Room",
        "accepted 3 of 4 rows · seq_len 4132 → 4135 · tree · eagle · greedy · request row 7, epoch 1 · event ",
    ):
        assert words in broken


def test_a_step_shows_what_replay_computed_instead(tmp_path: Path) -> None:
    run = recording(tmp_path, [accept(812, accept_index=[0, 1, 2], bonus_token=30)])
    found = check(run, only=["RPL-ACCEPT"])
    made = page(run, found).partition('id="steps"')[2].partition('id="environment"')[0]
    rows = re.findall(
        r"<tr.*?</tr>", made.partition("replay by the bundled kernels")[2].partition("</table>")[0]
    )
    told = [re.sub(r"<[^>]*>", "|", row).strip("|").replace("||", "|") for row in rows[1:]]
    assert told[0] == "✗|accepted rows (kernels.accept.verify_tree_greedy)|0 1 2|0 1 3|✗ differs", told
    assert told[1:] == [f"{what}|unknown|? not comparable" for what in ("bonus token|30", "new seq_len|4135")]
    off = page(run, check(run, replay="off")).partition('id="steps"')[2]
    assert "replay was off" in off and "replay by the bundled kernels" not in off


def test_a_step_shows_what_was_compacted(tmp_path: Path) -> None:
    whole = {
        "event": "compact",
        "step": 812,
        "tensor": "predict",
        "before": [21, 23, 0, 31],
        "after": [21, 23, 31, 31],
    }
    wrong = whole | {"tensor": "hidden_states", "after": [21, 23, 0, 31]}
    run = recording(tmp_path, [accept(812), whole, wrong], PROCESS | {"tables": ["accept", "compact"]})
    made = page(run, result()).partition('id="steps"')[2].partition('id="environment"')[0]
    titles = re.findall(r"<title>(Compaction of [^<]*)</title>", made)
    assert titles == [
        "Compaction of predict: nothing differs",
        "Compaction of hidden_states: place k 2: row due C, in that row before 31, at its place after 0",
    ]
