"""A radix tree of token prefixes that owns the slots of its nodes (SGLang's radix cache).

Keys are pages of elements. With a draft model that looks one token ahead an element is a pair
(token, next token), so a key is one entry shorter than its tokens and a cached draft KV is right too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from speckv_debug.collectors.reference.allocator import PageAllocator
from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.kernels.reserve import page_floor

if TYPE_CHECKING:
    from speckv_debug.collectors.reference.states import Kept, States

Page = tuple[tuple[int, ...], ...]


class Node:
    """A run of pages behind its parent's; `locks` counts requests that read it or a descendant."""

    def __init__(self, id: int, pages: list[Page], slots: list[int], parent: Node | None) -> None:
        """A node without children."""
        self.id, self.pages, self.slots, self.parent = id, pages, slots, parent
        self.children: dict[Page, Node] = {}
        self.kept: list[Kept] = []
        self.locks = 0
        self.used = 0

    def path(self) -> list[Node]:
        """The nodes from below the root to this one."""
        above = self.parent.path() if self.parent else []
        return [*above, self] if self.parent else above


class PrefixTree:
    """Insert, match, lock, unlock, evict."""

    def __init__(
        self,
        allocator: PageAllocator,
        observer: Observer,
        window: int | None = None,
        page_size: int | None = None,
        states: States | None = None,
    ) -> None:
        """Only a root. With a sliding window a match ends where the positions before it have slots for its layers.

        Its pages are the allocator's, or wider ones; with `states` each has what was kept beside it.
        """
        self.allocator, self._observer, self._window = allocator, observer, window
        self.page_size, self.states = page_size or allocator.page_size, states
        self.root = Node(0, [], [], None)
        self._ids = self._clock = 0

    def key(self, tokens: Sequence[int]) -> list[Page]:
        """The whole pages of pairs that `tokens` make."""
        pairs = list(pairwise(tokens))
        size = self.page_size
        return [tuple(pairs[at : at + size]) for at in range(0, page_floor(len(pairs), size), size)]

    def match(self, tokens: Sequence[int], request: Request) -> tuple[Node, list[int]]:
        """The deepest node that a prefix of `tokens` reaches, and the slots up to it."""
        pages = self.key(tokens)
        node = self._with_window(self._descend(pages))
        slots = self.slots_of(node)
        self._report(
            "match", request, node, 0, slots, key_len=len(pages) * self.page_size, served_len=len(slots)
        )
        return node, slots

    def insert(self, tokens: Sequence[int], slots: Sequence[int], request: Request) -> tuple[Node, int]:
        """Let the tree own what it does not hold yet of `tokens`.

        Args:
            tokens: Whose KV is valid.
            slots: Of the request, at least one a position of the key.
            request: Who offers them.

        Returns:
            The node that the key ends at, and how many leading positions the tree held before.
        """
        pages = self.key(tokens)
        node = self._descend(pages)
        held = len(self.slots_of(node))
        if peers := self.allocator.peers:
            peers.hand_over(self.slots_of(node)[request.protected :], slots[request.protected : held])
        if rest := pages[held // self.page_size :]:
            child = self._attach(node, rest, list(slots[held : len(pages) * self.page_size]))
            if self.states:
                child.kept = self.states.offered(request, held // self.page_size, len(rest))
                self.states.attach(child.id, child.kept)
            key_len = len(pages) * self.page_size
            self._report("insert", request, child, held, child.slots, key_len=key_len)
            node = child
        return node, held

    def lock(self, node: Node, request: Request) -> None:
        """Protect the path to `node` from eviction, once more."""
        self._change_locks(node, +1)
        request.node = node
        if slots := self.slots_of(node):
            self._report("lock", request, node, 0, slots)

    def unlock(self, request: Request) -> None:
        """Give up the request's lock."""
        node, request.node = request.node, None
        if node is None:
            return
        self._change_locks(node, -1)
        if slots := self.slots_of(node):
            self._report("unlock", request, node, 0, slots)

    def make_room(self, count: int) -> None:
        """Evict what is missing for `count` free slots."""
        if count > self.allocator.available:
            self.evict(count - self.allocator.available)

    def evict(self, count: int) -> None:
        """Drop unlocked leaves, least recently used first, until `count` slots are free or none is left."""
        freed = 0
        while freed < count and (leaves := list(self.evictable_leaves())):
            freed += self.drop(min(leaves, key=lambda leaf: leaf.used))

    def drop(self, leaf: Node) -> int:
        """End a leaf's hold and free its slots; returns how many."""
        assert leaf.parent is not None
        del leaf.parent.children[leaf.pages[0]]
        start = len(self.slots_of(leaf.parent))
        self._report("evict", None, leaf, start, leaf.slots)
        self.allocator.free(leaf.slots, "evict", site="prefix_tree.py:drop")
        if self.states:
            self.states.detach(leaf.id, leaf.kept)
        return len(leaf.slots)

    def evictable_leaves(self) -> Iterator[Node]:
        """Leaves that nobody locks."""
        return (node for node in self.nodes() if not node.children and not node.locks)

    def nodes(self) -> Iterator[Node]:
        """All nodes below the root."""
        waiting = list(self.root.children.values())
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(node.children.values())

    def sizes(self) -> tuple[int, int]:
        """Slots in unlocked and in locked nodes."""
        locked = sum(len(node.slots) for node in self.nodes() if node.locks)
        return sum(len(node.slots) for node in self.nodes()) - locked, locked

    def evictable_beside(self, node: Node | None) -> int:
        """Slots that could be evicted if the path to `node` were locked."""
        path = node.path() if node else []
        return self.sizes()[0] - sum(len(each.slots) for each in path if not each.locks)

    def slots_of(self, node: Node) -> list[int]:
        """Slots of the whole prefix that `node` ends."""
        return [slot for each in node.path() for slot in each.slots]

    def kept_of(self, node: Node) -> list[Kept]:
        """What was kept beside each page of the prefix that `node` ends."""
        return [kept for each in node.path() for kept in each.kept]

    def _descend(self, pages: list[Page]) -> Node:
        node, at = self.root, 0
        self._clock += 1
        while at < len(pages) and (child := node.children.get(pages[at])):
            shared = _common(child.pages, pages[at:])
            node = child if shared == len(child.pages) else self._split(child, shared)
            node.used = self._clock
            at += shared
        return node

    def _with_window(self, node: Node) -> Node:
        """The node, or the nearest above it before which the window is whole."""
        peers = self.allocator.peers
        while peers and self._window and node.parent and not peers.whole(self.slots_of(node), self._window):
            node = node.parent
        return node

    def _split(self, child: Node, shared: int) -> Node:
        """Put a node of the first `shared` pages above `child`; its id is new, the rest keeps its own."""
        assert child.parent is not None
        cut = shared * self.page_size
        upper = self._attach(child.parent, child.pages[:shared], child.slots[:cut])
        upper.locks, upper.used = child.locks, child.used
        child.pages, child.slots, child.parent = child.pages[shared:], child.slots[cut:], upper
        upper.kept, child.kept = child.kept[:shared], child.kept[shared:]
        upper.children[child.pages[0]] = child
        return upper

    def _attach(self, parent: Node, pages: list[Page], slots: list[int]) -> Node:
        self._ids += 1
        node = Node(self._ids, pages, slots, parent)
        node.used = self._clock
        parent.children[pages[0]] = node
        return node

    def _change_locks(self, node: Node, by: int) -> None:
        for each in node.path():
            each.locks += by

    def _report(
        self, action: str, request: Request | None, node: Node, start: int, slots: list[int], **more: int
    ) -> None:
        self._observer.emit(
            "cache",
            action=action,
            request=request and request.id,
            node=node.id,
            start=start,
            slots=list(slots),
            pool="full",
            **more,
        )


def _common(one: list[Page], other: list[Page]) -> int:
    shared = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared += 1
    return shared
