"""Evidence tables that compare place by place, as lanes of cells."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.lettering import letter
from speckv_debug.viewers.html.cells import Strip, draw_cells
from speckv_debug.viewers.html.markup import Html

LaneOf = tuple[str, Callable[[Sequence[Cell]], str | None]]


def _text(column: int) -> Callable[[Sequence[Cell]], str | None]:
    return lambda row: None if row[column] is None else str(row[column])


def _row(column: int) -> Callable[[Sequence[Cell]], str | None]:
    """A local verify row by its letter."""
    return lambda row: letter(value) if isinstance(value := row[column], int) else _text(column)(row)


def _copied(row: Sequence[Cell]) -> str | None:
    return f"{row[1]}→{row[3]}"


INDEX = ("k", "accept_index", "row", "parent row", "predict")
COMPARED: dict[tuple[str, ...], tuple[str, Callable[[Sequence[Cell]], str | None], tuple[LaneOf, ...]]] = {
    INDEX: (
        "k",
        _text(0),
        (("verify row", _text(2)), ("accept_index", _text(1))),
    ),
    ("row", "position", "slot due", "slot used", ""): (
        "position",
        _text(1),
        (("verify row", _row(0)), ("slot due", _text(2)), ("slot used", _text(3))),
    ),
    ("k", "verify row due", "value due", "value found", "found row", ""): (
        "place k",
        _text(0),
        (("row due", _row(1)), ("value due", _text(2)), ("row found", _row(4)), ("value found", _text(3))),
    ),
    ("k", "verify row", "value due", "value found", ""): (
        "place k",
        _text(0),
        (("verify row", _row(1)), ("value due", _text(2)), ("value found", _text(3))),
    ),
    ("ring row", "position", "due", "engine"): (
        "ring row",
        _text(0),
        (("position", _text(1)), ("due", _text(2)), ("engine", _text(3))),
    ),
    ("ring row", "wanted", "stored", "by event", ""): (
        "ring row",
        _text(0),
        (("wanted", _text(1)), ("stored", _text(2))),
    ),
    ("position", "state due", "state"): (
        "position",
        _text(0),
        (("state due", _text(1)), ("state", _text(2))),
    ),
    ("position", "slot in the tree", "slot in the row"): (
        "position",
        _text(0),
        (("slot in the row", _text(2)), ("slot in the tree", _text(1))),
    ),
    ("pair", "source", "before", "target", "after"): (
        "source→target",
        _copied,
        (("source, before", _text(2)), ("target, after", _text(4))),
    ),
    ("row", "position", "slot by writes", "slot in snapshot", "written at seq", "slot used", ""): (
        "position",
        _text(1),
        (("verify row", _row(0)), ("slot by writes", _text(2)), ("slot used", _text(5))),
    ),
    ("position", "slot", "token due", "written to", "token held", "of position", "of", "moved from"): (
        "position",
        _text(0),
        (
            ("token due", _text(2)),
            ("written to slot", _text(3)),
            ("slot", _text(1)),
            ("token held", _text(4)),
        ),
    ),
    ("", "replayed", "recorded"): ("", _text(0), (("replayed", _text(1)), ("recorded", _text(2)))),
    ("position", "slot written"): ("position", _text(0), (("slot written", _text(1)),)),
}
"""Columns → what a place is called, its name, and the lanes; the last lane is what the engine has."""
FOUND = {INDEX: 2, ("k", "verify row due", "value due", "value found", "found row", ""): 2}
"""Tables in which more than the last lane is what the engine has."""
DIFFERING = (("position", "slot in the tree", "slot in the row"), ("", "replayed", "recorded"))
"""Tables that do not mark what differs."""
RANKS = ("rank", "accept_len", "rows", "tokens", "width", "layout")
EVERY = ("position", "slot written")


def compared(evidence: Evidence, due: Sequence[tuple[str, Callable[[int], str | None]]] = ()) -> Html:
    """The table as lanes if it compares place by place, else nothing; `due` are lanes on top, by place."""
    if evidence.columns in COMPARED:
        key, name, lanes = COMPARED[evidence.columns]
        places = range(len(evidence.rows))
        cells = tuple((lane, tuple(of(k) for k in places)) for lane, of in due if evidence.columns == INDEX)
        cells += tuple((lane, tuple(of(row) for row in evidence.rows)) for lane, of in lanes)
        keys = tuple(name(row) or "" for row in evidence.rows)
        found = FOUND.get(evidence.columns, 1)
        strip = Strip(key=key, keys=keys, lanes=cells, wrong=_wrong(evidence), found=found)
        return draw_cells(strip, evidence.title)
    if evidence.columns == RANKS:
        return _ranks(evidence)
    if len(evidence.columns) == 3 and evidence.columns[1].startswith("slot of "):
        return _slots(evidence)
    return _tokens(evidence) if evidence.columns[:2] == ("", "0") and len(evidence.rows) == 3 else Html()


def _wrong(evidence: Evidence) -> frozenset[int]:
    if evidence.columns in DIFFERING:
        return frozenset(k for k, row in enumerate(evidence.rows) if None not in row and row[1] != row[2])
    return frozenset(range(len(evidence.rows))) if evidence.columns == EVERY else frozenset(evidence.marked)


def _ranks(evidence: Evidence) -> Html:
    """What each rank decided, a lane a rank; the one that differs stands last."""
    rows = sorted(range(len(evidence.rows)), key=lambda k: k in evidence.marked)
    lanes = tuple(
        (str(evidence.rows[k][0]), tuple(_text(column)(evidence.rows[k]) for column in range(1, 6)))
        for k in rows
    )
    told = zip(lanes[0][1], lanes[-1][1], strict=True)
    wrong = frozenset(k for k, (first, last) in enumerate(told) if first != last)
    strip = Strip(key="decided", keys=evidence.columns[1:], lanes=lanes, wrong=wrong)
    return draw_cells(strip, evidence.title)


def _slots(evidence: Evidence) -> Html:
    """The slots of two tables by position: that of the first is due."""
    lanes = tuple(
        (evidence.columns[lane], tuple(_text(lane)(row) for row in evidence.rows)) for lane in (1, 2)
    )
    keys = tuple(str(row[0]) for row in evidence.rows)
    strip = Strip(key=evidence.columns[0], keys=keys, lanes=lanes, wrong=_wrong(evidence))
    return draw_cells(strip, evidence.title)


def _tokens(evidence: Evidence) -> Html:
    """Tokens by position: the second row is what was written, the third what was due."""
    places, written, due = evidence.rows
    values = list(zip(places[1:], written[1:], due[1:], strict=True))
    wrong = frozenset(k for k, (_, had, wanted) in enumerate(values) if wanted is not None and had != wanted)
    lanes = tuple(
        (str(row[0]), tuple(None if cell is None else str(cell) for cell in row[1:]))
        for row in (due, written)
    )
    keys = tuple("" if cell is None else str(cell) for cell in places[1:])
    strip = Strip(key=str(places[0]), keys=keys, lanes=lanes, wrong=wrong, unset="")
    return draw_cells(strip, evidence.title)
