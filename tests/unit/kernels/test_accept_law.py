"""What is sampled through a draft is distributed as the target alone would sample it, over several tokens at once."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch

from speckv_debug.kernels import accept
from speckv_debug.kernels.accepted import Accepted
from tests.accept_checks import DEPTH, P, Q, chi_square, chi_square_bound, drawn_outputs

DRAWS = 200_000
RULES = {
    "classic": accept.verify_chain_rejection,
    "block": partial(accept.verify_chain_rejection, block=True),
    "target_only": partial(accept.verify_tree_target_only, width=DEPTH),
}


@pytest.mark.parametrize("rule", RULES)
def test_outputs_are_distributed_as_the_target(rule: str) -> None:
    assert chi_square(drawn_outputs(rule, RULES[rule], DRAWS, "cpu")) < chi_square_bound()


def accept_more(*verify: torch.Tensor, **options: Any) -> Accepted:
    """Coins a tenth lower than they fell."""
    *rest, coins, last = verify
    return accept.verify_chain_rejection(*rest, coins * 0.9, last, **options)


def one_coin(*verify: torch.Tensor, **options: Any) -> Accepted:
    """The last token drawn with a coin that decided over the first."""
    *rest, coins, _ = verify
    return accept.verify_chain_rejection(*rest, coins, coins[:, 0], **options)


WRONG: dict[str, tuple[str, Callable[..., Accepted]]] = {
    "thresholds below 1": ("target_only", partial(RULES["target_only"], threshold_acc=0.9)),
    "one sure token": ("target_only", partial(RULES["target_only"], threshold_single=0.3)),
    "accepts too much": ("classic", accept_more),
    "accepts too much by block": ("block", partial(accept_more, block=True)),
    "one coin for two draws": ("classic", one_coin),
}


@pytest.mark.parametrize("fault", WRONG)
def test_small_faults_break_the_law(fault: str) -> None:
    rule, verify = WRONG[fault]
    assert chi_square(drawn_outputs(rule, verify, DRAWS, "cpu")) > 2 * chi_square_bound()


def test_blocks_accept_more_than_single_tokens() -> None:
    p, q = (torch.tensor(x) for x in (P, Q))
    toss, n, tokens = torch.Generator().manual_seed(3), 20_000, [torch.zeros(20_000, dtype=torch.int64)]
    for _ in range(5):
        tokens.append(torch.multinomial(q[tokens[-1]], 1, generator=toss)[:, 0])
    chain = torch.stack(tokens, 1)
    coins, last = torch.rand(n, 5, generator=toss), torch.rand(n, generator=toss)
    verify = (chain, p[chain], q[chain[:, :-1]], coins, last)
    single, block = (
        accept.verify_chain_rejection(*verify, block=b).num_correct_drafts.double().mean()
        for b in (False, True)
    )
    assert block > single * 1.02
