"""Random runs of a small made-up engine: what the ledger says is what the engine's own lists say."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.replay.holders import free_pages, holders_of
from tests.ledgers import Run

OWN = ("OWN-DFREE", "OWN-UAF", "OWN-ALIAS", "OWN-LEAK", "OWN-PAGESAFE", "OWN-CONSERVE")
PAGES = 24
SEEDS = st.integers(0, 1 << 30)
PAGE_SIZES = st.sampled_from((1, 2, 4, 16))


class SmallEngine:
    """Requests that grow page by page, share prefixes through a tree, and end in groups or one by one."""

    def __init__(self, seed: int, page_size: int) -> None:
        self.draw = random.Random(seed)
        self.page_size = page_size
        self.run = Run(page_size, slots=PAGES * page_size)
        self.free = list(range(1, PAGES + 1))
        self.rows: dict[int, list[int]] = {}
        self.shared: dict[int, int] = {}
        self.epochs: dict[int, int] = {}
        self.tree: list[list[int]] = []
        self.readers: dict[int, int] = {}
        self.group: list[int] | None = None
        self.forgets = -1
        self.forgotten: list[tuple[str, str, set[int]]] = []
        self.snapshots: list[tuple[int, frozenset[int]]] = []

    def play(self, turns: int) -> SmallEngine:
        actions = (self.arrive, self.arrive, self.extend, self.extend, self.forward, self.publish, self.evict)
        for _ in range(turns):
            self.draw.choice((*actions, self.open_group, self.close_group, self.leave, self.leave))()
            self.snapshots.append((len(self.run.lines) - 1, frozenset(self.free)))
            self.count()
        while self.rows:
            self.leave()
        self.close_group()
        self.run.quiet(**self.figures())
        return self

    def count(self) -> None:
        """Now and then the engine counts its pool, outside free groups."""
        if self.group is None and self.draw.random() < 0.3:
            self.run.add("pool_stat", pool="full", **self.figures())

    def figures(self) -> dict[str, int]:
        tree = sum(map(len, self.tree))
        pages = {"available": len(self.free), "evictable": tree, "protected": 0, "session": 0, "total": PAGES}
        return {name: count * self.page_size for name, count in pages.items()}

    def slots(self, pages: list[int]) -> list[int]:
        return [page * self.page_size + place for page in pages for place in range(self.page_size)]

    def who(self, row: int) -> dict[str, Any]:
        return {"request": f"r{row}.{self.epochs[row]}", "epoch": self.epochs[row]}

    def arrive(self) -> None:
        row = self.draw.randint(1, 5)
        if row in self.rows or not self.free or self.group is not None:
            return
        self.epochs[row] = self.epochs.get(row, 0) + 1
        self.rows[row], self.shared[row] = [], 0
        self.run.start(row, [], **self.who(row))
        if self.tree and self.draw.random() < 0.5:
            node = self.draw.randrange(len(self.tree))
            self.readers[row] = node
            self.rows[row], self.shared[row] = list(self.tree[node]), len(self.tree[node])
            self.run.cache("match", self.slots(self.tree[node]), request=self.who(row)["request"])
            self.run.write(row, 0, self.slots(self.tree[node]), self.epochs[row])
        self.grow(row)

    def extend(self) -> None:
        if self.rows and self.group is None:
            self.grow(self.draw.choice(list(self.rows)))

    def grow(self, row: int) -> None:
        pages = [self.free.pop(0) for _ in range(min(len(self.free), self.draw.randint(1, 3)))]
        if pages:
            start = len(self.rows[row]) * self.page_size
            self.run.grow(row, self.slots(pages), start=start, **self.who(row))
            self.rows[row] += pages

    def forward(self) -> None:
        if self.rows:
            row = self.draw.choice(list(self.rows))
            own = self.rows[row]
            if own:
                last = len(own) * self.page_size - 1
                self.run.forward(row, last, self.slots(own)[-1:], **self.who(row))

    def publish(self) -> None:
        """A request puts its first own pages into the tree and goes on reading them."""
        ready = [row for row in self.rows if row not in self.readers and self.rows[row]]
        if ready and self.group is None:
            row = self.draw.choice(ready)
            node = self.rows[row][: self.draw.randint(1, len(self.rows[row]))]
            self.readers[row], self.shared[row] = len(self.tree), len(node)
            self.tree.append(node)
            self.run.cache("insert", self.slots(node), request=self.who(row)["request"])

    def evict(self) -> None:
        for number, node in enumerate(self.tree):
            if node and number not in self.readers.values() and self.group is None:
                self.tree[number] = []
                self.run.cache("evict", self.slots(node))
                self.run.free(self.slots(node), reason="evict")
                self.free += node
                return

    def open_group(self) -> None:
        if self.group is None:
            self.group = []
            self.run.group("begin", len(self.run.lines))
            self.number = len(self.run.lines) - 1

    def close_group(self) -> None:
        if self.group is not None:
            self.free += self.group
            self.group = None
            self.run.group("end", self.number)

    def leave(self) -> None:
        if not self.rows:
            return
        row = self.draw.choice(list(self.rows))
        own, who = self.rows.pop(row)[self.shared.pop(row) :], self.who(row)
        self.readers.pop(row, None)
        length = self.run.lengths_of.pop(row, 0)
        self.run.release(row, length, length, **who)
        if own and self.forgets == 0:
            self.forgotten.append(("OWN-LEAK", who["request"], set(own)))
        elif own:
            inside = {} if self.group is None else {"group": self.number}
            named = (
                self.slots(own)
                if self.page_size == 1
                else self.slots(own)[:: self.draw.randint(1, self.page_size)]
            )
            self.run.free(named, row, **who, **inside)
            (self.free if self.group is None else self.group).extend(own)
        self.forgets -= bool(own)
        self.run.add("row_free", row=row, **who)


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES)
def test_a_sound_engine_breaks_no_law_and_is_judged_whole(seed: int, page_size: int) -> None:
    run = SmallEngine(seed, page_size).play(40).run
    result = run.check(*OWN)
    assert not result.findings
    ends, frees = (sum(line["event"] == name for line in run.lines) for name in ("row_free", "free"))
    assert (result.judged_share, result.checked["OWN-LEAK"], result.checked["OWN-DFREE"]) == (
        1.0,
        ends,
        frees,
    )


@settings(max_examples=15, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES)
def test_the_free_list_is_the_engines_at_every_event(seed: int, page_size: int) -> None:
    engine = SmallEngine(seed, page_size).play(25)
    for seq, free in engine.snapshots[:: 1 + len(engine.snapshots) // 8]:
        ledger = engine.run.fold(seq)
        known = frozenset(free_pages(ledger).tolist())
        assert known == frozenset(page for page in free if page < ledger.main.pages)
        for page in range(1, ledger.main.pages):
            holders = holders_of(ledger, None, page)
            assert holders.free == (page in free)


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES, number=st.integers(0, 4))
def test_a_free_that_is_forgotten_is_a_leak(seed: int, page_size: int, number: int) -> None:
    engine = SmallEngine(seed, page_size)
    engine.forgets = number
    found = [f for f in engine.play(40).run.check(*OWN).findings if f.rule != "OWN-CONSERVE"]
    assert [(f.rule, f.request, set(f.pages or ())) for f in found] == engine.forgotten


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES, data=st.data())
def test_a_free_repeated_is_a_double_free(seed: int, page_size: int, data: st.DataObject) -> None:
    run = SmallEngine(seed, page_size).play(40).run
    frees = [i for i, line in enumerate(run.lines) if line["event"] == "free" and "group" not in line]
    if not frees:
        return
    index = data.draw(st.sampled_from(frees))
    run.lines.insert(index + 1, dict(run.lines[index]))
    first = run.check("OWN-DFREE").findings[0]
    assert first.first_seq == index + 1
    assert set(first.pages or ()) == {slot // page_size for slot in run.lines[index]["slots"]}


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES, data=st.data())
def test_a_row_that_names_a_slot_of_another_is_an_alias(
    seed: int, page_size: int, data: st.DataObject
) -> None:
    engine = SmallEngine(seed, page_size).play(40)
    run = engine.run
    writes = [i for i, line in enumerate(run.lines) if line["event"] == "table_write" and line["slots"]]
    found = [(i, page) for i in writes for page in _foreign(run, i)]
    if not found:
        return
    index, page = data.draw(st.sampled_from(found))
    line = run.lines[index]
    run.lines[index] = line | {"slots": [*line["slots"][:-1], page * page_size]}
    findings = run.check("OWN-ALIAS").findings
    assert findings and findings[0].first_seq == index and findings[0].row == line["row"]


def _foreign(run: Run, index: int) -> list[int]:
    """Pages that another running request alone holds when this event comes."""
    ledger, row = run.fold(index - 1), run.lines[index]["row"]
    found = []
    for page in range(1, ledger.main.pages):
        holders = holders_of(ledger, None, page)
        if holders.rows and not holders.tree and all(holder.row != row for holder in holders.rows):
            found.append(page)
    return found[:2]


@settings(max_examples=40, deadline=None)
@given(seed=SEEDS, page_size=PAGE_SIZES, data=st.data())
def test_a_sound_engine_stays_unsuspected_whatever_is_lost(
    seed: int, page_size: int, data: st.DataObject
) -> None:
    """Any stretch of events may be missing, the beginning too: much is unknown then, nothing is wrong."""
    run = SmallEngine(seed, page_size).play(30).run
    first = data.draw(st.integers(0, len(run.lines)))
    count = data.draw(st.integers(1, 12))
    for number, line in enumerate(run.lines):
        line["seq"] = number
    del run.lines[first : first + count]
    run.head["from_start"] = first > 0
    assert not run.check(*OWN).findings
