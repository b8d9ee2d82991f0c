"""One verify as text: the smallest example, and what is missing or odd about others."""

import dataclasses

import pytest

from speckv_debug.model.verify import DraftTree, KVBounds, SlotMove, VerifyStep
from speckv_debug.replay.verify_details import Recomputed
from speckv_debug.viewers.tui.widgets.draft_tree import DraftTreePanel
from speckv_debug.viewers.tui.widgets.move_table import MoveTable, moved
from speckv_debug.viewers.tui.widgets.replay_panel import ReplayPanel
from speckv_debug.viewers.tui.widgets.room_bar import RoomBar
from speckv_debug.viewers.tui.widgets.step_panel import StepPanel
from speckv_debug.viewers.tui.widgets.token_strips import TokenStrips
from speckv_debug.viewers.tui.widgets.verify_facts import VerifyFacts
from tests.smallest import smallest_moves, smallest_step


def drawn(panel: StepPanel, step: VerifyStep, width: int = 78) -> list[str]:
    return [line.plain.rstrip() for line in panel.step_lines(step, width)]


def test_the_tree_shows_the_accepted_path_by_shape_and_word() -> None:
    assert drawn(DraftTreePanel(), smallest_step()) == [
        "● R 11      row 0   ✓ root",
        "├─● A 21    row 1   ✓ accepted",
        "│ └─● C 23  row 3   ✓ accepted",
        "└─○ B 22    row 2   rejected",
    ]


def test_a_tree_without_a_verdict_says_so() -> None:
    step = smallest_step(accept_len=None, accepted=())
    assert drawn(DraftTreePanel(), step)[1] == "├─◌ A 21    row 1   not known"


def test_rows_that_no_link_reaches_are_shown_as_such() -> None:
    step = smallest_step(tree=DraftTree(tokens=(11, 21, 22, 23), parents=(-1, 0, -1, 1)))
    assert drawn(DraftTreePanel(), step)[-1] == "○ B 22      row 2   not linked"


def test_a_loop_of_links_ends() -> None:
    step = smallest_step(tree=DraftTree(tokens=(11, 21, 22), parents=(-1, 2, 1)), accepted=(0,))
    assert drawn(DraftTreePanel(), step) == [
        "● R 11    row 0   ✓ root",
        "○ A 21    row 1   rejected",
        "└─○ B 22  row 2   rejected",
    ]


def test_unrecorded_links_are_named_and_the_rows_listed() -> None:
    step = smallest_step(tree=DraftTree(tokens=(11, 21), parents=()), accepted=(0,))
    assert drawn(DraftTreePanel(), step) == [
        "the links of the tree were not recorded",
        "● R 11  row 0   ✓ root",
        "○ A 21  row 1   rejected",
    ]


def test_the_table_goes_from_accept_index_to_the_slot() -> None:
    assert drawn(MoveTable(), smallest_step()) == [
        "k  token  row  source → target  position  page  moved?",
        "0  R 11     0  42080 = 42080        4096   328  same slot",
        "1  A 21     1  42081 = 42081        4097   328  same slot",
        "2  C 23     3  42083 → 42082        4098   328  ✓ moved",
    ]


def test_a_move_that_ran_backwards_is_seen_beside_what_was_due() -> None:
    step = smallest_step(moves=smallest_moves(ran=(42082, 42083)))
    assert drawn(MoveTable(), step)[-1].endswith("42083 → 42082        4098   328  ✗ ran 42083 ← 42082")


def test_pages_of_one_slot_need_no_column_and_two_pages_are_both_named() -> None:
    assert "page" not in drawn(MoveTable(), smallest_step(page_size=1))[0]
    move = SlotMove(k=0, token=11, verify_row=0, position=128, source=260, target=128)
    assert "2 → 1" in drawn(MoveTable(), smallest_step(moves=(move,)))[1]


@pytest.mark.parametrize(
    ("changes", "recorded", "word"),
    [
        ({"engine_source": None, "engine_target": None}, True, "! no move seen"),
        ({"engine_source": None, "engine_target": None}, False, "? moves not recorded"),
        ({"engine_source": None, "engine_target": None, "source": 42082}, True, "same slot"),
        ({"source": None}, True, "? slot not recorded"),
        ({"engine_target": 5}, True, "✗ ran 5 ← 42083"),
    ],
)
def test_what_became_of_an_accepted_row(changes: dict[str, int | None], recorded: bool, word: str) -> None:
    last = smallest_moves()[-1]
    assert moved(dataclasses.replace(last, **changes), recorded)[0] == word


def test_kv_and_output_are_one_token_apart() -> None:
    assert drawn(TokenStrips(), smallest_step()) == [
        "KV commits    R 11       │ A 21       │ C 23       │ no KV yet",
        "output gains             │ A 21       │ C 23       │ X 31 bonus",
        "position      4096         4097         4098         4099",
    ]


