"""Slots of verify rows, accepted pairs, the bonus and the draft branches."""

import torch

from speckv_debug.kernels import locate

WIDTH = 20
TABLE = torch.arange(3 * WIDTH) + 100  # position p of row r lies in slot 100 + 20 r + p


def test_row_slots_are_read_from_each_row_at_its_own_start() -> None:
    slots = locate.row_slots(TABLE, WIDTH, torch.tensor([2, 1]), torch.tensor([3, 0]), 2)
    assert slots.tolist() == [[143, 144], [120, 121]]


def test_pairs_are_packed_over_the_batch_and_padded_with_zero() -> None:
    loc = torch.tensor([[29, 30, 31, 32], [42, 43, 44, 47]])
    index = torch.tensor([[0, -1, -1], [4, 6, 7]])
    targets, sources = locate.accepted_pairs(loc, index, torch.tensor([1, 3]))
    assert targets.tolist() == [29, 42, 43, 44, 0, 0]
    assert sources.tolist() == [29, 42, 44, 47, 0, 0]


def test_the_bonus_is_the_last_accepted_token_of_each_request() -> None:
    tokens = torch.tensor([5, 9, 9, 1, 2, 3])
    assert locate.bonus_tokens(tokens, torch.tensor([1, 3]), 3).tolist() == [5, 3]


def test_branches_without_pages_lie_one_behind_the_other() -> None:
    starts = torch.tensor([5])
    stride = locate.branch_stride(starts, topk=3, steps=2, page_size=1)
    slots = locate.branch_slots(TABLE, WIDTH, torch.tensor([1]), starts, stride, topk=3, steps=2)
    assert slots.tolist() == [[[125, 126], [127, 128], [129, 130]]]


def test_branches_with_pages_get_pages_of_their_own_behind_a_copy_of_the_tail() -> None:
    starts = torch.tensor([6])  # pages of 4: the prefix ends at offset 2 of its second page
    stride = locate.branch_stride(starts, topk=3, steps=2, page_size=4)
    slots = locate.branch_slots(TABLE, WIDTH, torch.tensor([0]), starts, stride, topk=3, steps=2)
    assert stride.tolist() == [4]
    assert slots.tolist() == [[[106, 107], [110, 111], [114, 115]]]
    targets, sources = locate.tail_copies(TABLE, WIDTH, 0, 6, 4, topk=3, page_size=4)
    assert sources.tolist() == [104, 105, 104, 105]
    assert targets.tolist() == [108, 109, 112, 113]


def test_a_branch_that_crosses_a_page_takes_two() -> None:
    assert locate.branch_stride(torch.tensor([7, 4]), topk=2, steps=3, page_size=4).tolist() == [8, 4]


def test_ragged_spans_are_packed_then_zero_and_cut_at_the_size() -> None:
    spans = torch.tensor([2, 0, 1]), torch.tensor([3, 5, 0]), torch.tensor([5, 5, 1])
    assert locate.row_slots_ragged(TABLE, WIDTH, *spans, 5).tolist() == [143, 144, 120, 0, 0]
    assert locate.row_slots_ragged(TABLE, WIDTH, *spans, 1).tolist() == [143]


def test_the_window_and_the_table_give_the_same_targets() -> None:
    rows, starts, lens = torch.tensor([2, 1]), torch.tensor([3, 0]), torch.tensor([1, 2])
    window = locate.row_slots(TABLE, WIDTH, rows, starts, 4)
    front = locate.front_slots(window, lens, 6)
    assert front.tolist() == [143, 120, 121, 0, 0, 0]
    assert torch.equal(front, locate.row_slots_ragged(TABLE, WIDTH, rows, starts, starts + lens, 6))


def test_sources_are_the_slots_of_the_rows_that_are_rows() -> None:
    loc = torch.tensor([29, 30, 31, 32, 42, 43, 44, 47])
    index = torch.tensor([[0, -1, -1], [4, 6, 7]], dtype=torch.int32)
    assert locate.accepted_sources(loc, index).tolist() == [29, 42, 44, 47, 0, 0]


def test_a_commit_gives_lengths_and_the_bonus_on_the_path_s_last_row() -> None:
    predict = torch.tensor([5, 9, 9, 1, 2, 3, 4, 7], dtype=torch.int32)
    index = torch.tensor([[0, -1, -1], [4, 6, 7]], dtype=torch.int32)
    lens, bonus = locate.commit_outputs(predict, index, torch.tensor([1, 3]), torch.tensor([10, 20]))
    assert (
        lens.tolist() == [11, 23] == locate.new_lengths(torch.tensor([10, 20]), torch.tensor([1, 3])).tolist()
    )
    assert bonus.tolist() == [5, 7]
