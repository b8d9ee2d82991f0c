"""Which use and holder a block of neighbouring pages shows."""

import numpy as np
import pytest

from speckv_debug.replay.page_blocks import block_uses
from speckv_debug.replay.pool_state import Use


@pytest.mark.parametrize("loud", [Use.WAITING, Use.TRANSFER, Use.UNHELD, Use.CONFLICT])
def test_one_page_in_a_loud_use_is_shown_for_its_block(loud: Use) -> None:
    use = np.array([Use.COMMITTED] * 3 + [Use.FREE, loud, Use.FREE], np.int8)
    assert block_uses(use, 3).tolist() == [Use.COMMITTED, loud]


def test_a_page_that_nobody_holds_is_shown_before_one_that_waits_and_after_a_conflict() -> None:
    use = np.array([Use.UNHELD, Use.WAITING, Use.TRANSFER, Use.CONFLICT, Use.UNHELD, Use.FREE], np.int8)
    assert block_uses(use, 3).tolist() == [Use.UNHELD, Use.CONFLICT]