def test_an_output_token_that_is_not_what_kv_holds_is_marked() -> None:
    step = smallest_step(output_tokens=(22, None, 31))
    assert drawn(TokenStrips(), step)[1] == "output gains             │ ≠ 22       │ ≠ ?        │ X 31 bonus"


def test_strips_that_are_too_long_go_on_below() -> None:
    lines = drawn(TokenStrips(), smallest_step(), width=44)
    assert lines[0] == "KV commits    R 11       │ A 21"
    assert lines[3] == "KV commits    C 23       │ no KV yet"
    assert len(lines) == 6


def test_the_room_is_drawn_to_scale_with_every_part_in_sight() -> None:
    bar, pointers, legend = drawn(RoomBar(), smallest_step(), width=70)
    assert bar.startswith("0 ⋯ 3968 ███") and bar.endswith("░ 4352")
    assert bar.count("▓") == 1 and bar.count("▒") == 1
    assert pointers.index("┘") == bar.index("▓")
    assert "committed 4099 ┘" in pointers and "page ends 4224 ┘" in pointers
    assert legend == "█ before 4096  ▓ this verify +3  ▒ rejected 1  ░ allocated to 4352"


def test_reserve_that_would_dwarf_the_rest_is_cut_in_sight() -> None:
    step = smallest_step(bounds=KVBounds(committed=4096, allocated=90_000))
    bar, *pointers, _ = drawn(RoomBar(), step, width=110)
    assert bar.endswith("░ ⋯ 90000")
    assert pointers[0].index("┘") == bar.rindex("▓") > 15


def test_an_unknown_accept_length_is_not_shown_as_none() -> None:
    step = smallest_step(accept_len=None, accepted=())
    assert "▓ this verify unknown" in drawn(RoomBar(), step)[-1]


def test_few_positions_get_as_many_cells_each() -> None:
    step = smallest_step(
        seq_len=4, accept_len=2, page_size=1, bounds=KVBounds(committed=4, allocated=10), new_seq_len=6
    )
    bar = drawn(RoomBar(), step, width=36)[0]
    assert bar == "0 " + "█" * 12 + "▓" * 6 + "▒" * 6 + "░" * 6 + " 10"


def test_the_host_that_lags_is_named() -> None:
    step = smallest_step(bounds=KVBounds(committed=4093, allocated=4352))
    assert drawn(RoomBar(), step)[-1].endswith("host knew 4093")


def test_unknown_lengths_are_said_to_be_unknown() -> None:
    assert drawn(RoomBar(), smallest_step(seq_len=None)) == ["the length before this verify was not recorded"]
    assert drawn(RoomBar(), smallest_step(bounds=None))[-1].endswith("allocated length not recorded")


@pytest.mark.parametrize("width", [1, 9, 20, 78, 300])
@pytest.mark.parametrize("accept_len", [0, 1, 4])
def test_no_width_and_no_length_breaks_the_room(width: int, accept_len: int) -> None:
    for allocated in (4096, 4100, 4101, 4352, 10_000_000):
        step = smallest_step(accept_len=accept_len, bounds=KVBounds(committed=4096, allocated=allocated))
        assert len(drawn(RoomBar(), step, width)) in (3, 4)


def test_nothing_accepted_draws_words_instead_of_empty_panels() -> None:
    step = smallest_step(accept_len=0, accepted=(), moves=(), kv_tokens=(), output_tokens=())
    assert drawn(MoveTable(), step) == drawn(TokenStrips(), step) == ["no accepted row was recorded"]


def test_facts_name_what_the_drawings_do_not() -> None:
    assert drawn(VerifyFacts(), smallest_step(), width=200) == [
        "accepted 3 of 4 rows · seq_len 4096 → 4099 · tree · eagle · greedy · request row 7, epoch 1 · event 5000"
    ]
    chain = DraftTree(tokens=(1, 2, 3), parents=(-1, 0, 1))
    assert " chain " in drawn(VerifyFacts(), smallest_step(tree=chain, algorithm="\x1b[2J"), width=200)[0]
    assert "\\x1b[2J" in drawn(VerifyFacts(), smallest_step(algorithm="\x1b[2J"), width=200)[0]


def test_a_result_of_replay_without_room_for_its_columns_goes_on_below_its_name() -> None:
    panel, what = ReplayPanel(), "accepted rows (kernels.accept.verify_tree_greedy)"
    panel.results = (Recomputed(what, "0 1 3", "0 1 2", same=False),)
    assert drawn(panel, smallest_step(), 80)[1:] == [f"{what}  0 1 3     0 1 2     ✗ differs"]
    assert drawn(panel, smallest_step(), 79) == [what, "  recorded 0 1 3  replayed 0 1 2  ✗ differs"]
