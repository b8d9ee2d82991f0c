"""Small made-up runs for the inspector's tests: the smallest example and what comes before and after it."""

from __future__ import annotations

import dataclasses
import html
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from speckv_debug.errors import UsageError
from speckv_debug.model.events import Accept, Event, Free, Move
from speckv_debug.model.finding import CheckResult, Evidence, Finding, Severity, Unknown
from speckv_debug.model.process import Pool, Process
from speckv_debug.model.verify import VerifyStep
from speckv_debug.recording.jsonl_cut import Cut
from speckv_debug.replay.holders import PageHolders
from speckv_debug.replay.page_map import PageMap
from speckv_debug.replay.pool_series import PoolSeries
from speckv_debug.replay.snapshots import Snapshot
from speckv_debug.replay.verify_details import CompactedTensor, Recomputed
from speckv_debug.viewers.tui.app import InspectorApp
from speckv_debug.viewers.tui.drawn import Drawn
from speckv_debug.viewers.tui.history import LIFE, History, HistoryLine, Question
from speckv_debug.viewers.tui.inspection import Inspection, Law, OnProgress
from speckv_debug.viewers.tui.lookup import StepLookup
from speckv_debug.viewers.tui.moments import Moments
from tests.inspected_pages import small_holders, small_map, small_series, small_state
from tests.smallest import BROKEN_STEP, LABEL, smallest_moves, smallest_step

CELL_WIDTH = 12.2
"""Of a character in a screenshot."""
FIRST_STEP, REQUESTS = 800, ("7", "8", "chat-19")


class SmallRun:
    """`count` verifies of three requests, three to a step, from step 800 on; all look like the smallest."""

    def __init__(self, count: int = 60, *, swapped: bool = True) -> None:
        number = np.arange(count, dtype=np.int64)
        self._swapped = swapped
        self.seq = 100 + 10 * number
        self.step = FIRST_STEP + number // len(REQUESTS)
        self.row = 7 + number % len(REQUESTS)
        self.accept_len = 1 + number * 7 % 4 % 3
        if swapped:
            self.accept_len[(self.step == BROKEN_STEP) & (self.row == 7)] = 3
        self.width = np.full(count, 4, np.int64)
        self.simulated = np.zeros(count, np.bool_)
        self.request = [REQUESTS[i % len(REQUESTS)] for i in range(count)]

    def __len__(self) -> int:
        return len(self.seq)

    def verify(self, index: int) -> VerifyStep:
        n, broken = int(self.accept_len[index]), self._swapped and self.step[index] == BROKEN_STEP
        ran = (42082, 42083) if broken and self.request[index] == "7" else (42083, 42082)
        whole = smallest_step()
        return dataclasses.replace(
            whole,
            seq=int(self.seq[index]),
            step=int(self.step[index]),
            request=self.request[index],
            row=int(self.row[index]),
            accept_len=n,
            new_seq_len=4096 + n,
            accepted=whole.accepted[:n],
            kv_tokens=whole.kv_tokens[:n],
            output_tokens=(*whole.output_tokens[: n - 1], 31),
            moves=smallest_moves(ran=ran)[:n],
        )


WHO = "row 7 epoch 1"
LADDER = (
    HistoryLine(80, 790, "row_alloc", WHO, "", (0, 0)),
    HistoryLine(81, 790, "lengths", WHO, "committed 4096, allocated 4096, extend", (4096, 4096)),
    HistoryLine(90, 811, "reserve", WHO, "committed 4096, allocated 4224", (4096, 4224)),
    HistoryLine(91, 811, "alloc", WHO, "128 slots at position 4224, spec_reserve", (4096, 4352)),
    HistoryLine(460, 812, "accept", WHO, "3 of 4 rows accepted", (4099, 4352)),
    HistoryLine(461, 812, "move", "", "42083 <- 42082, accept", (4099, 4352)),
    HistoryLine(700, None, "row_free", WHO, "finish", (0, 0)),
)
"""The life of request 7, with its committed and allocated lengths behind each event."""


