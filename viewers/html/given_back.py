"""What the end of a request's hold gives back: committed, reserve, page ends, and from where on the tail is freed."""

from __future__ import annotations

from typing import Any

import numpy as np

from speckv_debug.kernels.reserve import page_ceil
from speckv_debug.model.events import Release
from speckv_debug.model.finding import Finding
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL
from speckv_debug.viewers.html.axis import Lane, Point, Span, draw_axis
from speckv_debug.viewers.html.markup import Html

RULES = ("OWN-PAGESAFE", "OWN-LEAK", "OWN-DFREE", "RPL-RESERVE")
NUMBERS = ("step", "row", "epoch", "committed", "allocated", "target", "free_start", "page_size")


def release_of(process: ProcessRecording, finding: Finding) -> Release | None:
    """The release that a finding about a request's end is at: its own event, or that of its row in its step."""
    if finding.rule not in RULES:
        return None
    columns = Columns(process.columns("release", *NUMBERS, "kind", "request"))
    seq = columns.ints("seq")
    at = np.flatnonzero(seq == finding.first_seq)
    if not len(at) and finding.row is not None and finding.epoch is not None:
        same = (columns.ints("row") == finding.row) & (columns.ints("epoch") == finding.epoch)
        step = NULL if finding.step is None else finding.step
        at = np.flatnonzero(same & (columns.ints("step") == step))
    if not len(at):
        return None
    index = int(at[-1])
    told: dict[str, Any] = {name: columns.int_at(name, index) for name in NUMBERS}
    return Release(
        seq=int(seq[index]),
        request=columns.text_at("request", index),
        kind=columns.text_at("kind", index),
        **told,
    )


def draw_given_back(release: Release, *, wrong: bool) -> Html:
    """What was held over what the release gives up; `wrong`: the law that was broken is about where the free starts.

    Whether the rest went back as the release says is not its own to tell.
    """
    kept = release.committed if release.target is None else release.target
    if kept is None or release.allocated is None or release.free_start is None:
        return Html()
    end, size = release.allocated, release.page_size or 1
    held = (Span(0, end, "reserve"), Span(0, min(kept, end), "committed"))
    named, begins = ("goes back", "freed from") if wrong else ("due to go back", "due from")
    lanes = [
        Lane("held", held),
        Lane(named, (Span(release.free_start, end, "wrong" if wrong else "due"),)),
    ]
    points = [Point(kept, "kept up to"), Point(end, "allocated")]
    points += [Point(page_ceil(kept, size), "page ends")] if size > 1 else []
    return draw_axis(lanes, [*points, Point(release.free_start, begins, wrong)], "What the release gives up")
