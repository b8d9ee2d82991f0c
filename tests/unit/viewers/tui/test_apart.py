"""An object in a process of its own: it answers, tells, refuses, can be given up, and ends with its parent."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from speckv_debug.errors import UsageError
from speckv_debug.viewers.tui.apart import Apart, Cancelled, Within


class Worker:
    """What lives in the other process."""

    def __init__(self) -> None:
        self._calls = 0

    def count(self, tell: Callable[[object], None]) -> tuple[int, int]:
        print("this may not reach the screen")
        self._calls += 1
        return self._calls, os.getpid()

    def add(self, a: int, b: int, tell: Callable[[object], None]) -> int:
        tell(0.5)
        return a + b

    def refuse(self, tell: Callable[[object], None]) -> None:
        raise UsageError("no such pool", "Name another.")

    def fail(self, tell: Callable[[object], None]) -> None:
        raise KeyError("tree")

    def sleep(self, tell: Callable[[object], None]) -> None:
        tell(0.0)
        time.sleep(600)


@pytest.fixture(scope="module")
def apart() -> Iterator[Apart]:
    made = Apart(Worker)
    yield made
    made.close()


def test_one_object_answers_all_calls_in_another_process(
    apart: Apart, capfd: pytest.CaptureFixture[str]
) -> None:
    first, second = apart.call("count"), apart.call("count")
    assert (first[0], second[0]) == (1, 2)
    assert first[1] == second[1] != os.getpid()
    assert capfd.readouterr().out == ""


def test_what_is_told_on_the_way_arrives(apart: Apart) -> None:
    told: list[object] = []
    assert apart.call("add", 2, 3, on_told=told.append) == 5
    assert told == [0.5]


def test_a_mistake_of_the_person_arrives_as_it_is(apart: Apart) -> None:
    with pytest.raises(UsageError, match="no such pool") as error:
        apart.call("refuse")
    assert error.value.remedy == "Name another."


def test_a_fault_is_named_and_the_next_call_answers(apart: Apart) -> None:
    with pytest.raises(RuntimeError, match="KeyError: 'tree'"):
        apart.call("fail")
    assert apart.call("add", 1, 1) == 2


def test_a_listener_that_fails_leaves_no_answer_behind_for_the_next_call(apart: Apart) -> None:
    def fails(what: object) -> None:
        raise ValueError("not listening")

    with pytest.raises(ValueError, match="not listening"):
        apart.call("add", 2, 3, on_told=fails)
    assert apart.call("add", 1, 1) == 2


def test_a_call_can_be_given_up_and_the_next_one_starts_anew(apart: Apart) -> None:
    begun = threading.Event()
    stopper = threading.Thread(target=lambda: (begun.wait(60), apart.cancel()))
    stopper.start()
    with pytest.raises(Cancelled):
        apart.call("sleep", on_told=lambda what: begun.set())
    stopper.join()
    assert apart.call("count")[0] == 1


def test_giving_up_while_nothing_runs_keeps_what_was_worked_out() -> None:
    made = Apart(Worker)
    try:
        for number in (1, 2, 3):
            assert made.call("count")[0] == number
            made.cancel()
    finally:
        made.close()


def test_a_process_that_has_begun_answers_the_first_call() -> None:
    made = Apart(Worker)
    try:
        made.begin()
        begun = made._process
        assert begun is not None
        assert made.call("count")[1] == begun.pid
    finally:
        made.close()


def test_what_is_asked_within_is_made_once_and_answers_here() -> None:
    made = Within(Worker)
    told: list[object] = []
    made.begin()
    assert made.call("count") == (1, os.getpid())
    made.cancel()
    assert made.call("count") == (2, os.getpid())
    assert made.call("add", 2, 3, on_told=told.append) == 5
    assert told == [0.5]
    made.close()


def test_what_is_closed_starts_no_process_any_more() -> None:
    made = Apart(Worker)
    made.close()
    made.begin()
    with pytest.raises(Cancelled):
        made.call("add", 1, 2)
    assert made._process is None