class SmallProcess:
    """A process that was never on disk."""

    def __init__(
        self, steps: SmallRun, label: str = LABEL, tables: tuple[str, ...] = ("accept", "move")
    ) -> None:
        self.label = label
        self._steps = steps
        self.lookup = StepLookup(steps)
        self.info = Process(
            label=label,
            engine="sglang",
            engine_version="0.5.23",
            tables=tables,
            pools=(Pool(name="full", kind="full", page_size=128),),
            settings={"algorithm": "EAGLE", "topk": 2},
        )
        self.span = (100, 100 + 10 * max(1, len(steps)))
        self.events_recorded = 2 * len(steps) + 1

    def events(self, first_seq: int, last_seq: int) -> Iterator[Event]:
        """An accept and a move for each verify, a free at the end."""
        steps = self.lookup.steps
        for i in range(len(steps)):
            seq, step = int(steps.seq[i]), int(steps.step[i])
            if first_seq <= seq <= last_seq:
                yield Accept(
                    seq=seq,
                    step=step,
                    request=steps.request[i],
                    row=int(steps.row[i]),
                    accept_index=(0, 1, 3),
                )
                yield Move(
                    seq=seq + 1, step=step, pool="full", src=(42080, 42081, 42083), tgt=(42080, 42081, 42082)
                )
        if first_seq <= self.span[1] <= last_seq:
            yield Free(
                seq=self.span[1], pool="full", request="8", reason="finish", slots=tuple(range(4224, 4352))
            )

    pools = ("full",)

    def recorded(self, table: str) -> bool:
        return len(self._steps) > 0

    def at_hand(self, index: int) -> Drawn:
        """All of them are."""
        return self.drawn(index)

    def drawn(self, index: int) -> Drawn:
        return Drawn(self._steps.verify(index), self._compacted(index))

    def _compacted(self, index: int) -> tuple[CompactedTensor, ...]:
        """Predictions that arrived, and hidden rows of which the last one did not."""
        rows = (0, 1, 3)[: int(self.lookup.steps.accept_len[index])]
        n, token, print_ = len(rows), (21, 23, 31), (-0x7A10, -0x55B2, -0x3C03)
        wrong = (*print_[: n - 1], -0x9999)
        return (
            CompactedTensor("predict", rows, token[:n], token[:n]),
            CompactedTensor("hidden_states", rows, print_[:n], wrong[:n]),
        )

    def recomputed(self, index: int, on_progress: OnProgress) -> tuple[Recomputed, ...]:
        """The same rows, another length."""
        return (
            Recomputed("accepted rows (greedy tree)", "0 1 3", "0 1 3", True),
            Recomputed("bonus token", "31", "unknown", None),
            Recomputed("new seq_len", "4098", "4099", False),
        )

    def moments(self, on_progress: OnProgress) -> Moments:
        """The steps of its verifies."""
        steps = self.lookup.steps
        at, first = np.unique(steps.step, return_index=True)
        ends = np.append(first[1:], len(steps)) - 1
        return Moments("step", at, steps.seq[ends] + 9)

    def give_up(self) -> None:
        """Nothing takes long."""

    def series(self, on_progress: OnProgress) -> tuple[PoolSeries, ...]:
        """Twenty steps of 64 pages: requests grow, the tree takes over, one page is in conflict from the swapped move on."""
        return (small_series(),) if len(self.lookup) else ()

    def page_map(self, seq: int, pool: str | None, on_progress: OnProgress) -> PageMap:
        """64 pages: two requests, the tree, a session, and from the swapped move on one page with two owners."""
        if pool not in (None, "full"):
            raise UsageError(f"there is no pool {pool}", "Known: full.")
        return small_map(seq)

    def holders(self, seq: int, page: int, pool: str | None) -> PageHolders:
        """Those that the map names."""
        return small_holders(seq, page)

    def state(self, seq: int, on_progress: OnProgress) -> Snapshot:
        """The pool of the map, two running requests, counted pages and a ring."""
        return small_state(self.label, seq)

    def cut(self, first_seq: int, last_seq: int, most: int) -> Cut:
        """The numbers of its events."""
        return Cut("".join(f'{{"seq":{event.seq}}}\n' for event in self.events(first_seq, last_seq)), 0)

    def history(self, question: Question) -> History:
        """Of page 9999 nothing, of pool `none` there is no answer, of all else the events around the swapped move."""
        if question.pool == "none":
            raise UsageError("there is no pool none", "the pools are: full")
        if question.kind == LIFE:
            return History("request 7: 7 events", LADDER)
        if question.about == "9999":
            return History("page 9999 of pool full: 0 events", ())
        lines = (
            HistoryLine(90, 799, "alloc", "7 · row 7 epoch 1", "spec_reserve, slots [42080, 42208)"),
            HistoryLine(460, 812, "accept", "7 · row 7 epoch 1", "row 2 of 4"),
            HistoryLine(461, 812, "move", "", "42083 <- 42082, accept"),
            HistoryLine(700, None, "free", "8", "finish, in common.py:release_kv_cache"),
        )
        return History(f"{question.words} of pool full: 4 events", lines, ("table_write was not recorded",))


