"""Staged values are those of the moment, whatever the engine does to its tensors afterwards."""

import torch

from speckv_debug.collectors.staging import Derived, fingerprints, is_capturing, stage


def test_a_staged_value_does_not_follow_the_tensor():
    tensor = torch.arange(6, dtype=torch.int32).reshape(2, 3)
    staged = stage(tensor)
    tensor.add_(100)
    assert staged.resolve().tolist() == [0, 1, 2, 3, 4, 5]
    assert staged.ready()


def test_a_view_is_copied_not_kept():
    free_list = torch.arange(8)
    staged = stage(free_list[2:4])
    free_list.zero_()
    assert staged.resolve().tolist() == [2, 3]


def test_parts_and_items_of_one_copy():
    staged = stage(torch.tensor([5, 6, 7, 8]))
    assert staged.part(1, 3).resolve().tolist() == [6, 7]
    assert staged.item(3).resolve() == 8
    assert type(staged.item(0).resolve()) is int


def test_a_derived_value_is_made_when_it_is_asked_for():
    made = []
    derived = Derived(lambda: made.append(1) or len(made))
    assert made == []
    assert derived.resolve() == 1
    assert derived.ready()


def test_equal_rows_have_equal_fingerprints_and_a_bit_changes_them():
    rows = torch.randn(4, 16, generator=torch.Generator().manual_seed(1))
    rows[2] = rows[0]
    marks = fingerprints(rows).tolist()
    assert marks[0] == marks[2]
    assert len(set(marks)) == 3
    rows[0, 5] += 1e-6
    assert fingerprints(rows).tolist()[0] != marks[0]


def test_exchanged_values_change_a_fingerprint():
    rows = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    first, second = fingerprints(rows).tolist()
    assert first != second


def test_fingerprints_of_a_copy_in_bfloat16():
    rows = torch.randn(3, 8).to(torch.bfloat16)
    assert fingerprints(rows).tolist() == fingerprints(rows.clone()).tolist()


def test_nothing_is_captured_without_a_gpu():
    assert not is_capturing()
