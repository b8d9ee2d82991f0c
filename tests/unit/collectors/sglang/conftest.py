"""A toy scheduler with the methods that the hooks look for, small enough to read."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from speckv_debug.collectors import staging
from speckv_debug.collectors.hooking import Patches
from speckv_debug.collectors.sglang.activity import Activity
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.journal import Journal
from speckv_debug.collectors.sglang.requests import Rows
from speckv_debug.collectors.sglang.scene import HookGroup, Scene
from speckv_debug.recording.blocks import Block, Cut, Each


class Sink:
    """Keeps events with their lazy values resolved."""

    active = True

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self.fields: dict[str, Any] = {}
        self.closed = False

    def emit(self, table: str, /, **columns: Any) -> None:
        plain = {name: _plain(value) for name, value in columns.items() if value is not None}
        self.rows.append({"event": table, **plain})

    def emit_rows(self, table: str, rows: int, columns: dict[str, Any]) -> None:
        resolved = {name: _resolved(value) for name, value in columns.items()}
        for row in Block(table, rows, resolved).as_rows():
            del row["seq"]
            self.emit(table, **row)

    def defer(
        self, table: str, rows: int, step: int, lane: Any, awaited: Any, make: Any, given: tuple[Any, ...]
    ) -> None:
        staging.send()  # what would wait for further steps
        assert awaited is None or awaited.ready()
        self.emit_rows(table, rows, {"step": step, "lane": lane, **make(*given)})

    def note(self, text: str, *, level: str = "info", step: int | None = None) -> None:
        self.notes.append(text)

    def update_process(self, **fields: Any) -> None:
        self.fields |= fields

    def flush_soon(self) -> None:
        self.notes.append("flush")

    def close(self, timeout_s: float = 30.0) -> None:
        self.closed, self.waited_s = True, timeout_s

    def of(self, table: str, *columns: str) -> list[Any]:
        """The rows of a table, or a tuple of some columns of each."""
        rows = [row for row in self.rows if row["event"] == table]
        return [tuple(row.get(name) for name in columns) for row in rows] if columns else rows


def _resolved(value: Any) -> Any:
    if isinstance(value, (Each, Cut)) and hasattr(value.values, "resolve"):
        return replace(value, values=value.values.resolve())
    return value


def _plain(value: Any) -> Any:
    value = value.resolve() if hasattr(value, "resolve") else value
    return value.tolist() if hasattr(value, "tolist") else value


def make_allocator(page_size: int) -> Any:
    """An allocator whose class is its own, so that patches of one test don't meet the next."""

    class Allocator:
        def __init__(self) -> None:
            self.page_size, self.size = page_size, 16 * page_size
            self.free_list = torch.arange(page_size, self.size + page_size)
            self.queue: list[Any] | None = None

        def get_kvcache(self) -> Any:
            return self.__dict__.setdefault("pool", make_pool())

        def available_size(self) -> int:
            return len(self.free_list)

        def alloc(self, need_size: int) -> Any:
            if need_size > len(self.free_list):
                return None
            taken, self.free_list = self.free_list[:need_size], self.free_list[need_size:]
            return taken

        def alloc_extend(self, need_size: int) -> Any:
            return self.alloc(need_size)

        def free(self, free_index: Any) -> None:
            if self.queue is None:
                self.free_list = torch.cat((self.free_list, free_index))
            else:
                self.queue.append(free_index)

        def free_segment(self, free_index: Any, *, start_pos: int) -> None:
            self.free(free_index)

        def free_page_ids(self, page_ids: Any) -> None:
            self.free(page_ids * self.page_size)

        def free_group_begin(self) -> None:
            self.queue = []

        def free_group_end(self) -> None:
            queue, self.queue = self.queue, None
            if queue:
                self.free(torch.cat(queue))

        def clear(self) -> None:
            self.__init__()

    return Allocator()


def make_pool() -> Any:
    """A pool of keys and values."""

    class MHATokenToKVPool:
        layer_num, use_hnd = 1, False
        k_buffer = v_buffer = ()

        def move_kv_cache(self, tgt_loc: Any, src_loc: Any) -> None:
            self._move_kv_cache_impl(tgt_loc, src_loc)

        def _move_kv_cache_impl(self, tgt_loc: Any, src_loc: Any) -> None:
            pass

    return MHATokenToKVPool()


