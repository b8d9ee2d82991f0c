"""What the drawings of evidence show: the numbers of the table, the wrong place marked with a sign and in words."""

from __future__ import annotations

import re

import pytest

from speckv_debug.model.events import Release
from speckv_debug.model.finding import Evidence, Finding
from speckv_debug.viewers.html.axis import Lane, Point, Span, draw_axis
from speckv_debug.viewers.html.cells import MOST_CELLS, WIDEST, Strip, draw_cells
from speckv_debug.viewers.html.copies import copies_of, draw_copies
from speckv_debug.viewers.html.given_back import draw_given_back
from speckv_debug.viewers.html.life import MOST_EVENTS, Turn, draw_life
from speckv_debug.viewers.html.proof import Place, prove
from tests.read_drawing import said_by_place
from tests.reported import finding


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def proved(*evidence: Evidence, **changes: object) -> str:
    found: Finding = finding(evidence=evidence, **changes)
    return prove(found, Place())


def table(
    title: str, columns: tuple[str, ...], *rows: tuple[object, ...], marked: tuple[int, ...] = ()
) -> Evidence:
    return Evidence(title=title, columns=columns, rows=rows, marked=marked)  # type: ignore[arg-type]


WINDOW = table(
    "verify window",
    ("row", "position", "slot due", "slot used", ""),
    (0, 26, 98, 66, "✗"),
    (1, 27, 99, 99, ""),
    marked=(0,),
)
PAGE = ("seq", "step", "event", "request", "row", "epoch", "slots", "reason", "site")
LIFE = table(
    "page 6 of pool full",
    PAGE,
    (3, 1, "alloc", "r0", 1, 1, "[24, 28)", "extend", "a.py:f"),
    (9, 2, "free", "r0", 1, 1, "[24, 28)", "finish", None),
    (12, 3, "free", "r0", 1, 1, "[24, 28)", "finish", None),
    marked=(2,),
)
POOL = table(
    "the pool at this point",
    ("held by", "slots by the engine", "slots by the events", "pages"),
    ("free", 8, 8, None),
    ("tree", 28, 28, None),
    ("sessions", 0, 0, None),
    ("running requests", None, 76, None),
    ("nobody", None, 8, "[4, 6)"),
    ("all", 120, 120, None),
    marked=(4,),
)


@pytest.mark.parametrize(
    ("evidence", "said"),
    [
        (WINDOW, ("98", "66", "✗", "R")),
        (LIFE, ("step 3", "✗ free (finish) · r0 · slots [24, 28)")),
        (POOL, ("✗ the events leave: 112 of 120 slots, 8 nobody&#x27;s", "8", "76")),
        (
            table(
                "reach",
                ("", "position"),
                ("starts at L", 34),
                ("rows written w", 6),
                ("allocated K", 39),
                ("reaches to L + w", 40),
            ),
            ("✗ written to 40", "allocated 39"),
        ),
        (
            table(
                "growth",
                ("", "positions"),
                ("committed C", 23),
                ("allocated K", 23),
                ("max(K, C + reserve)", 55),
                ("new allocated", 23),
            ),
            ("due 55", "✗ new allocated 23"),
        ),
        (
            table(
                "what the forward reads",
                ("", "positions"),
                ("first position", 25),
                ("read length due", 31),
                ("read length", 29),
            ),
            ("due 31", "✗ read up to 29"),
        ),
        (
            table(
                "numbers of the events",
                ("", "event"),
                ("last before the hole", 12),
                ("first missing", 13),
                ("next recorded", 17),
            ),
            ("✗ missing from 13", "next recorded 17"),
        ),
        (
            table(
                "row width", ("", "entries"), ("row ends at", 60), ("reserve reaches to", 64), ("spill", 4)
            ),
            ("row ends 60", "✗ reserve up to 64"),
        ),
        (
            table(
                "held against the window",
                ("", "positions"),
                ("committed", 28),
                ("window", 8),
                ("cursor", 28),
                ("cursor at most", 20),
            ),
            ("✗ evicted up to 28", "evict at most to 20"),
        ),
        (
            table(
                "coverage by draft KV",
                ("", "positions"),
                ("positions read", 16),
                ("without draft KV", 16),
                ("first of them", 0),
            ),
            ("✗ no draft KV from 0", "read up to 16"),
        ),
        (
            table(
                "verifies",
                ("seq", "step", "seq_len", "accept_len", "new_seq_len"),
                (90, 5, 20, 4, 23),
                marked=(0,),
            ),
            ("due 24", "✗ new_seq_len 23"),
        ),
        (
            table(
                "a trim to 19",
                ("cursor", "before", "at most", "after"),
                ("committed", 21, 19, 21),
                marked=(0,),
            ),
            ("at most 19", "✗ committed 21"),
        ),
        (
            table(
                "tokens",
                ("", "0", "1"),
                ("position", 23, 24),
                ("token written", 32, 24),
                ("token handed on", 52, None),
            ),
            ("32", "52", "✗"),
        ),
        (
            table(
                "components",
                ("pool", "component", "pairs moved", "due", "left behind"),
                ("full", "k", 3, 3, ""),
                ("full", "v", 0, 3, "68 <- 69"),
                marked=(1,),
            ),
            ("✗ v of pool full: 0 of 3 pairs moved, left behind 68 &lt;- 69",),
        ),
        (
            table(
                "slot 162",
                ("slot", "request", "request row", "entry", "seq"),
                (162, "t", 4, 0, 129),
                (162, "t", 4, 1, 129),
            ),
            ("entry 0 of t", "slot 162", "✗ written 2 times"),
        ),
        (
            table(
                "slot 210",
                ("pair", "move", ""),
                (8, "210 <- 212", "writes"),
                (9, "209 <- 210", "reads after"),
                marked=(1,),
            ),
            ("✗ due KV of 210", "2. pair 9 reads after"),
        ),
        (
            table(
                "references to page 5",
                ("seq", "holder", "action", "holder has", "references", "count_after"),
                (389, "row:3", "retain", 1, 1, 1),
            ),
            ("row:3 retain · row:3 has 1 · engine counts 1", "✗ the last move runs backwards"),
        ),
        (
            table(
                "ring rows",
                ("ring row", "position", "due", "engine"),
                (111, 111, "kept", "cleared"),
                marked=(0,),
            ),
            ("kept", "cleared", "✗"),
        ),
    ],
    ids=lambda value: value.title if isinstance(value, Evidence) else "",
)
def test_a_drawing_shows_the_numbers_of_its_table(evidence: Evidence, said: tuple[str, ...]) -> None:
    picture = proved(evidence, rule="XYZ")
    assert set(said) <= set(texts(picture)), texts(picture)
    assert "<title>" in picture and 'role="img"' in picture


