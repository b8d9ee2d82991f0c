"""Which draft rows are accepted: the smallest example, sibling order, the rules written out request by request."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.kernels.accept import (
    accept_from_lens,
    draw,
    match_chain,
    simulate_accept,
    verify_chain_rejection,
    verify_tree_greedy,
    verify_tree_target_only,
)
from tests import accept_cases as cases

SEEDS = st.integers(0, 1 << 30)


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


def rule_of_greedy(tree: cases.Tree, chosen: torch.Tensor, width: int) -> tuple[list[int], list[list[int]]]:
    """`predict` and accepted paths, one request after the other."""
    bs, rows = tree.candidates.shape
    predict, paths = [0] * (bs * rows), []
    for i, (tokens, child, sibling, want) in enumerate(
        zip(*(t.tolist() for t in (*tree, chosen)), strict=True)
    ):
        path = [0]
        while len(path) < width:
            row = child[path[-1]]
            while row != -1 and tokens[row] != want[path[-1]]:
                row = sibling[row]
            if row == -1:
                break
            path.append(row)
        for row in path:
            predict[i * rows + row] = want[row]
        paths.append([i * rows + row for row in path])
    return predict, paths


@given(SEEDS, st.integers(1, 12), st.integers(1, 7), st.integers(1, 5))
def test_greedy_follows_the_rule(seed: int, rows: int, width: int, alphabet: int) -> None:
    toss = cases.seeded(seed)
    tree, chosen = cases.tree(toss, 20, rows, alphabet), cases.tokens(toss, 20, rows, alphabet)
    predict, paths = rule_of_greedy(tree, chosen, width)
    accepted = verify_tree_greedy(*tree, chosen, width)
    assert accepted.predict.tolist() == predict
    assert [row[row >= 0].tolist() for row in accepted.accept_index] == paths
    assert accepted.accept_lens.tolist() == [len(path) for path in paths]
    assert torch.equal(accepted.num_correct_drafts + 1, accepted.accept_lens)
    short = [t.int() for t in (*tree, chosen)]
    assert all(map(torch.equal, accepted, verify_tree_greedy(*short, width)))


def test_links_in_a_circle_or_out_of_range_end_the_walk() -> None:
    circle = verify_tree_greedy(
        tensor([1, 2, 3]), tensor([1, -1, -1]), tensor([-1, 2, 1]), tensor([9, 9, 9]), width=3
    )
    assert circle.accept_index.tolist() == [[0, -1, -1]]
    up = verify_tree_greedy(
        tensor([1, 1, 1]), tensor([1, 0, -1]), tensor([-1, 7, 1]), tensor([1, 1, 9]), width=3
    )
    assert up.accept_index.shape == (1, 3)
    far = verify_tree_greedy(
        tensor([1, 2, 3]), tensor([1, 3, -1]), tensor([-1, -9, -1]), tensor([2, 3, 3]), width=3
    )
    assert far.accept_index.tolist() == [[0, 1, -1]]


def test_no_requests_are_no_failure() -> None:
    none, probs = torch.zeros(0, 4, dtype=torch.int64), torch.zeros(0, 4, 9)
    assert verify_tree_greedy(none, none, none, none, 3).accept_index.shape == (0, 3)
    sampled = verify_tree_target_only(none, none, none, probs, torch.zeros(0, 4), torch.zeros(0), 3)
    assert sampled.accept_index.shape == (0, 3)
    for block in (False, True):
        chain = verify_chain_rejection(
            none, probs, probs[:, 1:], torch.zeros(0, 3), torch.zeros(0), block=block
        )
        assert chain.accept_index.shape == (0, 4)


def rule_of_target_only(verify: cases.Sampling, i: int, width: int, single: float, scale: float) -> list[int]:
    """Output tokens of request i, counted in floats that nothing rounds."""
    tokens, child, sibling, probs, coins, final = (t[i].tolist() for t in verify)
    row, passed, outputs, rest = 0, 0.0, [], list(probs[0])
    while len(outputs) < width - 1:
        node, took = child[row], False
        while node != -1 and not took:
            own = probs[row][tokens[node]]
            passed += own
            took = own > 0 and (coins[row] < passed / scale or own >= single)
            if not took:
                rest[tokens[node]], node = 0.0, sibling[node]
        if not took:
            break
        row, passed, outputs, rest = node, 0.0, [*outputs, tokens[node]], list(probs[node])
    goal, seen = final * sum(rest), 0.0
    for token, weight in enumerate(rest):
        seen += weight
        if seen > goal:
            return [*outputs, token]
    return [*outputs, len(rest) - 1]


@given(SEEDS, st.integers(1, 9), st.integers(1, 6), st.integers(1, 9), st.sampled_from([1.0, 0.5, 0.25]))
@settings(max_examples=60)
def test_target_only_follows_the_rule(seed: int, rows: int, width: int, vocab: int, threshold: float) -> None:
    verify = cases.target_only(cases.seeded(seed), 20, rows, vocab)
    for single, scale in ((1.0, threshold), (threshold, 1.0)):
        accepted = verify_tree_target_only(*verify, width, single, scale)
        for i, path in enumerate(accepted.accept_index):
            outputs = accepted.predict[path[path >= 0]].tolist()
            assert outputs == rule_of_target_only(verify, i, width, single, scale)


def test_a_child_without_target_mass_is_never_accepted() -> None:
    verify = (tensor([0, 1]), tensor([1, -1]), tensor([-1, -1]))
    probs = torch.tensor([[[1.0, 0.0], [0.5, 0.5]]])
    coins, final = torch.zeros(1, 2), torch.zeros(1)
    accepted = verify_tree_target_only(*verify, probs, coins, final, 2, threshold_single=0.0)
    assert accepted.accept_index.tolist() == [[0, -1]]
    assert accepted.predict.tolist() == [0, 0]


def test_block_verification_takes_a_prefix_that_a_token_would_have_broken() -> None:
    p, q = torch.tensor([[[0.25, 0.75], [1.0, 0.0], [0.5, 0.5]]]), torch.tensor([[[0.5, 0.5], [0.5, 0.5]]])
    chain = (tensor([9, 0, 0]), p, q, torch.tensor([[0.75, 0.75]]), torch.tensor([0.75]))
    assert verify_chain_rejection(*chain).num_correct_drafts.tolist() == [0]
    block = verify_chain_rejection(*chain, block=True)
    assert block.num_correct_drafts.tolist() == [2]
    assert block.predict.tolist() == [0, 0, 1]


def test_what_is_no_draft_probability_is_rejected_unless_unguarded() -> None:
    p, q = torch.tensor([[[0.5, 0.5], [0.5, 0.5]]]), torch.tensor([[[0.0, 1.0]]])
    chain = (tensor([9, 0]), p, q, torch.tensor([[0.5]]), torch.tensor([0.25]))
    assert verify_chain_rejection(*chain).accept_index.tolist() == [[0, -1]]
    assert verify_chain_rejection(*chain, block=True).accept_index.tolist() == [[0, -1]]
    assert verify_chain_rejection(*chain, guard=False).accept_index.tolist() == [[0, 1]]


def test_the_length_of_a_chain_is_the_common_start() -> None:
    match = match_chain(tensor([9, 1, 2, 3], [9, 1, 0, 3], [9, 0, 2, 3]), tensor([1, 2, 3, 4]).expand(3, -1))
    assert match.lens.tolist() == [4, 2, 1]
    assert match.bonus.tolist() == [4, 2, 1]
    capped = match_chain(tensor([9, 1, 2, 3]), tensor([1, 2, 3, 4]), torch.tensor([2]))
    assert [t.tolist() for t in capped] == [[2], [2], [2]]


def test_accept_of_a_given_length() -> None:
    chain = tensor([9, 1, 2, 3]).expand(3, -1)
    accepted = accept_from_lens(chain, torch.tensor([7, 8, 6]), torch.tensor([2, 4, 0]), width=4)
    assert accepted.accept_index.tolist() == [[0, 1, -1, -1], [4, 5, 6, 7], [-1, -1, -1, -1]]
    assert accepted.predict.tolist() == [1, 7, 0, 0, 1, 2, 3, 8, 0, 0, 0, 0]
    assert accepted.num_correct_drafts.tolist() == [1, 3, 0]


def test_simulated_acceptance_writes_100_or_the_drafts() -> None:
    chain, chosen, lens = tensor([9, 1, 2]), tensor([5, 6, 7]), torch.tensor([2])
    fixed = simulate_accept(chain, chosen, lens, 3, real_tokens=False)
    real = simulate_accept(chain, chosen, lens, 3, real_tokens=True)
    assert fixed.accept_index.tolist() == real.accept_index.tolist() == [[0, 1, -1]]
    assert fixed.predict.tolist() == [100, 100, 100]
    assert real.predict.tolist() == [1, 6, 0]
