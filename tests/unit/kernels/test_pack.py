"""Tensors of any kind go through one buffer and come back as they were."""

import pytest
import torch

from speckv_debug.kernels.pack import pack, packed_places, unpack


def test_what_went_in_comes_out() -> None:
    table = torch.arange(40, dtype=torch.int32).view(4, 10)
    tensors = [table[2, 3:7], torch.tensor([True, False, True]), table[:, 1], torch.tensor(5), torch.empty(0)]
    packed = pack(tensors)
    assert [place.start for place in packed.places] == [0, 16, 32, 48, 64]
    for back, tensor in zip(unpack(packed), tensors, strict=True):
        assert back.dtype == tensor.dtype and torch.equal(back, tensor)


def test_a_given_buffer_is_filled_from_its_front() -> None:
    out = torch.full((64,), 9, dtype=torch.uint8)
    packed = pack([torch.tensor([1], dtype=torch.int64)], out)
    assert packed.buffer is out
    assert out.tolist() == [1, 0, 0, 0, 0, 0, 0, 0] + [9] * 56


def test_a_buffer_too_small_is_refused() -> None:
    with pytest.raises(ValueError, match="has 8 bytes, 32 are needed"):
        pack([torch.zeros(4), torch.zeros(3)], torch.empty(8, dtype=torch.uint8))


def test_nothing_takes_no_room() -> None:
    assert packed_places([]) == ((), 0)
    assert unpack(pack([])) == []
