"""What leaves a device in one launch, interpreted; compiled and launched directly: `tests/gpu/test_staging.py`."""

import pytest
import torch

from speckv_debug.kernels.carry_triton import MOST, TABLE_WORDS, carry
from speckv_debug.kernels.windows_triton import windows

pytestmark = pytest.mark.skipif(torch.cuda.is_available(), reason="Triton compiles for the device here")


@pytest.mark.parametrize("height", [1, 3])
def test_each_tensor_lands_in_its_place_and_nothing_else_is_written(height: int) -> None:
    tensors = [torch.arange(count, dtype=torch.int64) * 7 for count in (3, 160, 5000)]
    tensors.append(torch.arange(10, dtype=torch.int32))
    table, out = torch.zeros(TABLE_WORDS, dtype=torch.int64), torch.full((11_000,), -1, dtype=torch.int32)
    starts, end = [], 0
    for place, tensor in enumerate(tensors):
        starts.append(end)
        table[place], table[MOST + place] = tensor.data_ptr(), tensor.nbytes // 4
        table[2 * MOST + place] = end
        end += tensor.nbytes // 4 + 4
    carry(table, out, len(tensors), height)
    for tensor, start in zip(tensors, starts, strict=True):
        stop = start + tensor.nbytes // 4
        assert torch.equal(out[start:stop].view(tensor.dtype), tensor)
        assert out[stop : stop + 4].tolist() == [-1] * 4


@pytest.mark.parametrize("kind", [torch.int32, torch.int64])
def test_windows_stop_at_the_last_column(kind: torch.dtype) -> None:
    table = torch.arange(60, dtype=torch.int32).view(3, 20)
    out = torch.full((20,), -1, dtype=torch.int32)
    windows(table, torch.tensor([2, 0]), torch.tensor([15, 3], dtype=kind), out, 8)
    assert out.tolist() == [*range(55, 60), 59, 59, 59, *range(3, 11), -1, -1, -1, -1]
