"""Which draft rows are accepted: the smallest example, sibling order, and the law of rejection sampling."""

import pytest
import torch

from speckv_debug.kernels.accept import draw, verify_chain_rejection, verify_tree_greedy


def tensor(*rows: list[int]) -> torch.Tensor:
    return torch.tensor(rows)


def test_the_smallest_example_accepts_root_a_and_c() -> None:
    predict, index, drafts = verify_tree_greedy(
        candidates=tensor([11, 21, 22, 23]),
        next_token=tensor([1, 3, -1, -1]),
        next_sibling=tensor([-1, 2, -1, -1]),
        target_predict=tensor([21, 23, 0, 31]),
        width=3,
    )
    assert index.tolist() == [[0, 1, 3]]
    assert predict.tolist() == [21, 23, 0, 31]
    assert drafts.tolist() == [2]


def test_rows_are_flat_over_the_batch_and_rejected_rows_predict_nothing() -> None:
    predict, index, drafts = verify_tree_greedy(
        candidates=tensor([5, 6, 7], [1, 2, 3]),
        next_token=tensor([1, 2, -1], [1, -1, -1]),
        next_sibling=tensor([-1, -1, -1], [-1, 2, -1]),
        target_predict=tensor([9, 9, 9], [3, 9, 8]),
        width=3,
    )
    assert index.tolist() == [[0, -1, -1], [3, 5, -1]]
    assert predict.tolist() == [9, 0, 0, 3, 0, 8]
    assert drafts.tolist() == [0, 1]


def test_the_first_of_two_siblings_with_one_token_is_taken() -> None:
    _, index, _ = verify_tree_greedy(
        candidates=tensor([5, 7, 7]),
        next_token=tensor([1, -1, -1]),
        next_sibling=tensor([-1, 2, -1]),
        target_predict=tensor([7, 0, 0]),
        width=2,
    )
    assert index.tolist() == [[0, 1]]


def test_no_more_rows_than_the_index_is_wide() -> None:
    _, index, drafts = verify_tree_greedy(
        candidates=tensor([1, 2, 3, 4]),
        next_token=tensor([1, 2, 3, -1]),
        next_sibling=tensor([-1, -1, -1, -1]),
        target_predict=tensor([2, 3, 4, 5]),
        width=3,
    )
    assert index.tolist() == [[0, 1, 2]]
    assert drafts.tolist() == [2]


def test_draw_inverts_the_cumulative_sum() -> None:
    weights = torch.tensor([0.0, 1.0, 0.0, 3.0])
    coins = torch.tensor([0.0, 0.2, 0.25, 0.999999])
    assert draw(weights.expand(4, -1), coins).tolist() == [1, 1, 3, 3]


def chain_outputs(p: torch.Tensor, q: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """First two output tokens of `count` independent rounds over a chain of one draft."""
    toss = torch.Generator().manual_seed(5)
    drafts = draw(q.expand(count, -1), torch.rand(count, generator=toss, dtype=p.dtype))
    candidates = torch.stack((torch.zeros_like(drafts), drafts), 1)
    predict, index, accepted = verify_chain_rejection(
        candidates,
        p.expand(count, 2, -1),
        q.expand(count, 1, -1),
        torch.rand(count, 1, generator=toss, dtype=p.dtype),
        torch.rand(count, generator=toss, dtype=p.dtype),
    )
    assert torch.equal(index[:, 0], torch.arange(count) * 2)
    return predict.view(count, 2)[:, 0], accepted


def test_rejection_sampling_is_distributed_as_the_target() -> None:
    p = torch.tensor([0.5, 0.3, 0.15, 0.05], dtype=torch.float64)
    q = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.float64)
    first, accepted = chain_outputs(p, q, 8000)
    frequency = torch.bincount(first, minlength=4) / 8000
    assert torch.allclose(frequency, p.float(), atol=0.02), frequency
    assert float(accepted.double().mean()) == pytest.approx(float(torch.minimum(p, q).sum()), abs=0.02)


def test_a_perfect_draft_is_always_accepted() -> None:
    p = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
    _, accepted = chain_outputs(p, p, 200)
    assert accepted.tolist() == [1] * 200


def test_a_draft_that_the_target_never_says_is_never_accepted() -> None:
    p, q = torch.tensor([0.0, 1.0], dtype=torch.float64), torch.tensor([1.0, 0.0], dtype=torch.float64)
    first, accepted = chain_outputs(p, q, 50)
    assert accepted.tolist() == [0] * 50
    assert first.tolist() == [1] * 50
