"""A paged engine in a few lines, written as events, and a plain account of what its KV holds: dictionaries, no kernel.

Requests share prefixes, grow by pages, verify random trees, move what they accept, end with a verify in flight; slots and
rows are used again. `spoil` puts one fault in at a random place.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.ledgers import Line, Run

HEAD: Line = {
    "tables": ["accept", "forward", "move", "table_write", "alloc", "free", "row_alloc", "row_free", "release", "cache"],
    "settings": {"row_width": 256, "accept_index_rows": "flat"},
}  # fmt: skip
SLOTS = 2000


@dataclass
class Request:
    name: str
    row: int
    epoch: int
    tokens: list[int]
    slots: list[int] = field(default_factory=list)
    shared: int = 0
    committed: int = 0
    rounds: int = 0

    @property
    def who(self) -> Line:
        return {"request": self.name, "row": self.row, "epoch": self.epoch}


class PagedEngine:
    """Runs at once; `run.lines` are the events."""

    def __init__(self, seed: int, steps: int = 12) -> None:
        self.rng = rng = random.Random(seed)
        self.page = rng.choice([1, 2, 4])
        pool = {
            "name": "full",
            "kind": "full",
            "slots": SLOTS,
            "page_size": self.page,
            "reserved_slots": self.page,
        }
        self.run = Run(self.page, pools=[pool], **HEAD)
        self.free = list(range(1, SLOTS // self.page))
        rng.shuffle(self.free)
        self.epochs = dict.fromkeys(range(1, 6), 0)
        self.running: list[Request] = []
        self.cached: list[tuple[list[int], list[int]]] = []
        for _ in range(steps):
            self.run.step += 1
            if self.running and rng.random() < 0.7:
                self._verify()
            elif len(self.running) < len(self.epochs):
                self._prefill()

    def _grow(self, request: Request, length: int, reason: str) -> None:
        before = len(request.slots)
        while len(request.slots) < length:
            page = self.free.pop()
            request.slots += range(page * self.page, (page + 1) * self.page)
        if before < len(request.slots):
            self._write(request, before, reason)

    def _write(self, request: Request, start: int, reason: str | None = None) -> None:
        slots = request.slots[start:]
        if reason:
            self.run.add("alloc", pool="full", **request.who, slots=slots, reason=reason)
        if slots:
            self.run.add("table_write", row=request.row, epoch=request.epoch, start=start, slots=slots)

    def _prefill(self) -> None:
        rng = self.rng
        row = next(r for r in self.epochs if r not in {each.row for each in self.running})
        self.epochs[row] += 1
        request = Request(
            f"q{len(self.run.lines)}",
            row,
            self.epochs[row],
            [rng.randint(1, 9) for _ in range(rng.randint(2, 20))],
        )
        self.run.add("row_alloc", **request.who)
        if self.cached and rng.random() < 0.6:
            prefix, slots = rng.choice(self.cached)
            request.tokens = [*prefix, *request.tokens]
            request.slots, request.shared = list(slots), len(slots)
            self._write(request, 0)
        self._grow(request, len(request.tokens), "extend")
        start, end = request.shared, len(request.tokens)
        self._forward(
            "extend",
            request,
            start,
            request.slots[start:end],
            request.tokens[start:],
            list(range(start, end)),
        )
        request.committed = end
        self.running.append(request)
        if not request.shared and rng.random() < 0.5:
            whole = end // self.page * self.page
            self.cached.append((request.tokens[:whole], request.slots[:whole]))
            request.shared = whole
            if len(self.cached) > 1 and rng.random() < 0.5:
                self._evict()

    def _evict(self) -> None:
        """Give back a cached prefix that nobody reads."""
        held = {slot for each in self.running for slot in each.slots}
        for prefix, slots in self.cached:
            if not held & set(slots):
                self.cached.remove((prefix, slots))
                self._release(slots, "evict")
                return

    def _forward(
        self,
        mode: str,
        request: Request,
        start: int,
        slots: list[int],
        tokens: list[int],
        positions: list[int],
    ) -> None:
        line = {"pool": "full", "start": start, "slots": slots, "tokens": tokens, "positions": positions}
        self.run.add("forward", mode=mode, **request.who, **line, padded=False, read_len=start + len(slots))

    def _verify(self) -> None:
        rng, batch = self.rng, list(self.running)
        trees = [self._tree(request) for request in batch]
        for request, tree in zip(batch, trees, strict=True):
            self._forward(
                "target_verify",
                request,
                request.committed,
                tree["out_cache_loc"],
                tree["draft_tokens"],
                tree["positions"],
            )
        ending = [request for request in batch if rng.random() < 0.15]
        start, pairs = 0, []
        for index, (request, tree) in enumerate(zip(batch, trees, strict=True)):
            path, loc = tree.pop("path"), tree["out_cache_loc"]
            line = {
                "batch_index": index,
                "block_start": start,
                "algorithm": "eagle",
                "layout": "tree",
                "sampling": "rejection",
            }
            rows = [start + row for row in path] + [-1] * rng.randint(0, 2)
            counts = {
                "width": len(loc),
                "accept_index": rows,
                "accept_len": len(path),
                "seq_len": request.committed,
            }
            self.run.add("accept", **request.who, **line, **counts, **tree)
            pairs += [(loc[row], loc[k]) for k, row in enumerate(path)]
            request.tokens = request.tokens[: request.committed] + [tree["draft_tokens"][row] for row in path]
            request.committed += len(path)
            start += len(loc)
        pairs += [(0, 0)] * rng.randint(0, 3)
        self.run.add(
            "move", pool="full", caller="accept", src=[s for s, _ in pairs], tgt=[t for _, t in pairs]
        )
        for request in ending:
            self._end(request)

    def _tree(self, request: Request) -> Line:
        rng, start = self.rng, request.committed
        width = rng.randint(1, 6)
        self._grow(request, start + width + rng.randint(0, 4), "spec_reserve")
        parents = [-1] + [rng.randrange(row) for row in range(1, width)]
        depth, path = [0] * width, [0]
        for row in range(1, width):
            depth[row] = depth[parents[row]] + 1
        while (below := [row for row in range(width) if parents[row] == path[-1]]) and rng.random() < 0.75:
            path.append(rng.choice(below))
        child, sibling = [-1] * width, [-1] * width
        for row in range(width - 1, 0, -1):
            sibling[row], child[parents[row]] = child[parents[row]], row
        window = request.slots[start : start + width]
        return {
            "path": path,
            "draft_tokens": [rng.randint(1, 4) for _ in range(width)],
            "positions": [start + each for each in depth],
            "next_token": child,
            "next_sibling": sibling,
            "out_cache_loc": window,
            "table_slots": window,
        }

    def _end(self, request: Request) -> None:
        self.running.remove(request)
        self.run.add(
            "release", **request.who, kind="finish", committed=request.committed, allocated=len(request.slots)
        )
        self._release(request.slots[request.shared :], "finish")
        self.run.add("row_free", **request.who)

    def _release(self, slots: list[int], reason: str) -> None:
        self.run.add("free", pool="full", slots=slots, reason=reason)
        self.free += sorted({slot // self.page for slot in slots})


Row = tuple[tuple[int, int], int, int, int, int]
"""What a slot holds: life, position, token, event and place in it."""


def first_wrong(lines: list[Line]) -> tuple[str, int, int] | None:
    """(request, step, position) of the first position of a committed prefix that does not hold its own row, by brute force.

    Every forward looks at its whole prefix when all forwards of its step have written; what a request's last verify commits
    is looked at when it has been moved.
    """
    kv: dict[int, Row] = {}
    table: dict[tuple[int, int], dict[int, tuple[int, int]]] = {}
    due: dict[tuple[int, int], dict[int, Row]] = {}
    last = {(line["row"], line["epoch"]): at for at, line in enumerate(lines) if line["event"] == "forward"}
    for batch in batches(lines):
        for at, line in batch:
            life = (line.get("row"), line.get("epoch"))
            if line["event"] == "table_write":
                row = table.setdefault(life, {})
                for k, slot in enumerate(line["slots"]):
                    if row.get(line["start"] + k, (None,))[0] != slot:
                        row[line["start"] + k] = (slot, at)
            elif line["event"] == "forward":
                for k, slot in enumerate(line["slots"]):
                    kv[slot] = (life, line["positions"][k], line["tokens"][k], at, k)
        for at, line in batch:
            if line["event"] == "forward" and not line["padded"]:
                life = (line["row"], line["epoch"])
                found = _look(life, range(line["start"]), kv, table[life], due.setdefault(life, {}))
                if found is not None:
                    return line["request"], line["step"], found
                if line["mode"] == "extend":
                    for k in range(len(line["slots"])):
                        due[life][line["start"] + k] = (life, line["positions"][k], line["tokens"][k], at, k)
        forwards = {(line["row"], line["epoch"]): at for at, line in batch if line["event"] == "forward"}
        for _, line in batch:
            if line["event"] == "accept":
                life = (line["row"], line["epoch"])
                path = [row - line["block_start"] for row in line["accept_index"][: line["accept_len"]]]
                for k, row in enumerate(path):
                    place = (line["positions"][row], line["draft_tokens"][row], forwards[life], row)
                    due[life][line["seq_len"] + k] = (life, *place)
            elif line["event"] == "move":
                read = {t: kv.get(s) for s, t in zip(line["src"], line["tgt"], strict=True) if s != t}
                kv.update({t: row for t, row in read.items() if row is not None})
        moved = any(line["event"] == "move" for _, line in batch)
        for _, line in batch:
            life = (line.get("row"), line.get("epoch"))
            if last.get(life) == forwards.get(life) is not None and (committed := _committed(line, moved)):
                found = _look(life, committed, kv, table[life], due[life])
                if found is not None:
                    return line["request"], line["step"], found
    return None


def _committed(line: Line, moved: bool) -> range | None:
    """What a forward committed for good, if its rows are known to be where they stay."""
    if line["event"] == "forward" and line["mode"] == "extend":
        return range(line["start"], line["start"] + len(line["slots"]))
    if line["event"] != "accept":
        return None
    count, first = line["accept_len"], line["block_start"]
    in_place = line["accept_index"][:count] == list(range(first, first + count))
    return range(line["seq_len"], line["seq_len"] + count) if moved or in_place else None


def batches(lines: list[Line]) -> Iterator[list[tuple[int, Line]]]:
    """Numbered events, cut behind each mover call and where the step changes."""
    batch: list[tuple[int, Line]] = []
    for at, line in enumerate(lines):
        if batch and (batch[-1][1]["step"] != line["step"] or batch[-1][1]["event"] == "move"):
            yield batch
            batch = []
        batch.append((at, line))
    yield batch


def _look(
    life: Any,
    positions: Iterable[int],
    kv: dict[int, Row],
    row: dict[int, tuple[int, int]],
    due: dict[int, Row],
) -> int | None:
    for position in positions:
        slot, since = row[position]
        held, wanted = kv.get(slot), due.get(position)
        if wanted is None and held is not None:
            due[position] = held
            if held[1] != position or (held[3] > since and held[0] != life):
                return position
        elif wanted is not None and since < wanted[3]:
            if held != wanted:
                return position
        elif None not in (wanted, held) and _differ(held, wanted, since, life):
            return position
    return None


def _differ(held: Row, wanted: Row, since: int, life: Any) -> bool:
    """Another position or token, or written by another request since the row names the slot."""
    return held[1:3] != wanted[1:3] or (held[3] > since and held[0] != life)


def spoil(engine: PagedEngine, seed: int) -> str:
    """Put one random fault into the events; returns what was done, empty if there was no occasion."""
    rng, lines = random.Random(seed), engine.run.lines
    kind = rng.choice(["source", "target", "no move", "short", "write", "stray", "entry"])
    moves = [
        line
        for line in lines
        if line["event"] == "move" and any(s != t for s, t in zip(line["src"], line["tgt"], strict=True))
    ]
    forwards = [line for line in lines if line["event"] == "forward"]
    if kind in ("source", "target", "no move", "short"):
        if not moves:
            return ""
        move = rng.choice(moves)
        at = rng.choice([k for k, (s, t) in enumerate(zip(move["src"], move["tgt"], strict=True)) if s != t])
        if kind == "no move":
            lines.remove(move)
        elif kind == "short":
            del move["src"][at], move["tgt"][at]
        else:
            lists = move["src" if kind == "source" else "tgt"]
            lists[at] = max(0, lists[at] + rng.choice([-1, 1]))
        return kind
    if not forwards:
        return ""
    line = rng.choice(forwards)
    where = rng.choice([slot for each in forwards for slot in each["slots"]])
    if kind == "write":
        line["slots"] = [*line["slots"]]
        line["slots"][rng.randrange(len(line["slots"]))] = where
    elif kind == "stray":
        pad = {"event": "forward", "step": line["step"], "mode": "target_verify", "pool": "full", "start": 0}
        pad |= {"row": 0, "epoch": 0, "slots": [where], "tokens": [0], "positions": [0], "padded": True}
        lines.insert(lines.index(line) + 1, pad)
    elif line["start"] > 0:
        entry = {"event": "table_write", "step": line["step"], "row": line["row"], "epoch": line["epoch"]}
        lines.insert(lines.index(line), entry | {"start": rng.randrange(line["start"]), "slots": [where]})
    else:
        return ""
    return kind
