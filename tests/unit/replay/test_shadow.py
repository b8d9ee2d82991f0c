"""The shadow cache: identities are written and moved as keys and values are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.replay.shadow import IDENTITY, UNWRITTEN, ShadowCache

slots = st.integers(0, 7)


def identities(*versions: int) -> np.ndarray:
    return np.array([[0, 1, version, 10 * version, version] for version in versions], dtype=np.int64)


def of(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def cache(*versions: int) -> ShadowCache:
    """Slots 0, 1, … hold these versions."""
    made = ShadowCache(8)
    made.write(np.arange(len(versions)), identities(*versions))
    return made


def test_nothing_is_written_at_first() -> None:
    assert ShadowCache(3).read(np.arange(3)).tolist() == [[UNWRITTEN] * len(IDENTITY)] * 3


def test_a_cache_without_slots() -> None:
    assert not len(ShadowCache(0).read(of()))


def test_the_last_of_several_writes_to_a_slot_wins() -> None:
    made = ShadowCache(4)
    made.write(of(2, 1, 2), identities(5, 6, 7))
    assert made.read(of(1, 2)).tolist() == identities(6, 7).tolist()


@pytest.mark.parametrize(
    ("targets", "sources", "left"),
    [
        ((0, 1), (1, 2), [6, 7, 7, 8]),  # a chain
        ((0, 1), (1, 0), [6, 5, 7, 8]),  # a swap
        ((0, 2), (3, 3), [8, 6, 8, 8]),  # one source
        ((0, 0), (0, 0), [5, 6, 7, 8]),  # padding
    ],
)
def test_all_sources_are_read_before_a_target_is_written(
    targets: tuple[int, ...], sources: tuple[int, ...], left: list[int]
) -> None:
    made = cache(5, 6, 7, 8)
    made.move(of(*targets), of(*sources))
    assert made.versions(np.arange(4)).tolist() == left


@given(st.lists(st.tuples(slots, slots), max_size=6))
def test_a_move_is_what_a_dictionary_says(pairs: list[tuple[int, int]]) -> None:
    made, held = cache(*range(10, 18)), dict(enumerate(range(10, 18)))
    made.move(of(*[t for t, _ in pairs]), of(*[s for _, s in pairs]))
    held |= {t: held[s] for t, s in [pair for pair in pairs if pair[0] != pair[1]]}
    assert made.read(np.arange(8)).tolist() == identities(*held.values()).tolist()
