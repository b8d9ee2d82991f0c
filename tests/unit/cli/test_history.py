"""`history` and `state`: exit codes, what goes where, and that both say what is unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from speckv_debug.cli import main
from speckv_debug.recording.jsonl import import_jsonl

TESTS = Path(__file__).parents[2]
HOSTILE = "\x1b[31mevil\u202e"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("real") / "x.speckv"
    import_jsonl(TESTS / "recordings" / "real" / "eagle_k4_p64_sync.jsonl.xz", out)
    return str(out)


@pytest.fixture
def small(tmp_path: Path) -> str:
    lines = [
        {"event": "process", "pid": 1, "rank": {"tp": 0}, "engine": "sglang", "pools": [{"name": "full", "kind": "full", "slots": 8, "page_size": 1, "reserved_slots": 1}]},
        {"event": "row_alloc", "step": 1, "row": 1, "epoch": 1, "request": HOSTILE},
        {"event": "alloc", "step": 1, "row": 1, "epoch": 1, "request": HOSTILE, "slots": [3], "site": HOSTILE},
        {"event": "process", "pid": 2, "rank": {"tp": 1}, "engine": "sglang", "pools": [{"name": "target", "kind": "full"}]},
        {"event": "alloc", "step": 9, "row": 1, "epoch": 1, "request": "b", "slots": [5]},
    ]  # fmt: skip
    source = tmp_path / "x.jsonl"
    source.write_text("".join(json.dumps(line) + "\n" for line in lines))
    import_jsonl(source, tmp_path / "x.speckv")
    return str(tmp_path / "x.speckv")


def test_the_history_of_a_page(real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", real, "--page", "3"]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "tp0-pp0-dp0 · pool full · page 3 of 64 slots · 33 events"
    assert "common.py:release_kv_cache" in out and "takes effect with event 2931" in out
    assert err.startswith("next: speckv-debug state ")


def test_the_nearest_rows_are_named(real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", real, "--row", "999"]) == 3
    assert "no event names this row; nearest known: 12, 11, 10, 9, 8 and 7 more" in capsys.readouterr().err


def test_a_pool_that_has_its_ids_from_another(real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", real, "--page", "3", "--pool", "draft"]) == 0
    head = capsys.readouterr().out.splitlines()[0]
    assert head == "tp0-pp0-dp0 · pool full (draft has its ids from there) · page 3 of 64 slots · 33 events"
    assert main(["history", real, "--page", "3", "--pool", "draft", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["pool"], told["asked"]) == ("full", "draft")


@pytest.mark.parametrize("query", [["--slot", "254"], ["--page", "3"], ["--row", "2"], ["--request", "a1.0"]])
def test_json_and_text_tell_the_same(query: list[str], real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", real, *query, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["history", real, *query]) == 0
    text = capsys.readouterr().out
    answer = told.get("events") or told["epochs"]
    assert len(answer) > 1
    assert sum(line.startswith("unknown  ") for line in text.splitlines()) == len(told["unknown"]) == 1
    for event in told.get("events", ()):
        assert any(line.split()[:1] == [str(event["seq"])] for line in text.splitlines())


def test_nothing_is_known_of_it(real: str, small: str, capsys: pytest.CaptureFixture[str]) -> None:
    for query in (["--row", "77"], ["--request", "nobody"]):
        assert main(["history", real, *query]) == 3
        assert "· 0 e" in capsys.readouterr().out
    assert main(["history", real, "--request", "b1.O"]) == 3
    assert "nearest known: b1.1, b1.0, " in capsys.readouterr().err
    assert main(["history", small, "--slot", "7"]) == 3


@pytest.mark.parametrize(
    ("query", "said"),
    [
        (["--slot", "99999999"], "has no slot"),
        (["--page", "0"], "is reserved"),
        (["--slot", "200", "--pool", "swa"], "there is no pool swa"),
        (["--row", "1", "--pool", "full"], "--pool belongs to"),
        (["--row", "1", "--process", "tp7"], "no process of this recording"),
    ],
)
def test_mistakes(query: list[str], said: str, real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", real, *query]) == 2
    out, err = capsys.readouterr()
    assert (out, said in err) == ("", True), err


def test_one_question_at_a_time(real: str, capsys: pytest.CaptureFixture[str]) -> None:
    for query in ([], ["--slot", "1", "--row", "2"], ["--slot", "x"]):
        with pytest.raises(SystemExit) as end:
            main(["history", real, *query])
        assert end.value.code == 2


def test_the_first_process_that_knows(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", small, "--request", "b"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("tp1-pp0-dp0-2 · request b") and "--process asks the other" in err
    assert main(["history", small, "--request", "b", "--process", "tp0"]) == 3
    assert main(["history", small, "--request", "b", "--process", "tp"]) == 2
    assert "beginning of several" in capsys.readouterr().err
    assert main(["state", small, "--at", "9"]) == 3
    assert "tp1-pp0-dp0-2 · step 9" in capsys.readouterr().out


def test_a_pool_that_only_one_process_has(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", small, "--slot", "5", "--pool", "target"]) == 0
    assert capsys.readouterr().out.startswith("tp1-pp0-dp0-2 · pool target")
    assert main(["history", small, "--slot", "5", "--pool", "nope"]) == 2
    assert "there is no pool nope in tp0-pp0-dp0-1" in capsys.readouterr().err


def test_text_of_the_recording_is_escaped(small: str, capsys: pytest.CaptureFixture[str]) -> None:
    for query in (["--slot", "3"], ["--request", HOSTILE], ["--row", "1"]):
        assert main(["history", small, *query]) == 0
        out = capsys.readouterr().out
        assert "\x1b" not in out and "\u202e" not in out and "\\x1b[31mevil" in out
    assert main(["state", small, "--at", "1", "--process", "tp0"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_the_state_at_a_step(real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", real, "--at", "30"]) == 0
    text = capsys.readouterr().out
    assert main(["state", real, "--at", "30", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (pool,) = told["pools"]
    assert sum(pool["pages"].values()) == 150 and f"free {pool['pages']['free']:>29}" in text
    assert (told["step"], told["seq"], len(told["requests"])) == (30, 1336, 6)
    assert pool["engine"]["total"] == 9600 and told["unknown"] == []


def test_a_step_that_is_not_there(real: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["state", real, "--at", "100000"]) == 2
    assert "no event names step 100000" in (err := capsys.readouterr().err) and "The nearest: " in err


def test_a_request_that_begins_with_a_dash_is_taken_behind_an_equals_sign(
    small: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["history", small, "--request", "-x"])
    assert "one that begins with a dash is written --request=-x" in capsys.readouterr().err
    assert main(["history", small, "--request=-x"]) == 3
    assert "no event names this request" in capsys.readouterr().err
