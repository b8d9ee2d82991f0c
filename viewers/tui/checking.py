"""The slow work beside the screen: read the steps of every process, then judge the recording."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from textual.message import Message

from speckv_debug.errors import SpeckvError
from speckv_debug.model.finding import CheckResult
from speckv_debug.viewers.tui.apart import Cancelled
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import Outcome, outcome_of

NAME, FOLLOW = "check", "follow"
"""Of the threads: this one, and the one that looks whether the recording has grown."""
SHORT_TURNS_S = 0.001
"""How long the check may keep the interpreter from the screen at a time."""


@dataclass
class StepsRead(Message):
    """The verifies of one process are known."""

    process: str
    lookup: StepLookup


@dataclass
class Progressed(Message):
    """So much of the check is done."""

    share: float


@dataclass
class Checked(Message):
    """The recording has been judged, by the laws alone as long as the outcome is not complete."""

    outcome: Outcome


@dataclass
class Stopped(Message):
    """Reading or checking failed; the screens stay usable with what is there."""

    why: str


def start(
    inspection: Inspection, post: Callable[[Message], object], given_up: threading.Event | None = None
) -> None:
    """Begin; `post` must be safe to call from another thread.

    The thread is a daemon, so that the inspector can be left while a long check is running. Once `given_up` is set no check
    begins, and one that is running goes on no further than to what it tells next.
    """
    asked = (inspection, post, given_up or threading.Event())
    threading.Thread(target=_run, args=asked, name=NAME, daemon=True).start()


def is_running() -> bool:
    """Whether one of the threads is still at work."""
    return any(thread.name in (NAME, FOLLOW) for thread in threading.enumerate())


def _told(
    post: Callable[[Message], object],
    lookups: Mapping[str, StepLookup],
    given_up: threading.Event,
    what: float | CheckResult,
) -> None:
    _go_on(given_up)
    if isinstance(what, CheckResult):
        post(Checked(outcome_of(what, lookups, complete=False)))
    else:
        post(Progressed(what))


def _go_on(given_up: threading.Event) -> None:
    if given_up.is_set():
        raise Cancelled


def _run(inspection: Inspection, post: Callable[[Message], object], given_up: threading.Event) -> None:
    patience = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURNS_S)
    try:
        lookups = {}
        for process in inspection.processes:
            lookups[process.label] = process.lookup
            post(StepsRead(process.label, process.lookup))
        inspection.prepare()
        _go_on(given_up)
        post(Checked(outcome_of(inspection.check(partial(_told, post, lookups, given_up)), lookups)))
    except SpeckvError as error:
        post(Stopped(f"{error.what}. {error.remedy}".strip()))
    except Cancelled:
        post(Stopped("it was given up"))
    except Exception as error:  # noqa: BLE001  a fault in a rule must not take the screens away
        post(Stopped(f"{type(error).__name__}: {error}"))
    finally:
        sys.setswitchinterval(patience)
