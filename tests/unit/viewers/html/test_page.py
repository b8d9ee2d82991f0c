"""The page as a whole: what stands first, what is left out in words, same bytes, inert text, no network."""

import base64
import hashlib
import html
import json
import re
import shutil
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs

from speckv_debug.model.finding import CheckResult, Evidence, Severity, Unknown
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from tests.reported import (
    HOSTILE,
    PROCESS,
    accept,
    broken_run,
    finding,
    lengths,
    page,
    recording,
    result,
)


def visible(page: str) -> str:
    """The text of the page's main part, one line an element."""
    main = page.partition("<main>")[2].partition("</main>")[0]
    return html.unescape(re.sub(r"\n+", "\n", re.sub(r"<[^>]+>", "\n", main)).strip())


@pytest.fixture
def broken(tmp_path: Path) -> Recording:
    return broken_run(tmp_path)


def test_the_verdict_is_the_first_text(broken: Recording) -> None:
    assert visible(page(broken, result(finding()))).splitlines()[:2] == [
        "✗ found",
        "Step 812, request 7: the last move runs backwards",
    ]


def test_a_root_cause_is_drawn_beside_its_law_and_evidence(broken: Recording) -> None:
    made = page(broken, result(finding()))
    for words in (
        "KV of the accepted rows",
        "Draft tree",
        "✗ due C",
        "42083 &lt;- 42082",
        "C 23",
        "first bad step 812",
    ):
        assert words in made


def test_consequences_stand_inside_their_root_cause(broken: Recording) -> None:
    made = page(
        broken, result(finding(), finding(rule="LEN-TOKEN", step=813, first_seq=54, cause=51, repeats=6))
    )
    (article,) = re.findall(r"<article[^>]*class=\"finding.*?</article>", made, re.DOTALL)
    assert "Follows from it: 1 finding" in article
    assert "(and 6 more times)" in article


def test_a_finding_at_no_verify_shows_the_last_one_before_it(broken: Recording) -> None:
    late = finding(rule="OWN-LEAK", step=900, first_seq=100)
    assert "Drawn of a verify: the last one before it, step 819." in page(broken, result(late))


def test_a_finding_of_an_unknown_process_or_step_is_shown_without_drawing(broken: Recording) -> None:
    made = page(broken, result(finding(process="tp9"), finding(step=None, request=None, first_seq=999)))
    assert made.count('class="finding error"') == 2
    assert 'class="drawings"' not in made.partition('id="findings"')[2].partition("</section>")[0]


def test_simulated_acceptance_is_said_beside_the_drawing(tmp_path: Path) -> None:
    run = recording(tmp_path, [accept(812, sampling="simulated")])
    made = page(run, result(finding(first_seq=0)))
    assert "Acceptance was simulated in this step" in made
    assert "1 verify with simulated acceptance" in made


@pytest.mark.parametrize("length", [0, 4])
def test_acceptance_that_is_simulated_by_setting_is_said_like_that_of_a_verify(
    tmp_path: Path, length: int
) -> None:
    process = {**PROCESS, "settings": {"simulate_acc_len": length}}
    made = page(recording(tmp_path, [accept(812, sampling=None)], process), result(finding(first_seq=0)))
    assert "Acceptance was simulated in this step" in made
    assert "accept length 3, simulated: no real acceptance" in made
    assert "1 verify with simulated acceptance" in made and "Accept length by request" not in made


def test_figures_of_a_table_that_lacks_rows_say_so(broken: Recording) -> None:
    said = visible(page(broken, result()))
    assert "free was not recorded whole: the numbers are of what is there." in said
    assert "accept was not recorded whole" not in said and "The recorder left nothing out." in said
    for part in (*broken.path.glob("*/accept/*"), *broken.path.glob("*/move/*")):
        part.write_bytes(b"nothing that can be read")
    said = visible(page(Recording.open(broken.path), result()))
    assert "accept was not recorded whole: the numbers are of what is there." in said
    assert "move and free were not recorded whole: the numbers are of what is there." in said


