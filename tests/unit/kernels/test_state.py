"""Ring rows of rejected drafts are emptied, and no other; the step that an accept keeps."""

import torch

from speckv_debug.kernels.state import clear_unaccepted_rows, commit_steps, track_steps

INF = float("inf")


def test_rejected_rows_of_the_ring_are_emptied_half_and_half() -> None:
    rings = torch.ones(3 * 4, 4)
    lens = torch.tensor([6, 1]), torch.tensor([1, 3])
    clear_unaccepted_rows(rings, torch.tensor([1, 2]), *lens, ring_size=4, num_draft_tokens=3)
    emptied = [row for row in range(12) if rings[row].tolist() != [1, 1, 1, 1]]
    assert (
        emptied == [4 + 7 % 4, 4 + 8 % 4][::-1]
    )  # request row 1, positions 7 and 8; row 2 accepted all three
    assert rings[emptied[0]].tolist() == [0, 0, -INF, -INF]


def test_the_kept_step_is_the_last_accepted_row_of_its_request() -> None:
    index = torch.tensor([[0, 2, -1], [4, 5, 7]], dtype=torch.int32)
    assert commit_steps(index, torch.tensor([2, 3]), 4).tolist() == [2, 3]


def test_the_tracked_step_is_where_the_accept_crossed_the_interval() -> None:
    index = torch.tensor([[0, 2, -1], [4, 5, 7], [8, 9, -1]], dtype=torch.int32)
    before, lens = torch.tensor([7, 6, 8]), torch.tensor([2, 3, 2])
    assert track_steps(index, lens, before, 4, 8).tolist() == [0, 1, -1]
