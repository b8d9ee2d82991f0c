"""Replay on, off or alone; where its kernels run; and what a law explains of what it finds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from speckv_debug.checks import RULES
from speckv_debug.checks.folding import with_causes
from speckv_debug.checks.rule import ERROR, NOTE, Details, Judgement, rule
from speckv_debug.checks.run import check
from speckv_debug.checks.selection import Replay, select
from speckv_debug.cli import main
from speckv_debug.errors import UsageError
from speckv_debug.model.finding import Finding, Severity
from speckv_debug.replay.verifies import VerifyBatch

Build = Callable[..., Any]
TOY = "RPL-TOY"


@pytest.fixture
def ran() -> Iterator[list[str]]:
    """A rule of replay and a law behind it that keep a list of their calls; all that they see is wrong."""
    calls = list[str]()

    def register(id: str, **options: Any) -> None:
        def judge(batch: VerifyBatch) -> Judgement:
            """Nothing is ever right."""
            calls.append(id)
            return Judgement(failed=np.arange(len(batch)), explain=lambda i: Details(message=id))

        rule(id, severity=ERROR, needs=("accept",), scope="verifies", **options)(judge)

    register(TOY, follows=("MOV-PAIR", "LAW-TOY", "ACC-SHIFT"))
    register("LAW-TOY")
    yield calls
    for id in (TOY, "LAW-TOY"):
        del RULES[id]


@pytest.mark.parametrize(
    ("replay", "rules"), [("on", {TOY, "LAW-TOY"}), ("off", {"LAW-TOY"}), ("only", {TOY})]
)
def test_each_way_to_replay(
    ran: list[str], record: Build, verify: Build, replay: Replay, rules: set[str]
) -> None:
    result = check(record(verify()), replay=replay)
    assert {TOY, "LAW-TOY"} & set(result.checked) == rules == set(ran)
    assert all(RULES[id].replays == (replay == "only") for id in result.checked) or replay == "on"


def test_the_laws_of_all_processes_come_first(ran: list[str], record: Build, verify: Build) -> None:
    first, second = record(verify()), record(verify())
    first.processes = (*first.processes, *second.processes)
    check(first)
    assert ran == ["LAW-TOY", "LAW-TOY", TOY, TOY]


def test_a_law_about_the_same_event_is_the_cause(ran: list[str], record: Build, verify: Build) -> None:
    causes = {f.rule: f.cause for f in check(record(verify()), only=[TOY, "LAW-TOY"]).findings}
    assert causes == {TOY: 0, "LAW-TOY": None}


@pytest.mark.parametrize(
    ("replay", "id", "other"), [("off", TOY, "runs the kernels"), ("only", "LAW-TOY", "is a law")]
)
def test_a_rule_that_the_switch_leaves_out_is_refused(
    ran: list[str], replay: Replay, id: str, other: str
) -> None:
    with pytest.raises(UsageError) as error:
        select([id.lower()], [], replay)
    assert error.value.what == f"{id} {other}, which --replay {replay} leaves out"
    assert f"--rule {id}" in error.value.remedy
    assert id not in {rule.id for rule in select([], [id], replay)}


def test_without_torch_replay_is_unknown(
    ran: list[str], record: Build, verify: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    told = list[str]()
    result = check(record(verify(), verify(step=2)), on_error=lambda rule, error: told.append(rule))
    (unknown,) = (each for each in result.unknown if each.rule == TOY)
    assert (unknown.instances, result.checked[TOY], told) == (2, 0, [])
    assert unknown.why.startswith("torch can't be imported: ")
    assert result.checked["LAW-TOY"] == 2


@pytest.mark.parametrize("command", ["check", "report"])
def test_a_gpu_that_is_not_there(
    ran: list[str],
    record: Build,
    verify: Build,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def no_gpu(*args: object, **more: object) -> None:
        raise RuntimeError("No CUDA GPUs are available\nand a long trace")

    monkeypatch.setattr(torch, "zeros", no_gpu)
    path = str(record(verify()).path)
    assert main([command, path, "--device", "cuda"]) == 2
    err = capsys.readouterr().err
    assert "can't run on --device cuda: No CUDA GPUs are available\n" in err and "--device cpu" in err
    assert main([command, path, "--device", "cuda", "--replay", "off"]) in (0, 1)


def test_a_gpu_without_torch(ran: list[str], record: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UsageError, match="torch can't be imported"):
        check(record(), device="cuda")


def finding(rule: str, seq: int, **columns: Any) -> Finding:
    columns = {"request": "a", "step": 1, "severity": Severity.ERROR} | columns
    return Finding(rule=rule, process="p", message="", first_seq=seq, **columns)


@pytest.mark.parametrize(
    ("others", "cause"),
    [
        ([finding("MOV-PAIR", 5)], 5),
        ([finding("MOV-PAIR", 2), finding("MOV-PAIR", 5)], 2),
        ([finding("MOV-PAIR", 5), finding("ACC-SHIFT", 6)], 5),
        ([finding("ACC-CHAIN", 1), finding("ACC-SHIFT", 5)], 1),
        ([finding("MOV-PAIR", 5, step=2)], None),
        ([finding("MOV-PAIR", 5, request="b")], None),
        ([finding("MOV-PAIR", 5, severity=NOTE)], None),
        ([finding("LOC-ROW", 5)], None),
    ],
)
def test_replay_looks_ahead_within_the_step(ran: list[str], others: list[Finding], cause: int | None) -> None:
    order = sorted([*others, finding(TOY, 3)], key=lambda each: each.first_seq)
    tied = {each.first_seq: each for each in with_causes(order)}
    assert tied[3].cause == cause


def test_a_law_never_looks_ahead(ran: list[str]) -> None:
    order = [finding("MOV-PAIR", 3), finding("ACC-CHAIN", 5)]
    assert "ACC-CHAIN" in RULES["MOV-PAIR"].follows
    assert [each.cause for each in with_causes(order)] == [None, None]


def test_no_law_follows_from_replay() -> None:
    assert not [id for id, law in RULES.items() if not law.replays and any("RPL-" in f for f in law.follows)]