def make_table() -> Any:
    """req_to_token with 4 rows of 64 entries."""

    class Table:
        def __init__(self) -> None:
            self.req_to_token = torch.zeros(4, 64, dtype=torch.int32)
            self.rows = [1, 2, 3]

        def alloc(self, reqs: list[Any]) -> list[int]:
            for req in reqs:
                if req.req_pool_idx is None:
                    req.req_pool_idx = self.rows.pop(0)
            return [req.req_pool_idx for req in reqs]

        def free(self, req: Any) -> None:
            self.rows.insert(0, req.req_pool_idx)
            req.req_pool_idx = None

        def write(self, indices: Any, values: Any) -> None:
            self.req_to_token[indices] = values.to(torch.int32)

    return Table()


def make_tree(allocator: Any) -> Any:
    """A tree of one chain of nodes, as releases up to 0.5.16 have them."""

    class Tree:
        disable = False

        def __init__(self) -> None:
            self.reset()

        def reset(self) -> None:
            self.root = SimpleNamespace(id=0, parent=None, value=[])
            self.leaf = self.root

        def evictable_size(self) -> int:
            return 0

        def protected_size(self) -> int:
            return 0

        def supports_swa(self) -> bool:
            return False

        def match_prefix(self, params: Any) -> Any:
            slots = self.leaf.value if self.leaf is not self.root else torch.tensor([], dtype=torch.int64)
            return SimpleNamespace(device_indices=slots, last_device_node=self.leaf)

        def insert(self, params: Any) -> Any:
            known = params.known
            allocator.free(params.value[:known])
            self.leaf = SimpleNamespace(id=self.leaf.id + 1, parent=self.leaf, value=params.value[known:])
            return SimpleNamespace(prefix_len=known, last_device_node=self.leaf)

        def evict(self, params: Any) -> None:
            allocator.free(self.leaf.value)
            self.leaf = self.leaf.parent

        def inc_lock_ref(self, node: Any) -> None:
            pass

        def dec_lock_ref(self, node: Any) -> None:
            pass

        def cache_finished_req(self, req: Any, is_insert: bool = True) -> None:
            if is_insert:
                self.insert(SimpleNamespace(value=torch.tensor([8, 9]), known=0))
            allocator.free(torch.tensor([3]))
            allocator.free(torch.tensor([4]))

    return Tree()


class Toy:
    """A scene around a toy scheduler; `install` puts the hooks of a group on it."""

    def __init__(self, page_size: int = 1) -> None:
        self.sink = Sink()
        allocator = make_allocator(page_size)
        runner = SimpleNamespace(token_to_kv_pool=allocator.get_kvcache())
        self.scheduler = SimpleNamespace(
            server_args=SimpleNamespace(speculative_algorithm="EAGLE", speculative_eagle_topk=2),
            token_to_kv_pool_allocator=allocator,
            req_to_token_pool=make_table(),
            tree_cache=make_tree(allocator),
            tp_worker=SimpleNamespace(model_runner=runner),
            draft_worker=None,
            enable_overlap=False,
            device="cpu",
        )
        self.engine = Engine(self.scheduler)
        self.scene = Scene(self.engine, Journal(self.sink), Activity(), Rows())
        self.scene.journal.bound = True
        self.failures: list[BaseException] = []
        self.patches = Patches(lambda name, error: self.failures.append(error))

    def install(self, group: type[HookGroup], *more: Any) -> None:
        """Wrap the methods of the toy's classes."""
        for methods in group(self.scene, *more).methods():
            self.patches.install_methods(methods)

    def request(self, rid: str, row: int | None = None, **more: Any) -> Any:
        """A request, with a row that was handed out if one is named."""
        req = SimpleNamespace(rid=rid, req_pool_idx=row, kv_committed_len=0, kv_allocated_len=0, **more)
        if row is not None:
            self.scene.rows.hand_out(row, req)
        return req


@pytest.fixture
def toy() -> Toy:
    return Toy()


@pytest.fixture
def paged_toy() -> Toy:
    return Toy(page_size=4)
