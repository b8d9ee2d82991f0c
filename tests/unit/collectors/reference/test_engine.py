"""The loop: who may come, what overlap delays, what is dropped."""

import pytest

from speckv_debug.collectors.reference.config import EngineConfig
from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.observe import EventLog
from speckv_debug.collectors.reference.workload import Job


def job(id: str, **more: object) -> Job:
    return Job(id=id, prompt=(3, 1, 4, 1, 5, 9), max_new_tokens=8, **more)  # type: ignore[arg-type]


def test_a_request_beyond_the_context_is_refused() -> None:
    engine = Engine(EngineConfig(context_len=12))
    with pytest.raises(ValueError, match="a may reach 14 tokens"):
        engine.receive(job("a"))


def commits_and_launches(*, overlap: bool) -> list[tuple[str, int]]:
    log = EventLog()
    Engine(EngineConfig(overlap=overlap), log).run([job("a")])
    return [
        (table, columns["step"])
        for table, columns in log
        if table == "accept" or (table == "lengths" and columns["cause"] == "verify_commit")
    ]


def test_without_overlap_a_result_is_processed_in_its_own_step() -> None:
    seen = commits_and_launches(overlap=False)
    assert [table for table, _ in seen] == ["accept", "lengths"] * (len(seen) // 2)
    assert all(accept[1] == commit[1] for accept, commit in zip(seen[::2], seen[1::2], strict=True))


def test_under_overlap_a_result_is_processed_behind_the_next_launch_and_the_last_one_dropped() -> None:
    seen = commits_and_launches(overlap=True)
    launches = [step for table, step in seen if table == "accept"]
    commits = [step for table, step in seen if table == "lengths"]
    assert seen[:3] == [("accept", launches[0]), ("accept", launches[1]), ("lengths", launches[0])]
    assert commits == launches[:-1]


def test_events_name_their_lane_under_overlap_only() -> None:
    for overlap, lanes in ((False, {None}), (True, {"schedule", "forward"})):
        log = EventLog()
        Engine(EngineConfig(overlap=overlap), log).run([job("a")])
        assert {columns["lane"] for _, columns in log} == lanes


def test_an_idle_engine_runs_dummy_rounds_on_slot_zero() -> None:
    log = EventLog()
    Engine(EngineConfig(), log).run([job("a", arrival=2)])
    idle = [columns for columns in log.of("forward") if columns["mode"] == "idle"]
    assert len(idle) == 2
    assert all(set(columns["slots"]) == {0} and columns["padded"] for columns in idle)


def test_a_client_that_gives_up_while_waiting_leaves_a_note_and_no_row() -> None:
    log = EventLog()
    requests = Engine(EngineConfig(max_running=1), log).run([job("a"), job("b", abort_at=1)])
    assert requests["b"].ended == "abort" and requests["b"].output == []
    assert {columns["request"] for columns in log.of("row_alloc")} == {"a"}
    assert "b" in log.of("note")[0]["text"]


def test_a_client_that_gives_up_while_running_keeps_what_was_said_in_the_tree() -> None:
    log = EventLog()
    requests = Engine(EngineConfig(), log).run([job("a", abort_at=1)])
    assert requests["a"].ended == "abort"
    assert [columns["kind"] for columns in log.of("release")] == ["abort"]
    assert log.of("pool_stat")[-1]["evictable"] > 0


def test_a_conversation_goes_on_in_its_row() -> None:
    log = EventLog()
    first = job("t.1", session="t", last_turn=False)
    second = job("t.2", session="t", follows="t.1", arrival=1)
    requests = Engine(EngineConfig(page_size=4), log).run([first, second])
    assert requests["t.2"].prompt[: len(first.prompt)] == list(first.prompt)
    assert len(log.of("row_alloc")) == 1
    actions = [columns["action"] for columns in log.of("cache")]
    assert actions.index("session_save") < actions.index("session_restore")
    extend = next(columns for columns in log.of("forward") if columns["request"] == "t.2")
    assert extend["start"] == len(first.prompt) + len(requests["t.1"].text) - 1
