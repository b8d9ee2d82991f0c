"""The mover copies from a snapshot inside a chunk and in order across chunks."""

import torch

from speckv_debug.kernels.move import move_rows


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
