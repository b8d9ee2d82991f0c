"""What a toy prefix tree takes, serves, locks and evicts."""

from types import SimpleNamespace

import torch

from speckv_debug.collectors.sglang.cache import CacheHooks
from speckv_debug.collectors.sglang.engine import node_number, path_slots
from speckv_debug.collectors.sglang.pages import PageHooks


def inserting(toy, *slots, known=0):
    return toy.engine.tree.insert(SimpleNamespace(value=torch.tensor(slots), known=known))


def with_tree(toy):
    toy.install(PageHooks)
    toy.install(CacheHooks)
    return toy


def test_an_insert_names_what_is_new_and_comes_before_its_duplicates(toy):
    inserting(with_tree(toy), 5, 6, 7, known=1)
    assert toy.sink.of("cache", "action", "start", "slots", "key_len", "node") == [
        ("insert", 1, [6, 7], 3, 1)
    ]
    assert toy.sink.of("free", "slots", "reason") == [([5], "duplicate_prefix")]
    assert [row["event"] for row in toy.sink.rows] == ["cache", "free"]


def test_an_insert_of_nothing_new_is_only_its_duplicates(toy):
    inserting(with_tree(toy), 5, 6, known=2)
    assert [row["event"] for row in toy.sink.rows] == ["free"]


def test_a_match_says_what_it_serves(toy):
    inserting(with_tree(toy), 5, 6)
    request = SimpleNamespace(rid="r")
    toy.engine.tree.match_prefix(SimpleNamespace(key=[1, 2, 3], req=request))
    row = toy.sink.of("cache", "action", "request", "slots", "key_len", "served_len")[1]
    assert row == ("match", "r", [5, 6], 3, 2)


def test_a_miss_serves_nothing(toy):
    with_tree(toy).engine.tree.match_prefix(SimpleNamespace(key=[1, 2]))
    assert toy.sink.of("cache", "slots", "served_len") == [([], 0)]


def test_a_lock_holds_the_whole_path_and_the_root_holds_nothing(toy):
    inserting(with_tree(toy), 5, 6)
    inserting(toy, 8)
    tree = toy.engine.tree
    tree.inc_lock_ref(tree.leaf)
    tree.dec_lock_ref(tree.leaf)
    tree.inc_lock_ref(tree.root)
    rows = toy.sink.of("cache", "action", "slots", "node")[2:]
    assert rows == [("lock", [5, 6, 8], 2), ("unlock", [5, 6, 8], 2)]


def test_an_eviction_and_a_reset(toy):
    inserting(with_tree(toy), 5, 6)
    toy.engine.tree.evict(None)
    toy.engine.tree.reset()
    assert toy.sink.of("cache", "action", "slots")[1:] == [("evict", [5, 6]), ("reset", None)]
    assert toy.sink.of("free", "reason") == [("evict",)]


def test_a_finished_request_frees_duplicates_then_its_tail(toy):
    with_tree(toy).engine.tree.cache_finished_req(toy.request("a", 1))
    assert toy.sink.of("free", "slots", "reason") == [([3], "duplicate_prefix"), ([4], "finish")]


def test_without_an_insert_all_of_it_ends_with_the_request(toy):
    with_tree(toy)
    with toy.scene.activity.freeing("overshoot") as frame:
        frame.kind = "retract"
        toy.engine.tree.cache_finished_req(toy.request("a", 1), is_insert=False)
    assert toy.sink.of("free", "request", "reason") == [("a", "retract"), ("a", "retract")]


def test_a_tree_that_is_off_says_nothing(toy):
    with_tree(toy).engine.tree.disable = True
    inserting(toy, 5)
    toy.engine.tree.match_prefix(SimpleNamespace(key=[1]))
    assert toy.sink.of("cache") == []
    assert toy.failures == []


def test_a_node_is_a_number_or_has_one():
    assert node_number(7) == node_number(SimpleNamespace(id=7)) == 7
    assert node_number("virtual") is None


def test_a_newer_tree_gives_the_path_itself():
    tree = SimpleNamespace(path_device_indices=lambda node: torch.tensor([node, node]))
    assert path_slots(tree, 4).tolist() == [4, 4]
    assert path_slots(SimpleNamespace(path_device_indices=lambda node: torch.tensor([])), 0) is None
