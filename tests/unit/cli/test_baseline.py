"""A baseline leaves out what it knows, counts it, and lets nothing new through; its file is checked entry by entry."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from speckv_debug.checks import folding
from speckv_debug.cli import main
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.schema import COLUMNS, STR
from speckv_debug.replay.event_words import WORDS

Build = Callable[..., Any]
Capture = pytest.CaptureFixture[str]
TESTS = Path(__file__).parents[2]


def checked(path: Path, *options: str, capsys: Capture) -> tuple[int, dict[str, Any]]:
    code = main(["check", str(path), "--replay", "off", "--format", "json", "--no-config", *options])
    return code, json.loads(capsys.readouterr().out)


def saved(path: Path, file: Path, *options: str) -> list[dict[str, Any]]:
    """The entries of the baseline that is written from this recording."""
    options = (*options, "--baseline", str(file), "--write-baseline", "--no-config")
    assert main(["check", str(path), "--replay", "off", *options]) == 0
    known: list[dict[str, Any]] = json.loads(file.read_text())["known"]
    return known


def test_known_findings_of_another_run(record: Build, verify: Build, tmp_path: Path, capsys: Capture) -> None:
    first = record(verify(step=7, bonus_token=4)).path
    assert [entry["rule"] for entry in saved(first, tmp_path / "b.json")] == ["ACC-SHIFT"]
    other = record(verify(), verify(step=9, request="z", row=4, epoch=3, bonus_token=5)).path
    capsys.readouterr()
    code, told = checked(other, "--baseline", str(tmp_path / "b.json"), capsys=capsys)
    assert (code, told["verdict"], told["findings"]) == (0, "clean", [])
    assert told["known"] == {"findings": {"ACC-SHIFT": 1}, "unmatched": 0}
    assert (
        main(["check", str(other), "--no-config", "--replay", "off", "--baseline", str(tmp_path / "b.json")])
        == 0
    )
    out = capsys.readouterr().out
    assert "nothing new found" in out and "1 finding of the baseline left out (ACC-SHIFT 1)" in out


def test_the_same_breach_elsewhere_in_the_engine_is_new(
    record: Build, verify: Build, tmp_path: Path, capsys: Capture
) -> None:
    saved(record(verify(bonus_token=4)).path, tmp_path / "b.json")
    sampled = verify(bonus_token=4, sampling="target_only", target_predict=None)
    capsys.readouterr()
    code, told = checked(record(sampled).path, "--baseline", str(tmp_path / "b.json"), capsys=capsys)
    assert (code, [f["rule"] for f in told["findings"]]) == (1, ["ACC-SHIFT"])
    assert told["known"] == {"findings": {}, "unmatched": 1}


def test_frees_are_told_apart_by_caller_and_reason(record: Build, tmp_path: Path, capsys: Capture) -> None:
    who = {"request": "a", "row": 1, "epoch": 1, "pool": "full", "slots": [5]}

    def twice(site: str) -> Path:
        free = {"event": "free", **who, "reason": "finish", "site": site}
        found: Path = record({"event": "alloc", **who}, free, free, head={"from_start": True}).path
        return found

    (entry,) = saved(twice("a.py:f"), tmp_path / "b.json", "--rule", "OWN-DFREE")
    words = {"reason": "finish", "site": "a.py:f"}
    assert entry == {"rule": "OWN-DFREE", "pool": "full", "event": "free", "words": words}
    capsys.readouterr()
    options = ("--rule", "OWN-DFREE", "--baseline", str(tmp_path / "b.json"))
    assert checked(twice("a.py:f"), *options, capsys=capsys)[0] == 0
    assert checked(twice("b.py:g"), *options, capsys=capsys)[0] == 1


def test_what_follows_from_a_known_finding_is_known(tmp_path: Path, capsys: Capture) -> None:
    path, file = tmp_path / "x.speckv", tmp_path / "b.json"
    import_jsonl(TESTS / "recordings" / "cases" / "move-direction-swapped.jsonl", path)
    _, told = checked(path, capsys=capsys)
    found = [f for f in told["findings"] if f["severity"] != "note"]
    (root,) = [f for f in found if f["cause"] is None]
    assert len(found) > 1
    known = [entry for entry in saved(path, file) if entry["rule"] == root["rule"]]
    file.write_text(json.dumps({"speckv_debug_baseline": 1, "known": known}))
    capsys.readouterr()
    code, told = checked(path, "--baseline", str(file), capsys=capsys)
    assert (code, sum(told["known"]["findings"].values()), told["findings"]) == (0, len(found), [])


def test_findings_that_are_only_counted(
    record: Build, verify: Build, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speckv_debug.checks.run.FINDINGS_A_RULE", 2)
    bad = [verify(step=n, request=f"r{n}", row=n + 1, bonus_token=4) for n in range(6)]
    new = verify(step=9, request="z", row=9, bonus_token=4, sampling="target_only", target_predict=None)
    options = ("--rule", "ACC-SHIFT", "--baseline", str(tmp_path / "b.json"))
    assert len(saved(record(*bad).path, tmp_path / "b.json", "--rule", "ACC-SHIFT")) == 1
    capsys.readouterr()
    code, told = checked(record(*bad).path, *options, capsys=capsys)
    assert (code, told["known"]["findings"], told["findings"]) == (0, {"ACC-SHIFT": 6}, [])
    code, told = checked(record(*bad, new).path, *options, capsys=capsys)
    (left,) = told["findings"]
    assert (code, left["severity"], told["known"]["findings"]) == (1, "error", {"ACC-SHIFT": 2})
    assert "1 of them are not in the baseline" in left["message"]
    monkeypatch.setattr(folding, "NAMED_MORE", 1)
    code, told = checked(record(*bad).path, *options, capsys=capsys)
    assert (code, "3 of them were not compared" in told["findings"][0]["message"]) == (1, True)


def test_a_new_baseline_keeps_what_rules_that_did_not_run_know(
    record: Build, verify: Build, tmp_path: Path
) -> None:
    file = tmp_path / "b.json"
    entry = {"rule": "OWN-LEAK", "event": "release"}
    file.write_text(json.dumps({"speckv_debug_baseline": 1, "known": [entry, {"rule": "ACC-COUNT"}]}))
    known = saved(record(verify(bonus_token=4)).path, file, "--rule", "ACC-SHIFT", "--rule", "ACC-COUNT")
    assert [each["rule"] for each in known] == ["ACC-SHIFT", "OWN-LEAK"]
    before = file.read_bytes()
    saved(record(verify(bonus_token=4)).path, file, "--rule", "ACC-SHIFT", "--rule", "ACC-COUNT")
    assert file.read_bytes() == before


def test_nothing_is_written_where_nothing_was_judged(
    record: Build, verify: Build, tmp_path: Path, capsys: Capture
) -> None:
    path, file = record(verify(predict=None, bonus_token=None)).path, tmp_path / "b.json"
    assert main(["check", str(path), "--rule", "ACC-SHIFT", "--baseline", str(file), "--write-baseline"]) == 3
    assert not file.exists() and "was not written" in capsys.readouterr().err


HEAD = '{"speckv_debug_baseline": 1, "known": '


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't be read"),
        ("{", "is no JSON"),
        ("[]", "is no baseline"),
        ('{"verdict": "clean"}', "is no baseline"),
        ('{"speckv_debug_baseline": 2}', "is 2, this version reads 1"),
        ('{"speckv_debug_baseline": 1}', "known is no list"),
        (HEAD + "[1]}", "known[0] is no object with a rule"),
        (HEAD + '[{"rule": "LOC-PAD"}, {"pool": "full"}]}', "known[1] is no object with a rule"),
        (HEAD + '[{"rule": "A", "site": "x"}]}', "known[0].site is no key"),
        (HEAD + '[{"rule": "A", "words": {"site": 1}}]}', "known[0] has a value that is no text"),
        (HEAD + '[{"rule": "A", "words": []}]}', "known[0] has a value that is no text"),
        (HEAD + '[], "knwon": []}', "knwon is no key\n  Did you mean known?"),
        (
            HEAD + '[{"rule": "LOC-PAD"}, {"rule": "LOC-PAP"}]}',
            "known[1].rule names a rule that does not exist",
        ),
        (HEAD + '[{"rule": "LOC-PAP"}]}', "Did you mean LOC-PAD?"),
    ],
)
def test_mistakes(
    text: str | None, said: str, record: Build, verify: Build, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "b.json"
    if text is not None:
        file.write_text(text)
    path = record(verify()).path
    assert main(["check", str(path), "--baseline", str(file)]) == 2
    out, err = capsys.readouterr()
    assert (out, str(file) in err, said in err) == ("", True, True), err
    if text is not None:
        assert main(["check", str(path), "--replay", "off", "--baseline", str(file), "--write-baseline"]) == 2
        assert file.read_text() == text


def test_where_a_baseline_can_not_go(record: Build, verify: Build, tmp_path: Path, capsys: Capture) -> None:
    path = record(verify()).path
    assert main(["check", str(path), "--no-config", "--write-baseline"]) == 2
    for place, said in (
        (path / "b.json", "inside the recording"),
        (tmp_path / "no" / "b.json", "does not exist"),
    ):
        assert main(["check", str(path), "--baseline", str(place), "--write-baseline"]) == 2
        assert said in capsys.readouterr().err


def test_words_are_columns_of_text_that_name_no_request() -> None:
    assert set(WORDS) == set(COLUMNS)
    for table, words in WORDS.items():
        assert all(COLUMNS[table][name] == STR for name in words)
        assert not {"request", "lane", "pool", "holder", "text"} & set(words)
