"""The mover copies from a snapshot inside a chunk and in order across chunks."""

import pytest
import torch

from speckv_debug.kernels.move import move_rows, move_slots
from speckv_debug.kernels.slots import SlotBuffers, page_view, row_view


def moved(targets: list[int], sources: list[int], chunk: int = 256) -> list[int]:
    buffer = torch.arange(6)[:, None] * torch.ones(1, 2, dtype=torch.int64)
    move_rows(buffer, torch.tensor(targets), torch.tensor(sources), chunk=chunk)
    return buffer[:, 1].tolist()


def test_target_gets_the_source() -> None:
    assert moved([2], [3]) == [0, 1, 3, 3, 4, 5]


def test_all_sources_of_a_chunk_are_read_first() -> None:
    assert moved([2, 1], [4, 2]) == [0, 2, 4, 3, 4, 5]


def test_an_ascending_path_is_safe_in_chunks_of_one() -> None:
    assert moved([1, 2], [2, 4], chunk=1) == moved([1, 2], [2, 4])


def test_a_target_of_an_earlier_chunk_is_read_too_late() -> None:
    assert moved([2, 1], [4, 2], chunk=1) == [0, 4, 4, 3, 4, 5]


def slots_after(targets: list[int], sources: list[int]) -> list[int]:
    keys, values = torch.arange(6)[:, None].repeat(1, 3), torch.arange(6).short().view(2, 3, 1, 1)
    move_slots(SlotBuffers([row_view(keys), page_view(values)]), torch.tensor(targets), torch.tensor(sources))
    assert keys[:, 2].tolist() == values.flatten().tolist()
    return keys[:, 0].tolist()


@pytest.mark.parametrize(
    ("targets", "sources", "due"),
    [
        ([], [], [0, 1, 2, 3, 4, 5]),
        ([2], [3], [0, 1, 3, 3, 4, 5]),
        ([1, 2, 3], [2, 3, 4], [0, 2, 3, 4, 4, 5]),
        ([4, 3, 2], [3, 2, 1], [0, 1, 1, 2, 3, 5]),
        ([1, 2], [2, 1], [0, 2, 1, 3, 4, 5]),
        ([1, 2, 3], [5, 5, 5], [0, 5, 5, 5, 4, 5]),
    ],
    ids=["nothing", "one", "chain down", "chain up", "swap", "one source for three"],
)
def test_slots_are_read_before_any_is_written(targets: list[int], sources: list[int], due: list[int]) -> None:
    assert slots_after(targets, sources) == due


def test_of_two_pairs_with_one_target_the_last_wins() -> None:
    assert slots_after([2, 1, 2], [4, 2, 5]) == [0, 2, 5, 3, 4, 5]


def test_padding_and_pairs_of_a_slot_with_itself_count_for_nothing() -> None:
    assert slots_after([0, 2, 2, 0, 0], [3, 5, 2, 0, 0]) == [3, 1, 5, 3, 4, 5]


@pytest.mark.parametrize("pair", [(-1, 2), (6, 2), (2, -1), (2, 6)])
def test_a_slot_outside_the_pool_is_an_error(pair: tuple[int, int]) -> None:
    with pytest.raises(IndexError):
        slots_after([pair[0]], [pair[1]])
