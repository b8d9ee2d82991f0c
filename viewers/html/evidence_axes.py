"""Evidence tables of lengths and bounds, as stretches on a line of positions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from speckv_debug.model.finding import Evidence
from speckv_debug.model.text import amount
from speckv_debug.viewers.html.axis import Lane, Point, Span, draw_axis
from speckv_debug.viewers.html.evidence_lives import LENGTHS
from speckv_debug.viewers.html.markup import Html, element

Numbers = Mapping[str, int]
FORWARDS = ("", "seq", "step", "mode", "request", "begin_ns", "end_ns")
REACHES = " reaches to"
MOST_LANES = 4


def measured(evidence: Evidence) -> Html:
    """The table as a drawing if it tells lengths or bounds of a known kind, else nothing."""
    if evidence.columns == ("cursor", "before", "at most", "after"):
        return _trim(evidence)
    if evidence.columns == ("seq", "step", "seq_len", "accept_len", "new_seq_len"):
        return _sequence(evidence)
    if evidence.columns == FORWARDS:
        return _forwards(evidence)
    numbers = {str(row[0]): row[1] for row in evidence.rows if len(row) == 2 and isinstance(row[1], int)}
    needed, make = MEASURED.get(evidence.title, ((), None))
    known = make is not None and len(evidence.columns) == 2 and set(needed) <= numbers.keys()
    return make(numbers) if make and known else Html()


def _growth(n: Numbers) -> Html:
    before = (Span(0, n["allocated K"], "reserve"), Span(0, n["committed C"], "committed"))
    due = [value for name, value in n.items() if name.startswith("max(")]
    new = n["new allocated"]
    if not due:
        return Html()
    # Between two lengths that are due, all that was added is wrong.
    more = max(due) if new > max(due) else n["allocated K"]
    lacking = [Span(new, min(due), "missing")] if new < min(due) else [Span(more, new, "wrong")]
    lanes = [
        Lane("before", before),
        Lane("due", (Span(0, max(due), "due"),)),
        Lane("engine", (Span(0, new, "reserve"), *lacking)),
    ]
    points = [Point(n["committed C"], "committed"), *(Point(each, "due") for each in sorted(set(due)))]
    return draw_axis(lanes, [*points, Point(new, "new allocated", True)], "Growth of the row")


def _reach(n: Numbers) -> Html:
    start, end, allocated = n["starts at L"], n["reaches to L + w"], n["allocated K"]
    lanes = [
        Lane("allocated", (Span(0, allocated, "reserve"),)),
        Lane("written by the verify", (Span(start, end, "due"), Span(max(start, allocated), end, "wrong"))),
    ]
    points = [Point(start, "starts at"), Point(allocated, "allocated"), Point(end, "written to", True)]
    return draw_axis(lanes, points, "What the verify writes")


def _reads(n: Numbers) -> Html:
    due, read = n["read length due"], n["read length"]
    part = Span(read, due, "missing") if read < due else Span(due, read, "wrong")
    lanes = [Lane("due", (Span(0, due, "due"),)), Lane("read", (Span(0, read, "plain"), part))]
    points = [Point(n["first position"], "first row"), Point(due, "due"), Point(read, "read up to", True)]
    return draw_axis(lanes, points, "What the forward reads")


def _width(n: Numbers) -> Html:
    end = n["row ends at"]
    what, reach = next(((name, to) for name, to in n.items() if name.endswith(REACHES)), ("", 0))
    if not what:
        return Html()
    what = what.removesuffix(REACHES)
    lanes = [
        Lane("the row of req_to_token", (Span(0, end, "due"),)),
        Lane(what, (Span(0, reach, "reserve"), Span(end, reach, "wrong"))),
    ]
    return draw_axis(
        lanes, [Point(end, "row ends"), Point(reach, f"{what} up to", True)], "Width of the row", "entry"
    )


def _window(n: Numbers) -> Html:
    committed, cursor, most = n["committed"], n["cursor"], n["cursor at most"]
    lanes = [
        Lane(
            "the window that the next round reads", (Span(max(0, committed - n["window"]), committed, "due"),)
        ),
        Lane("evicted", (Span(0, cursor, "plain"), Span(most, cursor, "wrong"))),
    ]
    points = [
        Point(most, "evict at most to"),
        Point(committed, "committed"),
        Point(cursor, "evicted up to", True),
    ]
    return draw_axis(lanes, points, "Sliding window")


def _coverage(n: Numbers) -> Html:
    end, first = n["positions read"], n["first of them"]
    lanes = [
        Lane("read by the draft", (Span(0, end, "due"),)),
        Lane(
            "draft KV",
            (Span(0, end, "plain"), Span(first, min(end, first + n["without draft KV"]), "missing")),
        ),
    ]
    return draw_axis(lanes, [Point(first, "no draft KV from", True), Point(end, "read up to")], "Draft KV")


def _release(n: Numbers) -> Html:
    lanes = [
        Lane("held", (Span(0, n["allocated"], "reserve"), Span(0, n["committed"], "committed"))),
        Lane("freed", (Span(n["free_start"], n["allocated"], "wrong"),)),
    ]
    return draw_axis(
        lanes, [Point(n["committed"], "committed"), Point(n["free_start"], "freed from", True)], "Tail"
    )


def _hole(n: Numbers) -> Html:
    start, end = n["first missing"], n["next recorded"]
    first, last = max(0, n["last before the hole"] - (end - start)), end + (end - start)
    lanes = [
        Lane(
            "events of the process",
            (Span(first, start, "plain"), Span(start, end, "missing"), Span(end, last, "plain")),
        )
    ]
    points = [Point(start, "missing from", True), Point(end, "next recorded")]
    return draw_axis(lanes, points, "Numbers of the events", "event")


MEASURED: dict[str, tuple[tuple[str, ...], Callable[[Numbers], Html]]] = {
    "growth": (("committed C", "allocated K", "new allocated"), _growth),
    "reach": (("starts at L", "reaches to L + w", "allocated K"), _reach),
    "what the forward reads": (("first position", "read length due", "read length"), _reads),
    "row width": (("row ends at",), _width),
    "held against the window": (("committed", "window", "cursor", "cursor at most"), _window),
    "coverage by draft KV": (("positions read", "without draft KV", "first of them"), _coverage),
    "release": (("committed", "allocated", "free_start"), _release),
    "numbers of the events": (("last before the hole", "first missing", "next recorded"), _hole),
}
"""Title → the numbers that the drawing needs, and the drawing."""


def _forwards(evidence: Evidence) -> Html:
    """Two forwards in the time of the device: where the second began before the first was done."""
    rows = [row for row in evidence.rows if isinstance(row[5], int) and isinstance(row[6], int)]
    if len(rows) != 2:
        return Html()
    (first, *_, begin, end), (second, *_, start, last) = rows
    assert (
        isinstance(begin, int) and isinstance(end, int) and isinstance(start, int) and isinstance(last, int)
    )
    lanes = [
        Lane(f"{first}: {rows[0][3]} of {rows[0][4]}", (Span(begin, end, "due"),)),
        Lane(
            f"{second}: {rows[1][3]} of {rows[1][4]}",
            (Span(start, last, "plain"), Span(start, min(end, last), "wrong")),
        ),
    ]
    return draw_axis(lanes, [Point(end, "done at"), Point(start, "began at", True)], evidence.title, "ns")


def commit_of(evidence: Evidence) -> tuple[int, list[int], int] | None:
    """Of a request's lengths: committed before the marked report, rows of each accept between, committed by it."""
    wrong = evidence.marked[0] if evidence.columns == LENGTHS and evidence.marked else 0
    told = [k for k in range(wrong) if isinstance(evidence.rows[k][4], int)]
    accepted = [row[3] for row in evidence.rows[told[-1] : wrong] if isinstance(row[3], int)] if told else []
    before, after = (evidence.rows[told[-1]][4], evidence.rows[wrong][4]) if told else (None, None)
    return (before, accepted, after) if isinstance(before, int) and isinstance(after, int) else None


