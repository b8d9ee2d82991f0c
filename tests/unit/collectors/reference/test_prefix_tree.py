"""The tree matches pairs by whole pages, splits nodes, and evicts what nobody locks."""

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.observe import EventLog, Observer
from speckv_debug.collectors.reference.prefix_tree import PrefixTree
from speckv_debug.collectors.reference.request import Request

A = Request(id="a", prompt=[1], max_new_tokens=1, row=1, epoch=1)


def tree(page_size: int = 1) -> tuple[PrefixTree, EventLog]:
    events = EventLog()
    observer = Observer(events, overlap=False)
    return PrefixTree(PageAllocator(32, page_size, observer), observer), events


def test_a_key_is_one_pair_shorter_than_its_tokens() -> None:
    cached, _ = tree()
    cached.insert([1, 2, 3, 4], [11, 12, 13, 14], A)
    assert cached.match([1, 2, 3, 4, 5], A)[1] == [11, 12, 13]
    assert cached.match([1, 2, 3, 9], A)[1] == [11, 12]
    assert cached.match([1], A)[1] == []


def test_only_whole_pages_are_kept() -> None:
    cached, _ = tree(page_size=2)
    cached.insert([1, 2, 3, 4, 5, 6], [4, 5, 6, 7, 8, 9], A)
    assert cached.match([1, 2, 3, 4, 5, 6, 7, 8], A)[1] == [4, 5, 6, 7]


def test_insert_takes_only_what_is_new_and_splits_where_prefixes_part() -> None:
    cached, events = tree()
    cached.insert([1, 2, 3, 4, 5], [11, 12, 13, 14, 15], A)
    node, held = cached.insert([1, 2, 3, 8, 9], [21, 22, 23, 24, 25], A)
    assert held == 2
    assert cached.slots_of(node) == [11, 12, 23, 24]
    assert cached.match([1, 2, 3, 4, 5], A)[1] == [11, 12, 13, 14]
    inserted = [columns["slots"] for _, columns in events if columns["action"] == "insert"]
    assert inserted == [[11, 12, 13, 14], [23, 24]]


def test_a_lock_protects_the_whole_path_and_outlives_a_split() -> None:
    cached, _ = tree()
    node, _ = cached.insert([1, 2, 3, 4, 5], [11, 12, 13, 14, 15], A)
    cached.lock(node, A)
    cached.insert([1, 2, 9, 9], [21, 22, 23, 24], A)
    assert cached.sizes() == (2, 4)
    cached.evict(100)
    assert cached.sizes() == (0, 4)
    cached.unlock(A)
    assert cached.sizes() == (4, 0)


def test_eviction_takes_the_least_recently_used_leaf_first_and_frees_it() -> None:
    cached, events = tree()
    cached.insert([1, 2, 3], [1, 2, 3], A)
    cached.insert([7, 8, 9], [4, 5, 6], A)
    cached.match([1, 2, 3], A)
    before = cached.allocator.available
    cached.evict(1)
    assert cached.allocator.available == before + 2
    assert cached.match([7, 8, 9], A)[1] == []
    assert cached.match([1, 2, 3], A)[1] == [1, 2]
    evicted = [
        (table, columns["slots"])
        for table, columns in events
        if columns.get("action") == "evict" or table == "free"
    ]
    assert evicted == [("cache", [4, 5]), ("free", [4, 5])]


def test_room_counts_what_a_lock_would_protect() -> None:
    cached, _ = tree()
    node, _ = cached.insert([1, 2, 3], [1, 2, 3], A)
    cached.insert([7, 8, 9], [4, 5, 6], A)
    assert cached.evictable_beside(None) == 4
    assert cached.evictable_beside(node) == 2
