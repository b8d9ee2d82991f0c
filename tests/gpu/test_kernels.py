"""Each Triton kernel, compiled for the device that is here, gives what its torch reference gives, bit for bit.

The checks are those that run interpreted in `tests/unit/kernels`; here with longer lists too.
"""

from collections.abc import Callable
from functools import partial
from random import Random

import pytest

from speckv_debug.kernels import accept
from tests import accept_checks, locate_cases
from tests.accept_checks import DEPTH, chi_square, chi_square_bound, drawn_outputs
from tests.slot_cases import check_fingerprint, check_move

pytestmark = pytest.mark.gpu

CHECKS: dict[str, Callable[..., None]] = {
    **locate_cases.CHECKS,
    **{name: partial(check, times=60) for name, check in accept_checks.CHECKS.items()},
    "move": check_move,
    "fingerprint": check_fingerprint,
}
LONG: dict[str, Callable[..., None]] = {
    "move": partial(check_move, slots=40_000, most=9_000),
    "fingerprint": partial(check_fingerprint, slots=40_000, most=3_000),
    "locate": partial(locate_cases.check_locate, most=3_000),
}
RULES = {
    "classic": accept.verify_chain_rejection,
    "block": partial(accept.verify_chain_rejection, block=True),
    "target_only": partial(accept.verify_tree_target_only, width=DEPTH),
}


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("name", CHECKS)
def test_compiled_kernel_agrees_with_torch(name: str, seed: int) -> None:
    CHECKS[name](Random(seed), "cuda")


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", LONG)
def test_compiled_kernel_agrees_on_long_lists(name: str, seed: int) -> None:
    LONG[name](Random(seed), "cuda")


@pytest.mark.parametrize("rule", RULES)
def test_outputs_are_distributed_as_the_target(rule: str) -> None:
    assert chi_square(drawn_outputs(rule, RULES[rule], 1_000_000, "cuda")) < chi_square_bound()