def committed(evidence: Evidence, due: str) -> Html:
    """What one verify adds to the committed length, and what the host made of it.

    Args:
        evidence: Reports of a request's lengths and its accepts, in order; the wrong report is marked.
        due: What the finding says is due; nothing is drawn unless it names the sum.
    """
    told = commit_of(evidence)
    if told is None or len(told[1]) != 1:
        return Html()
    before, (accepted,), after = told
    end = before + accepted
    if str(end) not in re.findall(r"\d+", due):
        return Html()
    part = Span(after, end, "missing") if after < end else Span(end, after, "wrong")
    lanes = [
        Lane(
            "committed before, and the accepted rows",
            (Span(0, before, "committed"), Span(before, end, "due")),
        ),
        Lane("committed after", (Span(0, after, "plain"), part)),
    ]
    points = [Point(before, "committed"), Point(end, "due"), Point(after, "the host says", True)]
    return draw_axis(lanes, points, "What was committed")


def _trim(evidence: Evidence) -> Html:
    """Cursors of a session's trim that stay behind what it keeps."""
    lanes, points = list[Lane](), list[Point]()
    marked_first = sorted(enumerate(evidence.rows), key=lambda row: row[0] not in evidence.marked)
    for at, (name, before, most, after) in marked_first:
        if isinstance(before, int) and isinstance(most, int) and isinstance(after, int):
            wrong = at in evidence.marked
            spans = [Span(0, after, "plain"), *([Span(most, after, "wrong")] if wrong else [])]
            lanes += [
                Lane(f"{name} at most", (Span(0, most, "due"),)),
                Lane(f"{name} after the trim", tuple(spans)),
            ]
            points += [Point(most, "at most"), Point(after, f"{name}", wrong)] if wrong else []
    drawn, hidden = draw_axis(lanes[:MOST_LANES], points, evidence.title), len(lanes[MOST_LANES:]) // 2
    more = element("p", f"{amount(hidden, 'more cursor')} in the table below.", class_="aside")
    return element("div", drawn, more) if hidden else drawn


def _sequence(evidence: Evidence) -> Html:
    """Length, accepted rows and the new length of the verify that breaks the law."""
    row = evidence.rows[evidence.marked[0]] if evidence.marked else evidence.rows[-1]
    _, _, before, accepted, new = row
    if not (isinstance(before, int) and isinstance(accepted, int) and isinstance(new, int)):
        return Html()
    due = before + accepted
    part = Span(new, due, "missing") if new < due else Span(due, new, "wrong")
    lanes = [
        Lane(
            "before, and the accepted rows on top", (Span(0, before, "committed"), Span(before, due, "due"))
        ),
        Lane("the engine's new length", (Span(0, new, "plain"), part)),
    ]
    return draw_axis(
        lanes, [Point(before, "seq_len"), Point(due, "due"), Point(new, "new_seq_len", True)], "Lengths"
    )
