"""Slots, layers, the mover, and what an address beyond the pool does."""

import torch

from speckv_debug.collectors.reference.config import ModelShape
from speckv_debug.collectors.reference.observe import EventLog, Observer
from speckv_debug.collectors.reference.pool import KVPool

SHAPE = ModelShape(layers=2, hidden=4, heads=1)


def filled_pool() -> tuple[KVPool, EventLog]:
    events = EventLog()
    pool = KVPool("full", 8, SHAPE, Observer(events, overlap=False))
    for layer in range(2):
        rows = torch.arange(8.0)[:, None, None].expand(8, 1, 4).double() + 100 * layer
        pool.write(layer, torch.arange(8), rows, -rows)
    return pool, events


def test_layers_are_apart() -> None:
    pool, _ = filled_pool()
    assert pool.read(1, torch.tensor([3]))[0][0, 0, 0] == 103
    assert pool.content(torch.tensor([3]))[0, :, :, 0, 0].tolist() == [[3, -3], [103, -103]]


def test_move_takes_keys_and_values_of_every_layer() -> None:
    pool, events = filled_pool()
    pool.move(torch.tensor([2, 0]), torch.tensor([5, 0]), caller="accept", target_source="window")
    assert pool.content(torch.tensor([2]))[0, :, :, 0, 0].tolist() == [[5, -5], [105, -105]]
    [(table, columns)] = events
    assert table == "move"
    assert (columns["src"], columns["tgt"], columns["pool"]) == ([5, 0], [2, 0], "full")
    assert columns["src_before"] == columns["tgt_after"]
    assert columns["src_before"][0] != columns["src_before"][1]


def test_a_slot_beyond_the_pool_lands_in_the_next_layer() -> None:
    pool, _ = filled_pool()
    pool.write(0, torch.tensor([8 + 3]), torch.zeros(1, 1, 4).double(), torch.zeros(1, 1, 4).double())
    assert pool.read(1, torch.tensor([3]))[0].abs().sum() == 0


def test_fingerprints_see_every_number() -> None:
    pool, _ = filled_pool()
    slots = torch.arange(8)
    before = pool.fingerprints(slots, [0, 1])
    assert len(set(before)) == 8
    pool.values[8 + 4, 0, 3] += 1e-12
    changed = [
        slot
        for slot, one, other in zip(slots.tolist(), before, pool.fingerprints(slots, [0, 1]), strict=True)
        if one != other
    ]
    assert changed == [4]
    assert pool.fingerprints(slots, [1]) != before, "of the layers that are named"
