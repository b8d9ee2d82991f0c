"""Faults in who holds which page, and in what is given back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults.shot import Shot, wrap
from speckv_debug.collectors.reference.prefix_tree import Node
from speckv_debug.collectors.reference.request import Request
from speckv_debug.kernels.reserve import page_floor


def _spoil_tail(engine: Engine, shot: Shot, *, times: int) -> None:
    """Free the tail of a finished request that many times."""

    def around(free_tail: Callable[[Request], None]) -> Callable[[Request], None]:
        def faulty(request: Request) -> None:
            has_tail = engine.releasing.tail_start(request) < request.allocated
            spoilt = request.ended == "finish" and has_tail and shot.due(engine.observer.step, request.id)
            for _ in range(times if spoilt else 1):
                free_tail(request)

        return faulty

    wrap(engine.releasing, "free_tail", around)


def tail_freed_twice(engine: Engine, shot: Shot) -> None:
    """The reserve is freed by two paths."""
    _spoil_tail(engine, shot, times=2)


def tail_leaked(engine: Engine, shot: Shot) -> None:
    """The reserve is forgotten."""
    _spoil_tail(engine, shot, times=0)


def locked_node_evicted(engine: Engine, shot: Shot) -> None:
    """Eviction offers a leaf that is locked."""
    tree = engine.tree

    def around(leaves: Callable[[], Iterator[Node]]) -> Callable[[], Iterator[Node]]:
        def faulty() -> Iterator[Node]:
            reader = next(
                (r for r in engine.running if r.node and not r.node.children and r.node.parent), None
            )
            if reader and reader.node and shot.due(engine.observer.step, None):
                reader.node.used = -1
                return iter([reader.node])
            return leaves()

        return faulty

    wrap(tree, "evictable_leaves", around)


def evicted_node_not_freed(engine: Engine, shot: Shot) -> None:
    """Eviction forgets to give back the slots of the node that it drops."""

    def around(free: Callable[..., None]) -> Callable[..., None]:
        def faulty(slots: Sequence[int], reason: str, *, request: Request | None = None, site: str) -> None:
            if reason != "evict" or not shot.due(engine.observer.step, None):
                free(slots, reason, request=request, site=site)

        return faulty

    wrap(engine.allocator, "free", around)


def freed_duplicates_still_read(engine: Engine, shot: Shot) -> None:
    """A row is not told that its own copy of a cached prefix was freed: its request locks what the row does not name."""
    doubled: list[Request] = []
    shot.occasion = 1

    def around_free(free: Callable[..., None]) -> Callable[..., None]:
        def watching(slots: Sequence[int], reason: str, *, request: Request | None = None, site: str) -> None:
            free(slots, reason, request=request, site=site)
            if slots and reason == "duplicate_prefix" and request in engine.running and not shot.fired:
                doubled.append(request)

        return watching

    def around_write(write: Callable[..., None]) -> Callable[..., None]:
        def faulty(request: Request, start: int, slots: Sequence[int]) -> None:
            if request not in doubled or request.ended or not shot.due(engine.observer.step, request.id):
                write(request, start, slots)

        return faulty

    wrap(engine.allocator, "free", around_free)
    wrap(engine.table, "write", around_write)


def session_row_overwritten(engine: Engine, shot: Shot) -> None:
    """A session's next turn extends from the start of the last page that the session kept, not from its end."""
    shot.occasion = 1

    def around(restore: Callable[[Request], bool]) -> Callable[[Request], bool]:
        def faulty(request: Request) -> bool:
            restored = restore(request)
            boundary = page_floor(request.allocated - 1, engine.config.page_size)
            if restored and boundary >= request.protected and shot.due(engine.observer.step, request.id):
                request.allocated = boundary
            return restored

        return faulty

    wrap(engine.sessions, "restore", around)


def slot_of_another_request(engine: Engine, shot: Shot) -> None:
    """One entry of a row's growth names a slot of a request that runs beside it."""

    def around(write: Callable[..., None]) -> Callable[..., None]:
        def faulty(request: Request, start: int, slots: Sequence[int]) -> None:
            others = [r for r in engine.running if r is not request and r.committed > r.protected]
            growing = request in engine.running and start == request.allocated
            if growing and others and shot.due(engine.observer.step, request.id):
                theirs = engine.table.slots(others[0], others[0].committed - 1, others[0].committed)
                slots = [*theirs, *slots[1:]]
            write(request, start, slots)

        return faulty

    wrap(engine.table, "write", around)


def tail_freed_inside_a_page(engine: Engine, shot: Shot) -> None:
    """The trim of a session starts at the text's end."""
    shot.occasion = 1

    def around(trim_start: Callable[[int], int]) -> Callable[[int], int]:
        def faulty(target: int) -> int:
            inside = target % engine.config.page_size
            ending = next((r for r in engine.running if r.session and r.ended), None)
            if inside and ending and shot.due(engine.observer.step, ending.id):
                return target
            return trim_start(target)

        return faulty

    wrap(engine.sessions, "trim_start", around)


def published_one_late(engine: Engine, shot: Shot) -> None:
    """A finished request offers the tree its slots from position 1 on, for a key that begins at position 0."""
    shot.occasion = 1

    def around(insert: Callable[..., tuple[Node, int]]) -> Callable[..., tuple[Node, int]]:
        def faulty(tokens: Sequence[int], slots: Sequence[int], request: Request) -> tuple[Node, int]:
            key = engine.tree.key(tokens)
            held = len(engine.tree.slots_of(engine.tree._descend(key)))
            new = request.ended and held < len(key) * engine.config.page_size
            if new and shot.due(engine.observer.step, request.id):
                slots = [*slots[1:], slots[0]]
            return insert(tokens, slots, request)

        return faulty

    wrap(engine.tree, "insert", around)


def row_freed_twice(engine: Engine, shot: Shot) -> None:
    """The row of a finished request is given back by two paths."""
    shot.occasion = 1

    def around(free_row: Callable[[Request], None]) -> Callable[[Request], None]:
        def faulty(request: Request) -> None:
            free_row(request)
            if request.ended == "finish" and shot.due(engine.observer.step, request.id):
                free_row(request)

        return faulty

    wrap(engine.table, "free_row", around)


def trim_keeps_the_surplus(engine: Engine, shot: Shot) -> None:
    """A trim frees what lies behind the text's last page, and still counts the surplus inside it as committed."""
    shot.occasion = 1

    def around(cut: Callable[[Request, int, int], None]) -> Callable[[Request, int, int], None]:
        def faulty(request: Request, target: int, start: int) -> None:
            committed = request.committed
            cut(request, target, start)
            if request.committed < committed <= request.allocated and shot.due(
                engine.observer.step, request.id
            ):
                request.committed = committed

        return faulty

    wrap(engine.sessions, "cut", around)


PLANTS: dict[str, Callable[[Engine, Shot], Any]] = {
    "tail-freed-twice": tail_freed_twice,
    "tail-leaked": tail_leaked,
    "locked-node-evicted": locked_node_evicted,
    "evicted-node-not-freed": evicted_node_not_freed,
    "freed-duplicates-still-read": freed_duplicates_still_read,
    "session-row-overwritten": session_row_overwritten,
    "slot-of-another-request": slot_of_another_request,
    "tail-freed-inside-a-page": tail_freed_inside_a_page,
    "published-one-late": published_one_late,
    "row-freed-twice": row_freed_twice,
    "trim-keeps-the-surplus": trim_keeps_the_surplus,
}
