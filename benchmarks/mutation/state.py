"""What an engine's events leave behind, in plain dictionaries: no law, no ledger, nothing of `speckv_debug.replay`.

Everything is kept as the contract of the recording says it in words; what makes no sense is applied all the same.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Line = dict[str, Any]
Life = tuple[Any, ...]
"""Row and epoch."""
WRITING = ("extend", "decode", "target_verify")
DRAFTING = ("draft", "draft_extend")


@dataclass
class State:
    """The state after some events.

    Attributes:
        rows: Row → epoch and request that hold it.
        table: (pool, row, epoch) → position → slot.
        kv: Slot of the main pool → token and position written or moved there.
        tokens: Life → position → token whose KV is accepted; `outputs` the token said there.
        lengths: (source, pool, life) → the lengths that it says.
        placed: Life → slots of its last verify's rows, as written and as in its row, and the token handed on.
        batch: Verifies of the latest batch; `compacted` the latest compaction of predictions, `fronts` what is handed on.
        free: Pool → page → how often it lies in the free list.
        granted: (pool, page) → the life that it was granted to last.
        waiting: Free group → pages (slots at page size 1) that come back at its end.
        tree, locks: Slots that the prefix tree holds, and how often they are locked.
        beside: Whatever else holds or is held: sessions, transfers, references, mappings, rings.
    """

    head: Mapping[str, Any]
    rows: dict[Any, Life] = field(default_factory=dict)
    table: defaultdict[Life, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    kv: dict[int, tuple[int, int]] = field(default_factory=dict)
    tokens: defaultdict[Life, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    outputs: defaultdict[Life, dict[int, int]] = field(default_factory=lambda: defaultdict(dict))
    lengths: dict[Life, tuple[Any, ...]] = field(default_factory=dict)
    placed: dict[Life, tuple[Any, ...]] = field(default_factory=dict)
    batch: list[Line] = field(default_factory=list)
    compacted: Line = field(default_factory=dict)
    fronts: dict[Life, list[int]] = field(default_factory=dict)
    free: dict[str, dict[int, int]] = field(default_factory=dict)
    granted: dict[Life, Life] = field(default_factory=dict)
    waiting: defaultdict[Any, list[tuple[str, list[int]]]] = field(default_factory=lambda: defaultdict(list))
    tree: set[tuple[str, int]] = field(default_factory=set)
    locks: dict[tuple[str, int], int] = field(default_factory=dict)
    beside: dict[Life, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.pools = {pool["name"]: pool for pool in self.head.get("pools") or ()}
        self.main = next((n for n, pool in self.pools.items() if pool.get("kind", n) == "full"), "full")
        self.flat = (self.head.get("settings") or {}).get("accept_index_rows") != "local"

    def take(self, line: Line) -> None:
        """Apply one event."""
        if handler := HANDLERS.get(line["event"]):
            handler(self, line)

    def allocator(self, line: Line) -> str:
        """The pool whose allocator hands out the event's slots."""
        name = line.get("pool") or self.main
        return str((self.pools.get(name) or {}).get("allocated_by") or name)

    def page_size(self, pool: str) -> int:
        """Slots a page."""
        return int((self.pools.get(pool) or {}).get("page_size") or 1)

    def free_of(self, pool: str) -> dict[int, int]:
        """The free list of a pool; at first it holds every page but the reserved ones."""
        if pool not in self.free:
            size, told = self.page_size(pool), self.pools.get(pool) or {}
            first = -(-(told.get("reserved_slots") or size) // size)
            pages = range(first, first + (told.get("slots") or 0) // size)
            self.free[pool] = dict.fromkeys(pages, 1)
        return self.free[pool]


def life(line: Line) -> Life:
    """Whose event it is."""
    return line.get("row"), line.get("epoch")


def items(line: Line, *names: str) -> Iterable[tuple[int, ...]]:
    """Parallel lists item by item."""
    return zip(*(line.get(name) or () for name in names), strict=False)


def count(counts: dict[Any, int], key: Any, by: int) -> None:
    """Count something; what there is none of has no entry."""
    if (number := counts.get(key, 0) + by) != 0:
        counts[key] = number
    else:
        counts.pop(key, None)


def _row_alloc(state: State, line: Line) -> None:
    state.rows[line.get("row")] = (line.get("epoch"), line.get("request"))


def _row_free(state: State, line: Line) -> None:
    state.rows.pop(line.get("row"), None)


def _table_write(state: State, line: Line) -> None:
    """A pool that has its ids from another one (the draft pool) is looked up in that one's table: there is no second."""
    row = state.table[state.allocator(line), *life(line)]
    row |= {(line.get("start") or 0) + k: slot for k, slot in enumerate(line.get("slots") or ())}


def _forward(state: State, line: Line) -> None:
    """What the target computes; a draft is told by its mode, and by its pool."""
    if line.get("mode") in DRAFTING or (line.get("pool") or state.main) != state.main or line.get("padded"):
        return
    state.lengths["read", None, *life(line)] = (line.get("read_len"),)
    if line.get("mode") in WRITING:
        for slot, token, position in items(line, "slots", "tokens", "positions"):
            state.kv[slot] = (token, position)
    if line.get("mode") in WRITING[:2]:
        for token, position in items(line, "tokens", "positions"):
            state.tokens[life(line)][position] = token
        if line.get("next_token") is not None and line.get("positions"):
            state.outputs[life(line)][line["positions"][-1] + 1] = line["next_token"]


def _accept(state: State, line: Line) -> None:
    mine, start = life(line), line.get("seq_len") or 0
    drafts, predict = line.get("draft_tokens") or (), line.get("predict") or ()
    for k, row in enumerate(path(state, line)):
        if 0 <= row < len(drafts):
            state.tokens[mine][start + k] = drafts[row]
        if 0 <= row < len(predict):
            state.outputs[mine][start + k + 1] = predict[row]
    state.lengths["verify", None, *mine] = (start, line.get("accept_len"), line.get("new_seq_len"))
    state.placed[mine] = (line.get("out_cache_loc"), line.get("table_slots"), line.get("bonus_token"))
    state.fronts[mine] = list(predict[: line.get("accept_len") or 0])
    state.batch = _joined(state.batch, line)
    if state.compacted.get("step") == line.get("step"):  # it may come first
        _hand_on(state)


def _joined(batch: list[Line], line: Line) -> list[Line]:
    """A batch with one more verify: its place is what `batch_index` says, whichever event comes first."""
    number, step = line.get("batch_index") or 0, line.get("step")
    same_step = step is not None and any(verify.get("step") == step for verify in batch)
    others = ((verify.get("batch_index") or 0, verify) for verify in batch)
    rest = [verify for other, verify in others if other < number or (same_step and other != number)]
    return sorted((*rest, line), key=lambda verify: verify.get("batch_index") or 0)


def path(state: State, line: Line) -> list[int]:
    """Accepted rows of a verify, counted in its own block."""
    n, rows = line.get("accept_len") or 0, line.get("accept_index")
    first = (line.get("block_start") or 0) if state.flat else 0
    return list(range(n)) if rows is None else [row - first for row in rows[:n]]


def _compact(state: State, line: Line) -> None:
    if line.get("tensor") == "predict":
        state.compacted = line
        _hand_on(state)


def _hand_on(state: State) -> None:
    """The predictions that stand in front of each request's block once they are compacted."""
    after, before = (state.compacted.get(name) or [] for name in ("after", "before"))
    at, step = 0, state.compacted.get("step")
    for verify in state.batch:
        if verify.get("step") != step:
            continue  # of the step before: it comes first where the accepts of its own come later
        first = (verify.get("block_start") or 0) if len(after) == len(before) else at
        state.fronts[life(verify)] = after[first : first + (verify.get("accept_len") or 0)]
        at += len(verify.get("accept_index") or ())


def _move(state: State, line: Line) -> None:
    if (line.get("pool") or state.main) == state.main:
        moved = [(target, state.kv.get(source)) for source, target in items(line, "src", "tgt")]
        state.kv.update({target: content for target, content in moved if content is not None})


def _lengths(state: State, line: Line) -> None:
    told = tuple(line.get(name) for name in ("committed", "allocated", "swa_evicted"))
    state.lengths["host", line.get("pool") or state.main, *life(line)] = told


def _reserve(state: State, line: Line) -> None:
    """The room that is decided; what it is decided from is said by `lengths`."""
    key = ("host", state.main, *life(line))
    committed, _, evicted = state.lengths.get(key, (line.get("committed"), None, None))
    state.lengths[key] = (committed, line.get("new_allocated"), evicted)


def _release(state: State, line: Line) -> None:
    key = ("host", state.main, *life(line))
    state.lengths[key] = (
        line.get("committed"),
        line.get("allocated"),
        *state.lengths.get(key, (None,) * 3)[2:],
    )


def _alloc(state: State, line: Line) -> None:
    if line.get("granted") is False:
        return
    pool = state.allocator(line)
    size, free = state.page_size(pool), state.free_of(pool)
    for slot in line.get("slots") or ():
        state.granted[pool, slot // size] = (_holder(state, line), *life(line))
        if slot % size == 0:
            count(free, slot // size, -1)


def _holder(state: State, line: Line) -> Any:
    """Who an event is about; where it tells the row only, the request that holds the row with that epoch."""
    epoch, request = state.rows.get(line.get("row"), (None, None))
    return line.get("request") or (request if epoch is not None and epoch == line.get("epoch") else None)


def _free(state: State, line: Line) -> None:
    pool = state.allocator(line)
    state.waiting[line.get("group")].append((pool, list(line.get("slots") or ())))
    if line.get("group") is None:
        _give_back(state, None)


def _free_group(state: State, line: Line) -> None:
    if line.get("action") == "end":
        _give_back(state, line.get("group"))


def _give_back(state: State, group: Any) -> None:
    """What waits comes back: page by page, each once; slot by slot at page size 1. The dummy never does: engines filter it."""
    back: defaultdict[str, list[int]] = defaultdict(list)
    for pool, slots in state.waiting.pop(group, ()):
        back[pool] += slots
    for pool, slots in back.items():
        size = state.page_size(pool)
        pages = slots if size == 1 else sorted({slot // size for slot in slots})
        first = -(-((state.pools.get(pool) or {}).get("reserved_slots") or 0) // size)
        for page in (page for page in pages if page >= first):
            count(state.free_of(pool), page, 1)
            state.granted.pop((pool, page), None)


def _cache(state: State, line: Line) -> None:
    pool, action = state.allocator(line), line.get("action")
    slots = {(pool, slot) for slot in line.get("slots") or ()}
    if action == "insert":
        state.tree |= slots
    elif action == "evict":
        state.tree -= slots
    elif action == "reset":
        state.tree.clear()
        state.locks.clear()
    elif action in ("lock", "unlock"):
        for slot in slots:
            count(state.locks, slot, 1 if action == "lock" else -1)
    elif action == "session_save":
        state.beside["session", line.get("request")] = slots
    elif action in ("session_restore", "session_close"):
        state.beside = {k: v for k, v in state.beside.items() if k[0] != "session" or not v & slots}


def _transfer(state: State, line: Line) -> None:
    for slot in line.get("slots") or ():
        key = ("transfer", state.allocator(line), slot, line.get("request"))
        state.beside[key] = line.get("action")


def _swa_map(state: State, line: Line) -> None:
    for full, swa in items(line, "full_slots", "swa_slots"):
        state.beside["swa", full] = swa


def _page_ref(state: State, line: Line) -> None:
    pool, holder = line.get("pool"), line.get("holder")
    by = 1 if line.get("action") == "retain" else -1
    counts = line.get("count_after") or [None] * len(line.get("pages") or ())
    for page, count in zip(line.get("pages") or (), counts, strict=False):
        key = ("reference", pool, page, holder)
        state.beside[key] = state.beside.get(key, 0) + by
        state.beside["count", pool, page] = count


def _state_clear(state: State, line: Line) -> None:
    for ring_row in line.get("ring_rows") or ():
        value = (line.get("first_half"), line.get("second_half"))
        state.beside["ring", line.get("pool"), line.get("row"), ring_row] = value


def _state_commit(state: State, line: Line) -> None:
    state.beside["state", line.get("pool"), line.get("row")] = line.get("step_index")


def _state_access(state: State, line: Line) -> None:
    if line.get("action") == "write":
        for ring_row, position in items(line, "ring_rows", "positions"):
            state.beside["ring", line.get("pool"), line.get("row"), ring_row] = position


HANDLERS: dict[str, Callable[[State, Line], None]] = {
    "row_alloc": _row_alloc, "row_free": _row_free, "table_write": _table_write, "forward": _forward,
    "accept": _accept, "compact": _compact, "move": _move, "lengths": _lengths, "reserve": _reserve,
    "release": _release, "alloc": _alloc, "free": _free, "free_group": _free_group, "cache": _cache,
    "transfer": _transfer, "swa_map": _swa_map, "page_ref": _page_ref, "state_clear": _state_clear,
    "state_commit": _state_commit, "state_access": _state_access,
}  # fmt: skip