def test_a_recorder_that_lost_its_end_is_never_said_to_have_left_nothing_out(broken: Recording) -> None:
    (file,) = broken.path.glob("*/process.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | {"clean_shutdown": False}))
    said = visible(page(Recording.open(broken.path), result()))
    assert "Whether the recorder left something out is not known" in said
    assert "The recorder left nothing out." not in said


def test_drops_of_unknown_number_are_a_least_number(tmp_path: Path) -> None:
    lost = {"event": "drop", "step": 3, "table": "accept", "why": "queue full"}
    assert "at least 8 events in all" in page(
        recording(tmp_path, [lost | {"rows": 7}, lost | {"rows": None}]), result()
    )


def test_what_is_not_shown_is_counted(broken: Recording) -> None:
    long = Evidence(title="t", columns=("a",), rows=tuple((n,) for n in range(300)), marked=(250,))
    many = [finding(first_seq=n, evidence=(long,) if n == 0 else ()) for n in range(60)]
    followers = [finding(rule="LEN-TOKEN", first_seq=500 + n, cause=0) for n in range(30)]
    said = visible(page(broken, result(*many, *followers)))
    assert "10 more root causes not shown here" in said
    assert "10 more, not shown here" in said
    assert "199 more rows not shown here." in said
    assert "\n250\n" in said


def test_what_could_not_be_judged_is_listed_with_the_reason(broken: Recording) -> None:
    made = page(broken, result(unknown=(Unknown(rule="OWN-RACE", why="needs device times", instances=4),)))
    verdict = made.partition("</header>")[0]
    assert '<details id="judged" class="lead"><summary>Judged 96.1 % of 104 instances' in verdict
    assert visible(verdict).count("needs device times") == 2 and "MOV-PAIR</code> 100" in verdict
    assert "Nothing that these judge occurs" not in verdict


def test_what_could_not_be_judged_stands_open_where_nothing_could(broken: Recording) -> None:
    unknown = (Unknown(rule="OWN-RACE", why="needs device times", instances=4),)
    verdict = page(broken, result(unknown=unknown, checked=0)).partition("</header>")[0]
    assert '<details id="judged" class="lead" open>' in verdict
    assert "Nothing that these judge occurs: MOV-PAIR." in visible(verdict)


def test_the_environment_names_unresolved_hooks_pools_and_settings(broken: Recording) -> None:
    said = visible(page(broken, result()))
    for words in ("sglang 0.5.23", "Hooks that found no function\nhook\nmove", "65536", "topk\n2"):
        assert words in said


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (["run", "--api-key", "s3cret", "--tp", "2"], "run --api-key '(hidden)' --tp 2"),
        (
            ["HF_TOKEN=s3cret", "run", "--admin-api-key=s3cret"],
            "'HF_TOKEN=(hidden)' run '--admin-api-key=(hidden)'",
        ),
        (["run", "--num-draft-tokens", "4", "--tokenizer=x"], "run --num-draft-tokens 4 --tokenizer=x"),
        ("run --password s3cret", "run --password (hidden)"),
        (
            ["run", "--api-keys=s3cret", "--max-total-tokens=4"],
            "run '--api-keys=(hidden)' --max-total-tokens=4",
        ),
        (["sh", "-c", "run --api-key s3cret --tp 2"], "sh -c 'run --api-key (hidden) --tp 2'"),
        (
            ["run", "-H", "Authorization: Bearer s3cret"],
            "run -H 'Authorization: Bearer (hidden)'",
        ),
        (["run", "--mode", "basic", "--tp", "2"], "run --mode basic --tp 2"),
    ],
)
def test_the_page_passes_on_no_key_of_the_command_line(
    broken: Recording, command: object, shown: str
) -> None:
    manifest = broken.path / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"command": command}))
    made = page(Recording.open(broken.path), result())
    assert "s3cret" not in made and f"\ncommand\n{shown}\n" in visible(made)


def test_the_page_passes_on_no_key_among_the_settings(tmp_path: Path) -> None:
    told = {"engine": "x", "settings": {"api_key": "s3cret", "max_total_tokens": 4096}}
    folder = tmp_path / "x.speckv"
    lines = [{"event": "process"} | told, {"event": "note", "seq": 0, "level": "info", "text": "x"}]
    (tmp_path / "x.jsonl").write_text("\n".join(map(json.dumps, lines)))
    import_jsonl(tmp_path / "x.jsonl", folder)
    made = page(Recording.open(folder), result())
    assert "s3cret" not in made and "api_key\n(hidden)\n" in visible(made) and "4096" in visible(made)


