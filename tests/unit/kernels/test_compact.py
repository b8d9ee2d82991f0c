"""Accepted rows come to the front of each block; padding and the rows behind mean nothing."""

import torch

from speckv_debug.kernels.compact import compact_accepted


def test_the_engine_s_own_figures_are_reproduced() -> None:
    before = torch.tensor([9458, 0, 0, 0, 0, 0, 25266, 2657, 0, 20548, 0, 20532, 25649, 0, 28887, 0, 0, 0])
    index = torch.tensor([[0, -1, -1, -1], [6, 7, 9, 11], [12, 14, -1, -1]])
    after = compact_accepted(before, index, 6)
    assert after.tolist() == [
        *(9458, 9458, 9458, 9458, 0, 0),
        *(25266, 2657, 20548, 20532, 0, 20532),
        *(25649, 28887, 9458, 9458, 0, 0),
    ]


def test_rows_of_any_width_move_together_and_the_input_stays() -> None:
    x = torch.arange(8.0).view(4, 2)
    after = compact_accepted(x, torch.tensor([[0, 3]]), 4)
    assert after.tolist() == [[0, 1], [6, 7], [4, 5], [6, 7]]
    assert x.tolist() == torch.arange(8.0).view(4, 2).tolist()
