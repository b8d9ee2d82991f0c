"""The history of a slot, page, request row or request as one JSON object; absent values are null."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, TextIO

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.recording.slot_ranges import shorten
from speckv_debug.viewers.terminal.history import Answer


def render(answer: Answer, process: ProcessRecording, out: TextIO) -> None:
    """Every field; runs of slots are half-open ranges, as in JSON Lines."""
    fields = {"process": process.label, **asdict(answer)}
    for event in fields.get("events", ()):
        event["slots"] = shorten(list(event["slots"]))
    out.write(json.dumps(_plain(fields), indent=2) + "\n")


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """What was asked for first, then the answer, then what is unknown."""
    unseen = fields.pop("unseen")
    return {**fields, "unknown": unseen}