def test_the_first_lines_name_what_all_processes_are(tmp_path: Path) -> None:
    for rank, algorithm in enumerate(("EAGLE", "NGRAM")):
        info = {
            "engine": "sglang",
            "engine_version": "0.5.23",
            "rank": {"tp": rank},
            "settings": {"algorithm": algorithm},
        }
        recorder = Recorder(tmp_path / "two.speckv", info)
        recorder.emit("note", level="info", text="x")
        recorder.close()
    said = visible(page(Recording.open(tmp_path / "two.speckv"), result()))
    assert "two.speckv · sglang 0.5.23 · EAGLE · NGRAM · 2 processes" in said


def test_a_recording_with_nothing_to_draw_still_makes_a_page(tmp_path: Path) -> None:
    bare = recording(tmp_path, [{"event": "note", "text": "nothing happened"}], {"event": "process"})
    said = visible(page(bare, CheckResult()))
    assert said.startswith(
        "? can't be judged\nNothing could be judged: no event that a rule judges was recorded"
    )
    assert "No verify with an accept length was recorded." in said
    assert "nothing happened" in said


def test_a_missing_or_damaged_manifest_is_unknown_and_said(broken: Recording) -> None:
    (broken.path / "manifest.json").unlink()
    assert "Missing or damaged" in visible(page(Recording.open(broken.path), result()))


def test_the_same_recording_gives_the_same_bytes_wherever_it_lies(broken: Recording, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    copy = shutil.copytree(broken.path, tmp_path / "elsewhere" / "run.speckv")
    found = result(finding())
    assert page(broken, found) == page(Recording.open(copy), found)


def test_text_from_the_recording_never_becomes_markup(tmp_path: Path) -> None:
    process = {**PROCESS, "engine": HOSTILE, "hooks": {HOSTILE: None}, "settings": {HOSTILE: HOSTILE}}
    process["pools"] = [{"name": HOSTILE, "kind": "full", "namespace": HOSTILE}]
    events = [accept(1, HOSTILE), lengths(1, HOSTILE), {"event": "note", "level": HOSTILE, "text": HOSTILE}]
    evidence = Evidence(title=HOSTILE, columns=(HOSTILE,), rows=((HOSTILE,),))
    found = finding(
        rule=HOSTILE,
        message=HOSTILE,
        request=HOSTILE,
        pool=HOSTILE,
        expected=HOSTILE,
        actual=HOSTILE,
        evidence=(evidence,),
        step=1,
        first_seq=0,
    )
    unknown = Unknown(rule=HOSTILE, why=HOSTILE, instances=1)
    made = page(recording(tmp_path, events, process), result(found, unknown=(unknown,)))
    assert made.count("<script") == 3
    assert "<img" not in made
    assert "\u2028" not in made.partition("<script>")[0]
    assert "\u202e" not in made


def test_only_the_two_own_scripts_may_run_and_nothing_may_load(broken: Recording) -> None:
    made = page(broken, result())
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', made)
    scripts = re.findall(r"<script>(.*?)</script>", made, re.DOTALL)
    hashes = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    assert scripts[1] == get_plotlyjs()
    assert len(scripts) == 2
    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}' 'sha256-{hashes[1]}'; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


def test_notes_do_not_make_a_run_broken(broken: Recording) -> None:
    said = visible(page(broken, result(finding(severity=Severity.NOTE))))
    assert said.startswith("✓ nothing found")
    assert "first bad step" not in said and "Where it went wrong" not in said
    assert said.count("\nNotes\n") == 2
    assert "the last move runs backwards" in said


def test_notes_stand_under_a_heading_of_their_own_below_the_faults(broken: Recording) -> None:
    note = finding(severity=Severity.NOTE, message="worth a look", first_seq=3)
    said = visible(page(broken, result(note, finding())))
    order = [
        said.index(words) for words in ("\nWhere it went wrong\nerror\n", "\nNotes\nnote\n", "worth a look")
    ]
    assert order == sorted(order)


def test_of_two_recorded_processes_the_page_names_the_one_that_broke(tmp_path: Path) -> None:
    for rank in (0, 1):
        recorder = Recorder(tmp_path / "two.speckv", {"rank": {"tp": rank}})
        recorder.emit("note", level="info", text="x")
        recorder.close()
    both = Recording.open(tmp_path / "two.speckv")
    broken = finding(process=both.processes[1].label)
    said = visible(page(both, result(broken))).splitlines()
    assert said[1] == f"Process {broken.process}, step 812, request 7: the last move runs backwards"
    assert f"process {broken.process}, step 812, request 7" in said
