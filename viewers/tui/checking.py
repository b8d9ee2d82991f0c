"""The slow work beside the screen: read the steps of every process, then judge the recording."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass

from textual.message import Message

from speckv_debug.errors import SpeckvError
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.outline import Outcome, outcome_of

NAME = "check"
"""Of the thread."""
SHORT_TURNS_S = 0.001
"""How long the check may keep the interpreter from the screen at a time."""


@dataclass
class StepsRead(Message):
    """The verifies of one process are known."""

    process: str
    lookup: StepLookup


@dataclass
class Checked(Message):
    """The laws have been judged."""

    outcome: Outcome


@dataclass
class Stopped(Message):
    """Reading or checking failed; the screens stay usable with what is there."""

    why: str


def start(inspection: Inspection, post: Callable[[Message], object]) -> None:
    """Begin; `post` must be safe to call from another thread.

    The thread is a daemon, so that the inspector can be left while a long check is running.
    """
    threading.Thread(target=_run, args=(inspection, post), name=NAME, daemon=True).start()


def is_running() -> bool:
    """Whether the thread is still at work."""
    return any(thread.name == NAME for thread in threading.enumerate())


def _run(inspection: Inspection, post: Callable[[Message], object]) -> None:
    patience = sys.getswitchinterval()
    sys.setswitchinterval(SHORT_TURNS_S)
    try:
        lookups = {}
        for process in inspection.processes:
            lookups[process.label] = process.lookup
            post(StepsRead(process.label, process.lookup))
        post(Checked(outcome_of(inspection.check(), lookups)))
    except SpeckvError as error:
        post(Stopped(f"{error.what}. {error.remedy}".strip()))
    except Exception as error:  # noqa: BLE001  a fault in a rule must not take the screens away
        post(Stopped(f"{type(error).__name__}: {error}"))
    finally:
        sys.setswitchinterval(patience)
