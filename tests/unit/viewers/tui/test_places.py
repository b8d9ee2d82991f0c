"""What a person asks for becomes a place, or a message that names what there is."""

import pytest

from speckv_debug.errors import UsageError
from speckv_debug.viewers.tui.places import Place, find_place, find_process, parse_goal, start_place
from tests.inspected import SmallProcess, SmallRun, broken, inspection
from tests.smallest import LABEL

ONE = inspection()
TWO = inspection(broken, SmallProcess(SmallRun(6), "tp0-1"), SmallProcess(SmallRun(60), "tp1-2"))


def test_a_step_alone_means_its_first_request() -> None:
    assert find_place(ONE, LABEL, 812, None) == Place(LABEL, 36)


def test_a_step_and_a_request_mean_one_verify() -> None:
    assert find_place(ONE, LABEL, 812, "chat-19") == Place(LABEL, 38)


def test_a_request_alone_means_its_first_verify() -> None:
    assert find_place(ONE, LABEL, None, "8") == Place(LABEL, 1)


@pytest.mark.parametrize(
    ("step", "request_", "what", "remedy"),
    [
        (900, None, "no verify at step 900", "nearest known step: 819"),
        (900, "7", "no verify at step 900", "nearest known step: 819"),
        (812, "chat-91", "no verify of request chat-91", "nearest known: chat-19"),
        (None, "\x1b[2J", "no verify of request \\x1b[2J", "nearest known: 7, 8, chat-19"),
    ],
)
def test_what_does_not_exist_is_named_with_the_nearest(
    step: int | None, request_: str | None, what: str, remedy: str
) -> None:
    with pytest.raises(UsageError) as error:
        find_place(ONE, LABEL, step, request_)
    assert (error.value.what, error.value.remedy) == (what, remedy)


def test_a_request_that_rests_at_a_step_is_told_apart() -> None:
    run = SmallRun(9)
    run.request[4] = "7"
    process = SmallProcess(run)
    with pytest.raises(UsageError) as error:
        find_place(inspection(broken, process), LABEL, 801, "8")
    assert error.value.what == "request 8 has no verify at step 801"
    assert error.value.remedy == "its nearest step is 800; step 801 verifies 7, 7, chat-19"


def test_a_process_answers_to_its_label_or_its_beginning() -> None:
    assert find_process(TWO, "tp1-2") == "tp1-2"
    assert find_process(TWO, "tp1") == "tp1-2"
    with pytest.raises(UsageError, match="beginning of several"):
        find_process(TWO, "tp")
    with pytest.raises(UsageError) as error:
        find_process(TWO, "tp7")
    assert error.value.remedy == "known: tp1-2, tp0-1"


def test_the_first_process_that_has_the_step_is_taken() -> None:
    assert start_place(TWO, step=812, request=None, process=None) == Place("tp1-2", 36)
    assert start_place(TWO, step=801, request=None, process=None) == Place("tp0-1", 3)
    assert start_place(TWO, step=801, request=None, process="tp1") == Place("tp1-2", 3)


def test_nothing_asked_for_begins_with_the_findings() -> None:
    assert start_place(TWO, step=None, request=None, process=None) is None


def test_a_process_alone_begins_with_its_first_verify_if_it_has_one() -> None:
    assert start_place(TWO, step=None, request=None, process="tp1") == Place("tp1-2", 0)
    empty = inspection(broken, SmallProcess(SmallRun(0)))
    assert start_place(empty, step=None, request=None, process=LABEL) is None
    with pytest.raises(UsageError, match="has no verify step"):
        start_place(empty, step=3, request=None, process=None)


@pytest.mark.parametrize(
    ("typed", "goal"),
    [
        ("812", (812, None)),
        (" 812 7 ", (812, "7")),
        ("812 request chat 19", (812, "chat 19")),
        ("request 7", (None, "7")),
        ("r 812", (None, "812")),
    ],
)
def test_what_can_be_typed_after_the_colon(typed: str, goal: tuple[int | None, str | None]) -> None:
    assert parse_goal(typed) == goal


@pytest.mark.parametrize("digits", [20, 100, 101, 5000])
def test_a_step_of_any_length_is_refused_in_few_words(digits: int) -> None:
    step, request = parse_goal("9" * digits)
    with pytest.raises(UsageError, match="no verify at step 9{20}") as refused:
        find_place(ONE, LABEL, step, request)
    assert len(refused.value.what) < 60
    assert refused.value.remedy == "nearest known step: 819"


@pytest.mark.parametrize("typed", ["", "chat-19", "-3"])
def test_what_is_no_goal_is_refused(typed: str) -> None:
    with pytest.raises(UsageError, match="is no step"):
        parse_goal(typed)


def test_a_long_id_is_cut_in_the_middle_and_the_nearest_are_named() -> None:
    with pytest.raises(UsageError) as refused:
        find_place(ONE, LABEL, None, "x" * 300)
    assert refused.value.what == f"no verify of request {'x' * 20}…{'x' * 19}"
    with pytest.raises(UsageError) as refused:
        find_place(ONE, LABEL, None, "9")
    assert refused.value.remedy == "nearest known: 8, 7"
