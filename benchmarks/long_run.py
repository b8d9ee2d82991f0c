"""A long recording that keeps every law, made up column by column: 32 rows whose requests verify 100 times each.

Trees of 8 rows, two branches below the root; accepted rows of the second branch are moved and compacted. Prompts of
some 100 tokens, no shared prefixes. The same size gives the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from speckv_debug.recording.arrays import fixed_array, list_array, string_array
from speckv_debug.recording.manifest import PROCESS, create_manifest, finish_manifest
from speckv_debug.recording.parts import part_path
from speckv_debug.recording.schema import SCHEMAS
from speckv_debug.recording.sealing import seal_part

ROWS, LIVES, STEPS, WIDTH, INDEX = 32, 20, 100, 8, 5
WAVE = ROWS * LIVES * STEPS
RESERVE, VOCABULARY = 16, 32_000
PATHS = np.array([[0, 1, 2, 3, 4], [0, 5, 6, 7, -1]])
LONGEST = np.array([5, 4])
DEPTH = np.array([0, 1, 2, 3, 4, 1, 2, 3])
NEXT_TOKEN, NEXT_SIBLING = [1, 2, 3, 4, -1, 6, 7, -1], [-1, 5, -1, -1, -1, -1, -1, -1]
PHASES = (
    "row_alloc", "alloc", "table_write", "lengths", "reserve", "grant", "grown", "prepared", "pool_stat", "extend",
    "forward", "accept", "move", "compact", "commit", "release", "free", "overshoot", "row_free",
)  # fmt: skip
Ints = np.ndarray[Any, np.dtype[np.int64]]


class Wave:
    """All rows live 20 times, one behind another; every request ends before the next wave begins.

    Arrays of verifies are in the order of (step, row); `life` is the index of its request into the arrays of requests.
    """

    def __init__(self, number: int, page_size: int) -> None:
        self.number, self.page = number, page_size
        draw = np.random.default_rng(number)
        row, turn = np.divmod(np.arange(ROWS * LIVES), LIVES)
        self.row, self.turn = row + 1, number * LIVES + turn
        self.first = number * (LIVES + 1) * (STEPS + 1) + row * 3 + turn * (STEPS + 1)
        self.prompt = draw.integers(80, 120, ROWS * LIVES)
        branch = draw.integers(0, 2, (ROWS * LIVES, STEPS))
        n = 1 + draw.integers(0, 5, branch.shape) % LONGEST[branch]
        length = self.prompt[:, None] + np.cumsum(n, axis=1) - n
        grown = self.ceil(length + RESERVE)
        before = np.hstack((self.prompt[:, None], grown[:, :-1]))
        self.end, self.room = length[:, -1] + n[:, -1], grown[:, -1]
        step = self.first[:, None] + 1 + np.arange(STEPS)
        life = np.repeat(np.arange(ROWS * LIVES), STEPS)
        order = np.lexsort((self.row[life], step.ravel()))
        self.life, self.step, self.age = (
            life[order],
            step.ravel()[order],
            np.tile(np.arange(STEPS), ROWS * LIVES)[order],
        )
        self.branch, self.n, self.length, self.grown, self.before = (
            array.ravel()[order] for array in (branch, n, length, grown, before)
        )
        steps, starts, counts = np.unique(self.step, return_index=True, return_counts=True)
        self.steps, self.batch = steps, counts
        self.place = np.arange(len(order)) - np.repeat(starts, counts)
        self._tokens(draw, order)

    def _tokens(self, draw: np.random.Generator, order: Ints) -> None:
        """Each row draws from a vocabulary of its own: siblings differ, and no draft goes on where the target ends."""
        count, bonus = (
            len(order),
            draw.integers(0, VOCABULARY, ROWS * LIVES * (STEPS + 1)).reshape(-1, STEPS + 1),
        )
        self.bonus, self.sampled = bonus[:, 1:].ravel()[order], bonus[:, 0]
        own = np.arange(WIDTH) * VOCABULARY
        self.drafts, self.predict = (draw.integers(0, VOCABULARY, (count, WIDTH)) + own for _ in range(2))
        self.drafts[:, 0] = bonus[:, :-1].ravel()[order]
        self.path = PATHS[self.branch]
        rows = np.arange(count)
        for k in range(INDEX - 1):
            on = k + 1 < self.n
            self.predict[rows[on], self.path[on, k]] = self.drafts[rows[on], self.path[on, k + 1]]
        self.predict[rows, self.path[rows, self.n - 1]] = self.bonus
        self.taken = np.arange(INDEX) < self.n[:, None]

    def ceil(self, lengths: Ints) -> Ints:
        """Up to a whole page."""
        return -(-lengths // self.page) * self.page

    def slots(self, life: Ints, positions: Ints) -> Ints:
        """Where these positions lie: pages of a row's region in a shuffled order, each turn in the other half."""
        region = (self.row[life] - 1) * 2 + self.turn[life] % 2
        pages = np.random.default_rng(7).permutation(ROWS * 2 * self.pages_of_a_life)
        return (
            1 + pages[region * self.pages_of_a_life + positions // self.page]
        ) * self.page + positions % self.page

    @property
    def pages_of_a_life(self) -> int:
        """Pages that the longest life can take."""
        return (120 + STEPS * INDEX + 2 * RESERVE) // self.page + 2

    def spans(self, life: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Slots of `[start, end)` of these requests: lengths and flat slots."""
        lengths = end - start
        flat = np.repeat(start - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        return lengths, self.slots(np.repeat(life, lengths), flat)

    def requests(self, life: Ints) -> dict[str, Any]:
        """The columns that name a request."""
        return {
            "request": [f"{self.row[i]}.{self.turn[i]}" for i in life.tolist()],
            "row": self.row[life],
            "epoch": self.turn[life] + 1,
        }

    def events(self) -> dict[str, tuple[str, Ints, Ints, dict[str, Any]]]:
        """Phase → table, steps, order within the phase, columns; a list column is (lengths, flat values)."""
        every, ends = np.arange(ROWS * LIVES), self.first + STEPS
        who, running = self.requests(every), self.requests(self.life)
        row, busy = self.row, self.row[self.life]
        held, zero = self.ceil(self.end), np.zeros(ROWS * LIVES, np.int64)
        more = np.flatnonzero(self.grown > self.before)
        grant = self.spans(self.life[more], self.before[more], self.grown[more])
        growing = self.requests(self.life[more])
        prompt = self.spans(every, zero, self.prompt)
        tail = np.flatnonzero(self.room > held)
        window = self.spans(self.life, self.length, self.length + WIDTH)
        lists = {"tokens": rows_of(self.drafts), "positions": rows_of(self.length[:, None] + DEPTH)}
        lengths = {"pool": "full", "committed": self.length, "allocated": self.grown, "cause": "spec_prepare"}
        own = {key: growing[key] for key in ("row", "epoch")}
        end = {"committed": self.end, "allocated": self.room, "free_start": held, "page_size": self.page}
        return {
            "row_alloc": ("row_alloc", self.first, row, who),
            "alloc": ("alloc", self.first, row, who | {"pool": "full", "slots": prompt, "reason": "extend"}),
            "table_write": ("table_write", self.first, row, {"row": row, "epoch": who["epoch"], "start": zero, "slots": prompt}),
            "lengths": ("lengths", self.first, row, who | {"pool": "full", "committed": self.prompt, "allocated": self.prompt, "cause": "extend"}),
            "reserve": ("reserve", self.step, busy, running | {"committed": self.length, "allocated": self.before, "reserve": RESERVE, "page_size": self.page, "new_allocated": self.grown}),
            "grant": ("alloc", self.step[more], busy[more], growing | {"pool": "full", "slots": grant, "reason": "spec_reserve"}),
            "grown": ("table_write", self.step[more], busy[more], own | {"start": self.before[more], "slots": grant}),
            "prepared": ("lengths", self.step, busy, running | lengths),
            "pool_stat": self._stat(),
            "extend": ("forward", self.first, row, who | {"mode": "extend", "pool": "full", "start": zero, "slots": prompt, "read_len": self.prompt, "padded": False, "next_token": self.sampled}),
            "forward": ("forward", self.step, busy, running | lists | {"mode": "target_verify", "pool": "full", "start": self.length, "slots": window, "read_len": self.length + WIDTH, "padded": False}),
            "accept": ("accept", self.step, busy, running | self._accept(window, lists["positions"])),
            "move": self._move(window[1].reshape(-1, WIDTH)),
            "compact": self._compact(),
            "commit": ("lengths", self.step, busy, running | lengths | {"committed": self.length + self.n, "cause": "verify_commit"}),
            "release": ("release", ends, row, who | end | {"kind": "finish"}),
            "free": ("free", ends, row, who | {"pool": "full", "slots": self.spans(every, zero, held), "reason": "finish", "form": "request"}),
            "overshoot": ("free", ends[tail], row[tail], self.requests(tail) | {"pool": "full", "slots": self.spans(tail, held[tail], self.room[tail]), "reason": "overshoot", "form": "index"}),
            "row_free": ("row_free", ends, row, who),
        }  # fmt: skip

    def _stat(self) -> tuple[str, Ints, Ints, dict[str, Any]]:
        first, last = int(self.first.min()), int(self.steps[-1])
        used = np.zeros(last - first + 1, np.int64)
        np.add.at(used, self.step - first, self.grown)
        np.add.at(used, self.first - first, self.ceil(self.prompt))
        at = np.arange(first + 7, last, 8)
        total = ROWS * 2 * self.pages_of_a_life * self.page
        stat = {
            "pool": "full",
            "available": total - used[at - first],
            "evictable": 0,
            "protected": 0,
            "session": 0,
            "total": total,
        }
        return "pool_stat", at, np.zeros_like(at), stat

    def _accept(self, window: tuple[Ints, Ints], positions: tuple[Ints, Ints]) -> dict[str, Any]:
        index = np.where(self.taken, self.path + (self.place * WIDTH)[:, None], -1)
        count = len(self.step)
        return {
            "batch_index": self.place, "algorithm": "eagle", "layout": "tree", "sampling": "greedy", "topk": 2,
            "width": WIDTH, "block_start": self.place * WIDTH, "seq_len": self.length,
            "draft_tokens": rows_of(self.drafts), "positions": positions,
            "next_token": rows_of(np.tile(NEXT_TOKEN, (count, 1))),
            "next_sibling": rows_of(np.tile(NEXT_SIBLING, (count, 1))),
            "target_predict": rows_of(self.predict), "predict": rows_of(self.predict), "accept_index": rows_of(index),
            "accept_len": self.n, "num_correct_drafts": self.n - 1, "out_cache_loc": window, "table_slots": window,
            "new_seq_len": self.length + self.n, "bonus_token": self.bonus,
        }  # fmt: skip

    def _move(self, window: Ints) -> tuple[str, Ints, Ints, dict[str, Any]]:
        rows, k = np.nonzero(self.taken)
        firsts = np.cumsum(self.batch) - self.batch
        before = np.cumsum(self.n) - self.n
        step = np.repeat(np.arange(len(self.batch)), self.batch)
        at = (firsts * INDEX - before[firsts])[step][rows] + before[rows] + k
        src, tgt = (np.zeros(len(self.step) * INDEX, np.int64) for _ in range(2))
        src[at], tgt[at] = window[rows, self.path[rows, k]], window[rows, k]
        columns = {
            "pool": "full",
            "target_source": "window",
            "src": (self.batch * INDEX, src),
            "tgt": (self.batch * INDEX, tgt),
            "caller": "accept",
        }
        return "move", self.steps, np.zeros_like(self.steps), columns

    def _compact(self) -> tuple[str, Ints, Ints, dict[str, Any]]:
        after = self.predict.copy()
        rows, k = np.nonzero(self.taken)
        after[rows, k] = self.predict[rows, self.path[rows, k]]
        lengths = self.batch * WIDTH
        columns = {
            "tensor": "predict",
            "before": (lengths, self.predict.ravel()),
            "after": (lengths, after.ravel()),
        }
        return "compact", self.steps, np.zeros_like(self.steps), columns


def rows_of(array: Ints) -> tuple[Ints, Ints]:
    """A matrix as a list column: one list a row."""
    return np.full(len(array), array.shape[1]), array.ravel()


def make(folder: Path, waves: int, page_size: int) -> None:
    """Write the recording of `waves` x 64,000 request-steps."""
    create_manifest(folder, ["benchmarks/long_run.py"], start_ns=0)
    process = folder / "tp0-pp0-dp0"
    process.mkdir()
    seq = 0
    for number in range(waves):
        wave = Wave(number, page_size)
        seq = _write_wave(process, wave, seq)
    pool = {
        "name": "full",
        "kind": "full",
        "slots": ROWS * 2 * wave.pages_of_a_life * page_size,
        "page_size": page_size,
        "reserved_slots": page_size,
    }
    tables = [name for name in SCHEMAS if (process / name).is_dir()] + ["free_group", "cache"]
    settings = {
        "algorithm": "EAGLE",
        "topk": 2,
        "num_steps": 4,
        "num_draft_tokens": WIDTH,
        "overlap": False,
        "row_width": 4096,
        "accept_index_rows": "flat",
    }
    info = {
        "engine": "sglang",
        "engine_version": "0.5.23",
        "tables": tables,
        "from_start": True,
        "pools": [pool],
        "settings": settings,
        "clean_shutdown": True,
    }
    (process / PROCESS).write_text(json.dumps(info))
    finish_manifest(folder, end_ns=0)


def _write_wave(process: Path, wave: Wave, seq: int) -> int:
    events = wave.events()
    keys = [
        (step * len(PHASES) + PHASES.index(phase)) * 64 + order
        for phase, (_, step, order, _) in events.items()
    ]
    ranks = np.empty(sum(map(len, keys)), np.int64)
    ranks[np.argsort(np.concatenate(keys), kind="stable")] = seq + np.arange(len(ranks))
    tables: dict[str, list[pa.Table]] = {}
    at = 0
    for name, step, _, columns in events.values():
        tables.setdefault(name, []).append(_table(name, ranks[at : at + len(step)], step, columns))
        at += len(step)
    for name, parts in tables.items():
        table = pa.concat_tables(parts).combine_chunks().sort_by("seq")
        half = -(-table.num_rows // 2) if table.num_rows > 65_536 else max(1, table.num_rows)
        for part in range(0, table.num_rows, half):
            number = len(list((process / name).glob("*.parquet")))
            seal_part(part_path(process / name, number), table.slice(part, half).combine_chunks())
    return seq + len(ranks)


def _table(name: str, seq: Ints, step: Ints, columns: dict[str, Any]) -> pa.Table:
    schema, given = (
        SCHEMAS[name],
        {"seq": seq, "step": step, "t_ns": seq * 1000, "lane": "schedule"} | columns,
    )
    return pa.Table.from_arrays(
        [_array(given.get(field.name), field.type, len(seq)) for field in schema], schema=schema
    )


def _array(value: Any, kind: pa.DataType, count: int) -> pa.Array:
    if value is None:
        return pa.nulls(count, kind)
    if isinstance(value, tuple):
        return list_array(value[0], fixed_array(value[1], kind.value_type), kind)
    if isinstance(value, list):
        return string_array(value)
    if isinstance(value, str):
        return string_array([value] * count)
    if isinstance(value, bool):
        return pa.array([value] * count, kind)
    return fixed_array(np.broadcast_to(value, count), kind)
