"""Rows of `accept` cut from a batch's tensors."""

from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors import staging, words
from speckv_debug.collectors.loads import Load
from speckv_debug.collectors.outbox import Outbox
from speckv_debug.collectors.sglang.requests import Batch
from speckv_debug.collectors.sglang.verify_rows import Sampled, accept_columns
from speckv_debug.collectors.staging import stage
from speckv_debug.recording.blocks import Block, blocks_to_batch
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.recorder import Recorder
from tests.unit.collectors.test_outbox import Device

WHOSE = Batch(["a", "b"], [1, 4], [1, 2])


def ints(*values):
    return torch.tensor(values)


def sampled(**changes):
    """Two requests of three rows each; a accepts its rows 0 and 2, b its root."""
    verify_input = SimpleNamespace(
        draft_token=ints(10, 11, 12, 20, 21, 22),
        draft_token_num=3,
        positions=ints(5, 6, 6, 9, 10, 10),
        retrieve_index=ints(0, 1, 2, 3, 4, 5).reshape(2, 3),
        retrieve_next_token=ints(1, -1, -1, 1, -1, -1).reshape(2, 3),
        retrieve_next_sibling=ints(-1, 2, -1, -1, 2, -1).reshape(2, 3),
        tree_topk=2,
    )
    vars(verify_input).update(changes)
    triple = (ints(12, 0, 13, 25, 0, 0), ints(2, 1), ints(0, 2, 3, -1).reshape(2, 2))
    window = ints(40, 41, 42, 60, 61, 62)
    return Sampled(verify_input, triple, ints(5, 9), window, stage(window), WHOSE)


def columns_later(batch, result):
    """Send now; the columns are made when they are asked for."""
    load, places, there, shape = batch.stage(result)
    staging.send()
    given = (there, batch.table_slots, batch.requests, shape, "eagle", batch.sampling)
    return lambda: accept_columns(load, places, *given)


def rows(batch, result=None):
    """The rows that a verify comes to."""
    return list(Block("accept", 2, columns_later(batch, result)()).as_rows())


def test_each_request_gets_its_part():
    result = SimpleNamespace(
        new_seq_lens=ints(7, 10), next_draft_input=SimpleNamespace(bonus_tokens=ints(13, 25))
    )
    batch = sampled()
    batch.target_predict, batch.correct = ints(12, 1, 13, 25, 2, 3), ints(1, 0)
    first, second = rows(batch, result)
    assert (first["request"], first["row"]) == ("a", 1)
    assert second["draft_tokens"] == [20, 21, 22]
    assert second["out_cache_loc"] == second["table_slots"] == [60, 61, 62]
    assert (first["accept_index"], second["accept_index"]) == ([0, 2], [3, -1])
    assert (first["accept_len"], first["num_correct_drafts"], first["block_start"]) == (2, 1, 0)
    assert (second["seq_len"], second["new_seq_len"], second["bonus_token"]) == (9, 10, 25)
    assert second["next_sibling"] == [-1, 2, -1]
    assert second["target_predict"] == [25, 2, 3]
    assert second["block_start"] == 3
    assert first["layout"] == "tree"


def test_the_dtypes_of_npus_change_nothing():
    """There `out_cache_loc` and what the samplers return are int32."""
    wide, batch = sampled(), sampled()
    narrow = [each.to(torch.int32) for each in (*batch.triple, batch.out_cache_loc)]
    slots = stage(narrow[3])
    on_npu = Sampled(batch.verify_input, tuple(narrow[:3]), batch.seq_lens, narrow[3], slots, WHOSE)
    assert rows(on_npu) == rows(wide)


def test_what_has_left_stays_when_the_worker_reuses_its_buffers():
    drafts = ints(10, 11, 12, 20, 21, 22)
    made = columns_later(sampled(draft_token=drafts), None)
    drafts.zero_()
    assert made()["draft_tokens"].values.tolist()[:3] == [10, 11, 12]


def test_a_verify_that_did_not_return_leaves_its_outcome_open():
    (first, _) = rows(sampled())
    assert not {"bonus_token", "new_seq_len", "target_predict"} & first.keys()


def test_one_branch_is_a_chain():
    assert rows(sampled(tree_topk=1))[0]["layout"] == "chain"


def test_an_ngram_tree_has_no_topk_and_hands_on_all_accepted_tokens():
    batch = sampled(tree_topk=-1)
    following = SimpleNamespace(accept_tokens=ints(12, 13, 25, 0), new_seq_lens=ints(7, 10))
    result = SimpleNamespace(next_draft_input=following, new_seq_lens=None)
    first, second = rows(batch, result)
    assert first["topk"] is None
    assert (first["bonus_token"], second["bonus_token"]) == (13, 25)
    assert (first["new_seq_len"], second["new_seq_len"]) == (7, 10)


@pytest.fixture
def outbox(monkeypatch):
    """A device, so that what is staged lies in parcels."""
    device = Device()
    device.all_done = True
    box = Outbox(device)
    words.long()
    monkeypatch.setattr(staging, "_is_here", lambda tensor: False)
    monkeypatch.setitem(staging._outboxes, torch.device("cpu"), box)
    return box


@pytest.mark.parametrize("differs", [None, "topk", "window"])
def test_many_verifies_together_are_what_they_are_one_by_one(outbox, differs):
    given = []
    for step in range(4):
        batch = sampled(**({"tree_topk": 1} if differs == "topk" and step == 2 else {}))
        batch.correct = ints(step, 2 * step)
        batch.table_slots = None if differs == "window" and step == 1 else batch.table_slots
        following = SimpleNamespace(bonus_tokens=ints(13, 25 + step))
        load, places, there, shape = batch.stage(
            SimpleNamespace(new_seq_lens=ints(7, 10), next_draft_input=following)
        )
        outbox.send()
        own = (batch.table_slots, batch.requests, shape, "eagle", batch.sampling)
        given.append((load, places, there, *own))
    each = [Block("accept", 2, accept_columns(*one), 7 * step) for step, one in enumerate(given)]
    found = accept_columns.together(given)
    assert (found is None) is (differs is not None)
    if found is not None:
        blocks = [Block("accept", 2, rest, 7 * step) for step, rest in enumerate(found[1])]
        assert blocks_to_batch("accept", blocks, found[0]).equals(blocks_to_batch("accept", each))


def test_a_recorder_makes_columns_late_and_drops_what_never_arrived(outbox, tmp_path):
    recorder = Recorder(tmp_path / "r.speckv", {})
    for step in range(5):
        load, places, there, shape = (batch := sampled()).stage(None)
        outbox.send() if step != 3 else setattr(outbox, "load", Load())
        own = (batch.table_slots, batch.requests, shape, "eagle", batch.sampling)
        awaited = load if step != 3 else None
        recorder.defer("accept", 2, step, None, awaited, accept_columns, (load, places, there, *own))
    recorder.close()
    (process,) = Recording.open(recorder.folder.parent).processes
    assert process.table("accept").column("step").to_pylist() == [0, 0, 1, 1, 2, 2, 4, 4]
    assert process.table("accept").column("draft_tokens").to_pylist()[-1] == [20, 21, 22]
    assert process.table("drop").column("seq").to_pylist() == [6, 7]
    assert "never left" in process.table("drop").column("why").to_pylist()[0]
    assert not process.gaps()
