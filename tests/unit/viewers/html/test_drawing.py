"""What the drawings of a verify show: due and run moves, the tree with its path, two strips, the room."""

import dataclasses
import re

import pytest

from speckv_debug.model.causes import RootCause
from speckv_debug.model.finding import Evidence
from speckv_debug.model.verify import DraftTree, KVBounds, SlotMove
from speckv_debug.viewers.html.drawing import of_step
from speckv_debug.viewers.html.lanes import draw_lanes
from speckv_debug.viewers.html.room import draw_room
from speckv_debug.viewers.html.strips import draw_strips
from speckv_debug.viewers.html.svg import label, picture
from speckv_debug.viewers.html.timeline import timeline
from speckv_debug.viewers.html.tree import MOST_ROWS, Note, draw_tree
from tests.read_drawing import said_by_place
from tests.reported import finding, verify


def texts(picture: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", picture)


def unsaid(picture: str) -> set[str]:
    """What a drawing marks in words and its titles lack."""
    said = " ".join(re.findall(r"<title>([^<]*)</title>", picture))
    return {words for words in texts(picture) if words.startswith("✗ ") and words not in said}


def classes(picture: str, tag: str) -> list[str]:
    return re.findall(rf'<{tag}\b[^>]*class="([^"]*)"', picture)


def moved_as_due() -> tuple[SlotMove, ...]:
    return tuple(
        dataclasses.replace(m, engine_source=m.source, engine_target=m.target) for m in verify().moves
    )


def not_moved() -> tuple[SlotMove, ...]:
    return tuple(dataclasses.replace(m, engine_source=None, engine_target=None) for m in verify().moves)


def test_lanes_show_what_ran_beside_what_was_due() -> None:
    picture = draw_lanes(verify())
    assert "✗ due C" in texts(picture)
    assert [c for c in classes(picture, "rect") if "wrong" in c] == ["cell wrong"]
    assert "engine ran 42082 to 42083, not due" in picture
    for words in ("same slot", "due, no such move recorded", "✗ ran, was not due"):
        assert words in picture


def test_arrows_go_from_the_source_down_to_the_target() -> None:
    assert said_by_place(draw_lanes(verify())) == {"42083 → 42082 due", "42082 → 42083 wrong"}
    assert said_by_place(draw_lanes(verify(moves=moved_as_due()))) == {"42083 → 42082 ran"}


def test_lanes_of_a_correct_move_mark_nothing() -> None:
    picture = draw_lanes(verify(moves=moved_as_due()))
    assert "✗" not in picture
    assert "moved as due" in picture
    assert texts(picture).count("C") == 3  # before, and after in both slots: a move copies


def test_pairs_that_ran_in_another_order_ran_as_due() -> None:
    moves = moved_as_due()
    turned = tuple(
        dataclasses.replace(m, engine_source=other.source, engine_target=other.target)
        for m, other in zip(moves, reversed(moves), strict=True)
    )
    picture = draw_lanes(verify(moves=turned))
    assert "not due" not in picture and "no such move" not in picture
    assert "moved as due" in picture and "same slot" in picture


def test_a_missing_move_is_marked_only_where_a_law_was_judged() -> None:
    step = verify(moves=not_moved())
    assert "✗" not in draw_lanes(step)
    assert "due C" in texts(draw_lanes(step))
    assert "✗ due C" in texts(draw_lanes(step, judged=True))


def test_lanes_of_many_slots_keep_the_moved_ones_and_count_the_rest() -> None:
    step = verify(out_cache_loc=tuple(range(42080, 42180)))
    picture = draw_lanes(step)
    assert "76 more slots are not drawn" in picture
    assert {"42082", "42083"} <= set(texts(picture))


def test_lanes_without_any_slot_are_left_out() -> None:
    assert draw_lanes(verify(out_cache_loc=None, moves=())) == ""


def test_the_tree_marks_the_accepted_path() -> None:
    picture = draw_tree(verify())
    assert "accepted path R A C" in picture
    assert classes(picture, "circle") == ["node accepted", "node accepted", "node rejected", "node accepted"]
    assert classes(picture, "path").count("edge accepted") == 2


def test_a_step_of_the_path_that_is_no_edge_is_drawn_as_broken() -> None:
    assert classes(draw_tree(verify(accepted=(0, 2, 3))), "path").count("edge broken") == 1


@pytest.mark.parametrize("parents", [(-1, 0, 3, 2), (-1, -1, -1, -1), (0, 1, 2, 3), ()])
def test_a_tree_with_wrong_links_is_still_drawn(parents: tuple[int, ...]) -> None:
    tree = DraftTree(tokens=(11, 21, 22, 23), parents=parents)
    assert len(classes(draw_tree(verify(tree=tree)), "circle")) in (0, 4)


def test_a_wide_tree_keeps_the_accepted_path_and_counts_the_rest() -> None:
    wide = DraftTree(tokens=tuple(range(100)), parents=(-1, *[0] * 99))
    picture = draw_tree(verify(tree=wide, accepted=(0, 99)))
    assert len(classes(picture, "circle")) == MOST_ROWS
    assert classes(picture, "path").count("edge accepted") == 1
    assert f"{100 - MOST_ROWS} more rejected rows are not drawn." in picture


def test_strips_are_of_one_length_and_one_token_apart() -> None:
    picture = draw_strips(verify())
    assert "KV commits R A C; the output gains A C X" in picture
    assert [t for t in texts(picture) if t in {"R", "A", "C", "X"}] == ["R", "A", "C", "A", "C", "X"]
    assert "✗" not in picture


def test_strips_name_the_position_of_each_token_that_kv_commits() -> None:
    rows = re.findall(r'<text x="([0-9.]+)" y="[0-9.]+"[^>]*>(R|A|C|p [0-9]+)<', draw_strips(verify()))
    column = {words: x for x, words in reversed(rows)}
    assert [words for words in column if words.startswith("p ")] == ["p 4098", "p 4097", "p 4096"]
    for row, position in (("R", "p 4096"), ("A", "p 4097"), ("C", "p 4098")):
        assert column[row] == column[position]


def test_strips_mark_a_token_that_is_not_the_one_committed() -> None:
    assert "✗ due C" in texts(draw_strips(verify(output_tokens=(21, 99, 31))))


def test_strips_mark_a_bonus_that_was_handed_on_as_another() -> None:
    assert "✗ handed on: 30" in texts(draw_strips(verify(bonus_token=30)))


COMPONENTS = Evidence(
    title="components",
    columns=("pool", "component", "pairs moved", "due", "left behind"),
    rows=(("full", "k", 1, 1, ""), ("full", "v", 0, 1, "42082 <- 42083")),
    marked=(1,),
)


def test_a_row_whose_values_stayed_behind_is_marked_in_lanes_and_strips() -> None:
    found = finding(rule="MOV-ALLPOOLS", slots=(42083, 42082), evidence=(COMPONENTS,))
    drawn = dict(of_step(verify(moves=moved_as_due()), found))
    said = {words for picture in drawn.values() for words in said_by_place(picture)}
    assert {"42083 → 42082 lost", "KV p 4098: C wrong", "KV p 4097: A accepted"} <= said
    assert "✗ v not moved" in texts(drawn["KV of the accepted rows"])
    assert "C (✗ v not moved); the output" in drawn["Same length, one token apart"]


def test_what_stayed_behind_marks_no_row_that_the_finding_does_not_name() -> None:
    other = dataclasses.replace(COMPONENTS, rows=(("full", "v", 0, 1, "7 <- 9"),), marked=(0,))
    found = finding(rule="MOV-ALLPOOLS", slots=(9, 7), evidence=(other,))
    assert "✗" not in "".join(picture for _, picture in of_step(verify(moves=moved_as_due()), found))


def test_the_strips_of_a_broken_move_show_what_kv_holds_with_what_is_due() -> None:
    (picture,) = [drawn for title, drawn in of_step(verify(), finding()) if title.startswith("Same length")]
    assert {"KV p 4097: A accepted", "KV p 4098: B wrong", "output 2: C accepted"} <= said_by_place(picture)
    assert "KV commits R A B (✗ due C)" in picture and "22" in texts(picture)


LENGTHS = ("seq", "step", "event", "accept_len", "committed", "allocated", "cause")


@pytest.mark.parametrize(
    ("rule", "committed", "said", "words"),
    [
        ("LEN-COMMIT", 4098, {"KV p 4097: A accepted", "KV p 4098: – wrong"}, "✗ due C"),
        ("LEN-COMMIT", 4100, {"KV p 4098: C accepted", "KV p 4099: ? wrong"}, "✗ none due"),
        ("LEN-STALE", 4099, {f"KV p {4096 + k}: {name} wrong" for k, name in enumerate("RAC")}, "✗ none due"),
    ],
)
def test_the_strips_show_what_the_host_committed(
    rule: str, committed: int, said: set[str], words: str
) -> None:
    rows = (
        (1, 811, "lengths", None, 4096, 4352, "spec_prepare"),
        (2, 812, "accept", 3, None, None, None),
        (3, 812, "lengths", None, committed, 4352, "verify_commit"),
    )
    told = Evidence(title="lengths of the request", columns=LENGTHS, rows=rows, marked=(2,))  # type: ignore[arg-type]
    found = finding(rule=rule, evidence=(told,))
    (picture,) = [drawn for title, drawn in of_step(verify(), found) if title.startswith("Same length")]
    assert said <= said_by_place(picture)
    assert texts(picture).count(words) == 1 and words in picture.partition("</title>")[0]


def test_lengths_of_another_verify_mark_nothing() -> None:
    rows = ((1, 809, "lengths", None, 4000, 4352, ""), (2, 809, "accept", 3, None, None, None))
    told = Evidence(
        title="lengths of the request",
        columns=LENGTHS,
        rows=(*rows, (3, 809, "lengths", None, 4002, 4352, "verify_commit")),  # type: ignore[arg-type]
        marked=(2,),
    )
    drawn = of_step(verify(moves=moved_as_due()), finding(rule="LEN-COMMIT", evidence=(told,)))
    assert "✗" not in "".join(picture for _, picture in drawn)


def test_a_row_that_accept_index_names_beyond_its_length_is_marked_in_the_tree() -> None:
    index = Evidence(
        title="accept_index",
        columns=("k", "accept_index", "row", "parent row", "predict"),
        rows=((0, 0, "R 11", -1, 21), (1, 1, "A 21", 0, 23)),
        marked=(1,),
    )
    step = verify(accepted=(0,), accept_len=1)
    tree = dict(of_step(step, finding(rule="ACC-COUNT", evidence=(index,))))["Draft tree"]
    assert {"R accepted", "A wrong", "B rejected"} <= said_by_place(tree)
    assert "✗ in accept_index" in texts(tree)


def test_the_room_names_the_page_end_behind_the_committed_length() -> None:
    said = texts(draw_room(verify(bounds=KVBounds(committed=4099, allocated=4352))))
    assert said == ["from 3593", "page ends 4224", "committed 4099", "allocated 4352"]


@pytest.mark.parametrize("bounds", [None, KVBounds(committed=0, allocated=0)])
def test_a_room_without_lengths_is_left_out(bounds: KVBounds | None) -> None:
    assert draw_room(verify(bounds=bounds)) == ""


def test_a_broken_room_with_more_committed_than_allocated_is_still_drawn() -> None:
    assert 'width="-' not in draw_room(verify(bounds=KVBounds(committed=90, allocated=64)))


@pytest.mark.parametrize(
    ("rule", "titles"),
    [
        ("ACC-COUNT", ["Draft tree", "Same length, one token apart"]),
        ("MOV-PAIR", ["KV of the accepted rows", "Draft tree", "Same length, one token apart"]),
        ("OWN-LEAK", ["Room"]),
        ("TRC-GAP", []),
    ],
)
def test_each_family_gets_the_pictures_that_fit_it(rule: str, titles: list[str]) -> None:
    drawn = of_step(verify(), finding(rule=rule))
    assert [title for title, picture in drawn if picture] == titles


def test_a_verify_of_which_almost_nothing_is_known_draws_without_failing() -> None:
    bare = verify(
        tree=DraftTree(tokens=(), parents=()),
        accepted=(),
        output_tokens=(),
        kv_tokens=(),
        out_cache_loc=None,
        moves=(),
        bounds=None,
        seq_len=None,
    )
    assert not any(picture for _, picture in of_step(bare, finding(rule="NEW-RULE")))


def test_a_reader_who_does_not_see_a_drawing_is_told_all_that_is_marked() -> None:
    lanes = draw_lanes(verify(moves=not_moved()), judged=True)
    assert "42083 to 42082 due, no such move recorded" in lanes
    assert "slot 42082 ends with B, ✗ due C" in lanes
    strips = draw_strips(verify(output_tokens=(21, 99, 31), bonus_token=30))
    assert "the output gains A 99 (✗ due C) X (✗ handed on: 30)" in strips
    tree = draw_tree(
        verify(accepted=(0, 2, 3)), {2: Note("✗ accepted", True), 1: Note("target's choice", False)}
    )
    assert "A (token 21): target&#x27;s choice; B (token 22): ✗ accepted; B to C: no edge of the tree" in tree
    for drawn in (lanes, strips, tree):
        assert "✗" in drawn and not unsaid(drawn)


def test_what_only_a_shape_marks_is_added_to_the_title() -> None:
    drawn = picture(
        9, 9, [label(1, 1, "✗ <slot> 4", "wrong"), label(1, 1, "plain")], title="Slots", class_="x"
    )
    assert "<title>Slots; ✗ &lt;slot&gt; 4</title>" in drawn
    assert "plain" not in re.findall(r"<title>([^<]*)</title>", drawn)[0]


def test_the_strip_of_steps_names_the_bad_ones_and_draws_no_more_marks_than_can_be_seen() -> None:
    follows = tuple(finding(step=step, cause=51) for step in range(813, 9000))
    drawn = timeline((0, 10_000), [RootCause(finding(), follows), RootCause(finding(step=900), ())])
    assert (
        "Steps 0 to 10000; ✗ first bad step 812; root causes at steps 812, 900; what follows at steps 813, "
        in drawn
    )
    assert " and 8,174 more</title>" in drawn
    assert classes(drawn, "rect").count("cause") == 2
    assert 300 < classes(drawn, "rect").count("after") <= 401
