"""Plans of compressors: which rows of the state buffer are read and written, and for which positions."""

import numpy as np

from speckv_debug.collectors.sglang.plans import decoded, prefilled

RING = 256


def compress(*entries):
    """Entries of `CompressPlan`: seq_len, ragged_id, buffer_len, read_page_0, read_page_1."""
    return np.array([[n, size << 16 | ragged, *pages] for n, ragged, size, *pages in entries], dtype=np.int32)


def triples(accesses):
    return list(
        zip(accesses.request.tolist(), accesses.address.tolist(), accesses.position.tolist(), strict=True)
    )


def test_a_verify_reads_what_lies_before_it_and_writes_its_own_rows():
    """Request 0 verifies positions 126 to 129 in row 1, of which 127 ends a window of 128; request 1 begins at 6."""
    writes = np.array([[0, 382], [1, 383], [2, 384], [3, 385], [4, 518], [5, 519]], dtype=np.int32)
    read, write = prefilled(compress((128, 1, 126, 2, 2)), writes, [126, 6], [4, 2], 128)
    assert triples(read) == [(0, RING + position, position) for position in range(126)]
    assert triples(write) == [
        *((0, RING + position, position) for position in range(126, 130)),
        *((1, 2 * RING + position, position) for position in (6, 7)),
    ]


def test_c4_takes_its_window_from_two_pages_and_the_rest_from_its_input():
    """Positions 6 to 9: the group that ends at 7 takes 0 to 5 from pages 8 and 9, and 6 and 7 from its input."""
    read, _ = prefilled(compress((8, 1, 6, 8, 9)), np.zeros((0, 2)), [6], [4], 4)
    assert triples(read) == [(0, 32 + position, position) for position in range(6)]


def test_the_first_group_has_none_before_it():
    """It takes positions 0 to 2 from page 1; its first half is the neutral state, and not read."""
    read, _ = prefilled(compress((4, 0, 7, 0, 0)), np.zeros((0, 2)), [3], [1], 4)
    assert triples(read) == [(0, 0, 0), (0, 1, 1), (0, 2, 2)]


def test_a_plan_that_a_device_made_is_put_in_order_and_its_padding_left_out():
    padding = compress((-1, 0, 0, -1, -1))
    plan = np.concatenate((compress((16, 5, 3, 66, 67), (8, 1, 6, 32, 33)), padding))
    writes = np.array([[5, 271], [0, 134], [-1, -1], [4, 270], [1, 135]], dtype=np.int32)
    read, write = prefilled(plan, writes, [6, 14], [4, 2], 4)
    assert read.request.tolist() == [0] * 6 + [1] * 3
    assert triples(write) == [(0, 134, 6), (0, 135, 7), (1, 270, 14), (1, 271, 15)]


def test_a_decode_writes_one_row_and_reads_a_window_that_is_full():
    plan = np.array([[128, 383, 1, 2], [200, 2 * RING + 199, 4, 5]], dtype=np.int32)
    read, write = decoded(plan, 128)
    assert triples(write) == [(0, 383, 127), (1, 2 * RING + 199, 199)]
    assert triples(read) == [(0, RING + position, position) for position in range(128)]


def test_a_decode_of_c4_reads_both_groups():
    read, _ = decoded(np.array([[8, 7, 0, 1], [4, 67, 16, 16], [6, 5, 0, 1]], dtype=np.int32), 4)
    assert triples(read) == [
        *((0, at, at) for at in range(8)),
        *((1, 64 + at, at) for at in range(4)),
    ]