def test_two_slots_with_one_peer_meet_in_it() -> None:
    peer = ("seq", "step", "peer")
    first, second = (table(f"mapping of full slot {n}", peer, (n, 1, 32)) for n in (36, 40))
    assert "✗ two full slots, one peer" in texts(proved(first, second, rule="OWN-MAP"))


def test_a_table_of_another_kind_is_not_drawn() -> None:
    assert proved(table("anything", ("a", "b"), (1, 2)), rule="XYZ") == ""
    assert (
        proved(table("growth", ("", "positions"), ("committed C", 3), ("allocated K", 3)), rule="XYZ") == ""
    )


def test_lanes_of_many_places_show_the_wrong_one_and_count_the_rest() -> None:
    many = tuple(str(n) for n in range(100))
    strip = Strip(
        key="k",
        keys=many,
        lanes=(("due", many), ("engine", (*many[:70], "x", *many[71:]))),
        wrong=frozenset({70}),
    )
    picture = draw_cells(strip, "many")
    assert "x" in texts(picture) and f"{100 - MOST_CELLS} more places not drawn" in picture
    assert "k 70: due 70, engine x" in picture


def test_a_long_life_says_how_many_events_are_left_out() -> None:
    turns = [Turn(step=f"step {n}", words=f"event {n}", state="held") for n in range(30)]
    found = texts(draw_life(turns, "a life"))
    assert {"event 0", "event 1", "event 29", f"… {30 - MOST_EVENTS + 1} more events"} <= set(found)


def test_a_long_life_keeps_the_event_that_is_wrong() -> None:
    turns = [Turn(step=f"step {n}", words=f"event {n}", state="held", wrong=n == 11) for n in range(30)]
    found = texts(draw_life(turns, "a life"))
    assert {"✗ event 11", "… 9 more events", "… 14 more events", "event 29"} <= set(found)


def test_what_is_too_much_to_draw_is_said() -> None:
    copies = copies_of([(f"pair {n}", f"{n} <- {n + 20}", False) for n in range(9)])
    assert "Not drawn: the pairs are of 18 slots." in draw_copies(copies)
    lives = [table(f"page {n}", PAGE, *LIFE.rows, marked=(2,)) for n in range(4)]
    assert "2 more tables below, not drawn." in proved(*lives)
    far = finding(rule="LOC-RANGE", slots=(1, 2, 3, 4, 99), pool="full", evidence=())
    assert "Slots of the pool (1 more slot named)" in prove(far, Place(bound=64))
    assert "✗ slot 99" in texts(prove(far, Place(bound=64)))
    cursors = [(f"cursor {n}", 30, 20, 25 if n == 3 else 20) for n in range(4)]
    trimmed = proved(table("trim", ("cursor", "before", "at most", "after"), *cursors, marked=(3,)))
    assert "cursor 3 after the trim" in texts(trimmed) and "2 more cursors in the table below." in trimmed


