"""Rows of `accept` cut from a batch's tensors."""

from dataclasses import replace
from types import SimpleNamespace

import torch

from speckv_debug.collectors.sglang.requests import Identity
from speckv_debug.collectors.sglang.verify_rows import Commit, Sampled, verify_rows
from speckv_debug.collectors.staging import stage
from speckv_debug.recording.blocks import Block, Cut, Each

WHOSE = (Identity("a", 1, 1), Identity("b", 4, 2))


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
    batch = SimpleNamespace(seq_lens=ints(5, 9), out_cache_loc=ints(40, 41, 42, 60, 61, 62))
    triple = (ints(12, 0, 13, 25, 0, 0), ints(2, 1), ints(0, 2, 3, -1).reshape(2, 2))
    return Sampled.of(verify_input, batch, triple, stage(ints(40, 41, 42, 60, 61, 62)), WHOSE)


def resolved(value):
    waits = isinstance(value, (Each, Cut)) and hasattr(value.values, "resolve")
    return replace(value, values=value.values.resolve()) if waits else value


def told(columns):
    """The rows that columns come to."""
    return list(Block("accept", 2, {name: resolved(value) for name, value in columns.items()}).as_rows())


def rows(batch, commit):
    return told(verify_rows(batch, commit))


def test_each_request_gets_its_part():
    result = SimpleNamespace(
        new_seq_lens=ints(7, 10), next_draft_input=SimpleNamespace(bonus_tokens=ints(13, 25))
    )
    batch = sampled()
    batch.lists["target_predict"], batch.correct = ints(12, 1, 13, 25, 2, 3), ints(1, 0)
    first, second = rows(batch, Commit.of(result, batch))
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


def test_what_is_staged_stays_when_the_worker_reuses_its_buffers():
    drafts = ints(10, 11, 12, 20, 21, 22)
    columns = verify_rows(sampled(draft_token=drafts), Commit())
    drafts.zero_()
    assert told(columns)[0]["draft_tokens"] == [10, 11, 12]


def test_a_verify_that_did_not_return_leaves_its_outcome_open():
    (first, _) = rows(sampled(), Commit.of(None, sampled()))
    assert first["new_seq_len"] is first["bonus_token"] is first["target_predict"] is None


def test_one_branch_is_a_chain():
    assert rows(sampled(tree_topk=1), Commit())[0]["layout"] == "chain"


def test_an_ngram_tree_has_no_topk_and_hands_on_all_accepted_tokens():
    batch = sampled(tree_topk=-1)
    following = SimpleNamespace(accept_tokens=ints(12, 13, 25, 0), new_seq_lens=ints(7, 10))
    result = SimpleNamespace(next_draft_input=following, new_seq_lens=None)
    first, second = rows(batch, Commit.of(result, batch))
    assert first["topk"] is None
    assert (first["bonus_token"], second["bonus_token"]) == (13, 25)
    assert (first["new_seq_len"], second["new_seq_len"]) == (7, 10)