def swapped_move(seq: int = 460) -> Finding:
    """The root cause: the last move of request 7 at step 812 ran backwards."""
    table = Evidence(
        title="accepted rows and their slots",
        columns=("k", "token", "verify row", "source", "target", "engine moved"),
        rows=(
            (0, "R 11", 0, 42080, 42080, "42080 <- 42080"),
            (1, "A 21", 1, 42081, 42081, "42081 <- 42081"),
            (2, "C 23", 3, 42083, 42082, "42083 <- 42082"),
        ),
        marked=(2,),
    )
    return Finding(
        rule="MOV-PAIR",
        severity=Severity.ERROR,
        process=LABEL,
        message="the last move runs backwards: C's KV is overwritten by B's, which was rejected",
        step=BROKEN_STEP,
        request="7",
        row=7,
        epoch=1,
        pool="full",
        slots=(42082, 42083),
        expected="42082 <- 42083",
        actual="42083 <- 42082",
        evidence=(table,),
        first_seq=seq,
    )


def consequence(seq: int = 490) -> Finding:
    """What follows from it: the wrong token is read from then on."""
    return Finding(
        rule="LEN-TOKEN",
        severity=Severity.ERROR,
        process=LABEL,
        message="position 4098 holds B, the output says C",
        step=BROKEN_STEP + 1,
        request="7",
        first_seq=seq,
        repeats=391,
        cause=460,
    )


def leak(seq: int = 700) -> Finding:
    """A finding that no verify shows."""
    return Finding(
        rule="OWN-LEAK",
        severity=Severity.WARNING,
        process=LABEL,
        message="2 pages of the finished request 8 have no holder",
        request="8",
        pages=(33, 34),
        first_seq=seq,
    )


def broken() -> CheckResult:
    """Two root causes, one consequence, one rule that had nothing to judge."""
    return CheckResult(
        findings=(swapped_move(), consequence(), leak()),
        unknown=(Unknown(rule="OWN-RACE", why="needs device times: record --level 3", instances=41),),
        checked={"MOV-PAIR": 60, "LEN-TOKEN": 600, "OWN-LEAK": 3},
    )


def clean() -> CheckResult:
    """Everything judged, nothing found."""
    return CheckResult(checked={"MOV-PAIR": 60, "LEN-TOKEN": 600})


LAWS = {
    "MOV-PAIR": Law(
        "Each accepted row's KV moves from its verify slot to the slot of its position.",
        "move_accept_tokens_to_target_kvcache → KVCache.move_kv_cache(tgt_loc, src_loc)",
    )
}


def inspection(
    check: Callable[[], CheckResult] = broken, *processes: SmallProcess, **changes: Any
) -> Inspection:
    """`run.speckv` with one process, unless others are given."""
    return Inspection(
        name=changes.pop("name", "run.speckv"),
        processes=processes or (SmallProcess(SmallRun()),),
        check=lambda told: check(),
        laws=LAWS,
        **changes,
    )


def text_of(app: InspectorApp) -> str:
    """What the screen shows, line by line, without colours."""
    lines: dict[float, str] = {}
    drawn = re.findall(r'<text [^>]*? x="([\d.]+)" y="([\d.]+)"[^>]*>(.*?)</text>', app.export_screenshot())
    for x, y, text in drawn:
        column = round(float(x) / CELL_WIDTH)
        lines[float(y)] = lines.get(float(y), "").ljust(column) + html.unescape(text).replace("\xa0", " ")
    return "\n".join(lines[y].rstrip() for y in sorted(lines))