def test_a_long_common_beginning_is_cut_and_said() -> None:
    lanes = [Lane("due", (Span(0, 100_024, "due"),)), Lane("engine", (Span(0, 100_020, "plain"),))]
    found = texts(draw_axis(lanes, [Point(100_024, "due"), Point(100_020, "engine", True)], "lengths"))
    assert any(re.fullmatch(r"position [1-9]\d+", text) for text in found)
    assert "✗ engine 100020" in found


def test_bars_and_points_stand_at_their_numbers_on_the_ruler() -> None:
    lanes = [
        Lane("due", (Span(0, 56, "due"),)),
        Lane("engine", (Span(0, 40, "plain"), Span(16, 24, "wrong"))),
    ]
    points = [Point(56, "due"), Point(24, "engine", True)]
    said = said_by_place(draw_axis(lanes, points, "lengths"))
    assert said == {"due [0, 56)", "plain [0, 40)", "wrong [16, 24)"}
    cut = [Lane("due", (Span(0, 100_024, "due"),)), Lane("engine", (Span(100_004, 100_020, "plain"),))]
    said = said_by_place(draw_axis(cut, [Point(100_024, "due"), Point(100_020, "engine", True)], "lengths"))
    assert "plain [100004, 100020)" in said
    lane = [Lane("draft KV", (Span(0, 16, "missing"),))]
    said = said_by_place(draw_axis(lane, [Point(0, "none from", True), Point(16, "read up to")], "draft KV"))
    assert said == {"missing [0, 16)"}


def test_copies_in_another_order_spoil_nothing() -> None:
    rows = [("pair 9", "209 <- 210", False), ("pair 8", "210 <- 212", False)]
    assert "✗" not in draw_copies(copies_of(rows))
    assert copies_of([("pair", "no pair at all", False)]) == []


def test_one_slot_of_a_page_is_called_so_and_no_step_is_cut_off() -> None:
    columns = ("seq", "step", "event", "request", "row", "epoch", "slots", "reason", "site")
    rows = (
        (7, None, "alloc", "r0", 1, 1, "68", "x", None),
        (123456789, None, "free", None, None, None, None, None, None),
    )
    drawn = proved(
        Evidence(title="page 17 of pool full", columns=columns, rows=rows, marked=(1,)), rule="XYZ"
    )
    assert {"alloc (x) · r0 · slot 68", "✗ free", "event 123456789"} <= set(texts(drawn))
    (x,) = re.findall(r'<text x="([0-9.]+)"[^>]*>event 123456789<', drawn)
    assert float(x) >= 6.6 * len("event 123456789")


def test_a_long_message_gives_way_to_what_the_engine_did() -> None:
    columns = ("seq", "step", "peer")
    life = Evidence(title="mapping of full slot 32", columns=columns, rows=((5, 1, "32"),))
    long = finding(rule="XYZ", message="m" * 90, actual="32 is the peer of two slots", evidence=(life,))
    assert "✗ 32 is the peer of two slots" in texts(prove(long, Place()))


def test_the_pool_that_a_slot_lies_outside_of_is_not_called_committed() -> None:
    drawn = prove(finding(rule="LOC-RANGE", pool="full", slots=(406,), evidence=()), Place(bound=244))
    assert "✗ slot 406" in texts(drawn) and "committed" not in drawn


def test_wide_cells_are_fewer_so_that_none_is_cut_off() -> None:
    keys = tuple(map(str, range(15)))
    strip = Strip(
        key="ring row",
        keys=keys,
        lanes=(("wanted", ("neutral x",) * 15), ("stored", ("nothing",) * 15)),
        wrong=frozenset({0}),
    )
    drawn = draw_cells(strip, "x")
    (width,) = map(float, re.findall(r'<svg viewBox="0 0 ([0-9.]+) ', drawn))
    assert width <= WIDEST and "places not drawn" in drawn


def test_a_release_is_drawn_as_due_and_never_as_freed_where_nobody_says_so() -> None:
    told = Release(seq=5, committed=29, allocated=60, free_start=32, page_size=4)
    drawn = draw_given_back(told, wrong=False)
    assert {"due to go back", "due from 32", "page ends 32"} <= set(texts(drawn)) and "freed" not in drawn
    assert "✗ freed from 32" in texts(draw_given_back(told, wrong=True))
