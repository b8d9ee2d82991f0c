"""Turn what a person asks for (step, request, process) into a place, or say what there is instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from speckv_debug.errors import UsageError
from speckv_debug.model.labels import nearest, process_meant, shortened, some
from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep
from speckv_debug.viewers.tui.inspection import Inspection
from speckv_debug.viewers.tui.lookup import StepLookup


@dataclass(frozen=True, slots=True)
class Place:
    """A verify: the process's label and the index among its verifies."""

    process: str
    index: int


def find_process(inspection: Inspection, label: str) -> str:
    """The one process whose label is `label` or begins with it.

    Raises:
        UsageError: No process, or more than one, answers to `label`.
    """
    return process_meant(label, [process.label for process in inspection.processes])


def start_place(
    inspection: Inspection, *, step: int | None, request: str | None, process: str | None
) -> Place | None:
    """Where to begin; without a process, the first that has it. None is the findings.

    A process alone means its first verify, if it has one.

    Raises:
        UsageError: There is no such place; names the nearest known.
    """
    labels = inspection.labels if process is None else (find_process(inspection, process),)
    if (
        step is None
        and request is None
        and (process is None or not len(inspection.process(labels[0]).lookup))
    ):
        return None
    missed: UsageError | None = None
    for label in labels:
        try:
            return find_place(inspection, label, step, request)
        except UsageError as error:
            missed = missed or error
    raise missed or UsageError("the recording holds no process", "record again, or see speckv-debug info")


def find_place(inspection: Inspection, process: str, step: int | None, request: str | None) -> Place:
    """The first verify of `process` at `step` and of `request`; None leaves a condition out.

    Raises:
        UsageError: There is none; names the nearest known step or requests.
    """
    lookup = inspection.process(process).lookup
    if not len(lookup):
        raise UsageError(
            f"{printable(process)} has no verify step", "the recording may hold a run without speculation"
        )
    if request is not None and request not in lookup.requests:
        raise UsageError(
            f"no verify of request {shortened(printable(request))}",
            f"nearest known: {some(_nearest_requests(lookup, request))}",
        )
    if step is None:
        return Place(process, int(lookup.of_request(request)[0]) if request is not None else 0)
    return Place(process, _at_step(lookup, step, request))


def parse_goal(text: str) -> tuple[int | None, str | None]:
    """What was typed after `:`, as (step, request): `812`, `812 7`, `812 request 7` or `request 7`.

    Raises:
        UsageError: It is neither.
    """
    words = text.split()
    step = _number(words.pop(0)) if words and words[0].isdecimal() else None
    if words and words[0] in ("request", "r"):
        words.pop(0)
    elif step is None:
        raise UsageError(
            f"{shortened(printable(text))!r} is no step",
            "type a step number, or: STEP REQUEST, or: request ID",
        )
    return step, " ".join(words) or None


def moved_page(step: VerifyStep) -> int | None:
    """The page that the last accepted row moves to, None where none has to move."""
    moved = [move.target for move in step.moves if move.target is not None and not move.in_place]
    return moved[-1] // (step.page_size or 1) if moved else None


def _number(digits: str) -> int:
    """The number; one beyond all steps if there are more digits than Python converts."""
    return int(digits) if len(digits) <= 100 else 10**100 - 1


def _at_step(lookup: StepLookup, step: int, request: str | None) -> int:
    here = lookup.at_step(step)
    if not len(here):
        raise UsageError(
            f"no verify at step {_short(step)}", f"nearest known step: {lookup.nearest_step(step)}"
        )
    names = [lookup.steps.request[int(i)] for i in here]
    if request is None:
        return int(here[0])
    if request in names:
        return int(here[names.index(request)])
    own = lookup.steps.step[lookup.of_request(request)]
    nearest = int(own[abs(own - step).argmin()])
    raise UsageError(
        f"request {shortened(printable(request))} has no verify at step {step}",
        f"its nearest step is {nearest}; step {step} verifies {some(name or 'an unnamed request' for name in names)}",
    )


def _short(step: int) -> str:
    text = str(step)
    return text if len(text) <= 24 else f"{text[:21]}..."


def _nearest_requests(lookup: StepLookup, request: str) -> Sequence[str]:
    return nearest(request, [name for name in lookup.requests if name is not None])
