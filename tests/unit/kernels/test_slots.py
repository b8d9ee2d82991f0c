"""Slots as bytes: each layout's view shows a slot's own bytes, in the engine's memory."""

import pytest
import torch

from speckv_debug.kernels.slots import SlotBuffers, geometry, packed_view, page_view, row_view


def test_rows_and_pages_show_the_same_slot() -> None:
    flat = torch.arange(8 * 2 * 3, dtype=torch.int16).view(8, 2, 3)
    rows, pages = row_view(flat), page_view(flat.view(2, 4, 2, 3))
    assert rows.shape == (8, 1, 1, 12) and pages.shape == (2, 4, 2, 6)
    assert rows[5].flatten().tolist() == pages[1, 1].flatten().tolist()
    assert geometry(rows) == geometry(pages)


def test_heads_apart_come_together() -> None:
    by_slot = torch.arange(2 * 4 * 2 * 3, dtype=torch.int32).view(2, 4, 2, 3)
    by_head = by_slot.transpose(1, 2).contiguous()
    assert page_view(by_head, "HND").tolist() == page_view(by_slot).tolist()
    shape = geometry(page_view(by_head, "HND"))
    assert (shape.page, shape.pieces, shape.piece, shape.piece_stride) == (4, 2, 3, 12)


def test_a_view_writes_into_the_engine_s_memory() -> None:
    buffer = torch.zeros(4, 2, dtype=torch.int32)
    row_view(buffer[1:])[0, 0, 0, 4] = 7
    assert buffer.tolist() == [[0, 0], [0, 7], [0, 0], [0, 0]]


def test_keys_and_scales_of_a_packed_page_are_two_components() -> None:
    page = torch.arange(2 * 24, dtype=torch.uint8).view(2, 24)
    keys, scales = packed_view(page, 4, 0, 4), packed_view(page, 4, 16, 2)
    assert keys[1, 2].flatten().tolist() == [32, 33, 34, 35]
    assert scales[1, 2].flatten().tolist() == [44, 45]


@pytest.mark.parametrize(
    ("rows", "element", "align"),
    [
        (torch.zeros(8, 16, dtype=torch.bfloat16), 4, 16),
        (torch.zeros(8, 12, dtype=torch.bfloat16), 4, 8),
        (torch.zeros(8, 3, dtype=torch.bfloat16), 2, 2),
        (torch.zeros(8, 16, dtype=torch.uint8)[:, 1:5], 1, 1),
    ],
)
def test_the_widest_access_that_all_addresses_allow(rows: torch.Tensor, element: int, align: int) -> None:
    shape = geometry(row_view(rows))
    assert (shape.element, shape.align) == (element, align)


def test_components_are_grouped_by_layout_and_numbered_in_words() -> None:
    k, v, scales = torch.zeros(8, 6), torch.zeros(8, 6), torch.zeros(8, 3, dtype=torch.bfloat16)
    pool = SlotBuffers([row_view(k), row_view(scales), row_view(v)])
    wide, narrow = pool.groups
    assert wide.pointers.tolist() == [k.data_ptr(), v.data_ptr()]
    assert wide.first_words.tolist() == [0, 8] and narrow.first_words.tolist() == [6]
    assert pool.slot_bytes == 54


@pytest.mark.parametrize(
    "build",
    [
        lambda: row_view(torch.zeros(4, 6).t()),
        lambda: page_view(torch.zeros(2, 4, 6)),
        lambda: page_view(torch.zeros(2, 4, 2, 6).transpose(2, 3)),
        lambda: packed_view(torch.zeros(2, 24, dtype=torch.uint8), 4, 16, 4),
        lambda: SlotBuffers([]),
    ],
)
def test_what_has_no_view_is_refused(build) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ValueError):
        build()
