"""What the drawings of each planted fault show: the numbers that prove it."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from speckv_debug.model.causes import root_causes, worst_first
from speckv_debug.model.finding import Finding
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.places import RecordedPlaces
from speckv_debug.viewers.html.proof import prove

PROOF: dict[str, tuple[str, ...]] = {
    "stale-accept-tail": ("accept_len 1", "A 29", "1", "✗"),
    "accept-len-one-too-large": ("accept_len 4", "C 50", "-1", "✗"),
    "accept-index-local": ("12", "12…17", "0", "5", "✗"),
    "wrong-sibling-accepted": ("✗ accepted", "target's choice", "14", "50"),
    "bonus-wrong-stride": ("✗ handed on: 24", "60"),
    "addresses-frozen-at-capture": ("98", "66", "103", "71", "✗"),
    "verify-slots-duplicated": ("slot 162", "✗ written 2 times"),
    "prefill-starts-in-the-prefix": ("gone.1 writes", "the prefix tree holds", "slots [12, 16)"),
    "slot-out-of-range": ("✗ slot 406", "ends at 244"),
    "padded-row-writes-live-slots": ("pad 0", "121", "126", "✗ of others"),
    "window-one-page-off": ("slot of swa", "65", "69", "✗"),
    "window-by-the-main-table": ("slot of swa", "30", "38", "✗"),
    "row-too-narrow": ("row ends 60", "✗ reserve up to 64"),
    "move-direction-swapped": ("68", "69", "✗ due C", "p 28"),
    "move-source-shifted": ("131", "133", "✗ due E", "p 23"),
    "move-target-one-late": ("132", "133", "✗ due E", "p 23"),
    "move-one-row-short": ("131", "133", "✗ due E", "p 23"),
    "move-missing": ("68", "69", "✗ due C", "p 28"),
    "move-keys-only": (
        "k of pool full: 3 of 3 pairs moved",
        "✗ v of pool full: 0 of 3 pairs moved, left behind 68 <- 69, 97 <- 98, 164 <- 165",
    ),
    "move-leaves-values": ("69→68", "✗"),
    "move-descending-in-place": ("1. pair 8 writes", "2. pair 9 reads after", "✗ due KV of 210"),
    "hidden-not-compacted": ("row due", "2", "C", "row found", "B", "✗"),
    "predict-left-in-tree-order": ("value due", "60", "0", "✗"),
    "seq-len-without-bonus": ("seq_len 20", "due 24", "✗ new_seq_len 23"),
    "growth-skipped": ("due 55", "due 56", "✗ new allocated 23"),
    "commit-one-short": (
        "due 24",
        "✗ the host says 23",
        "accept · accepted 4",
        "✗ lengths (verify_commit) · committed 23, allocated 52",
    ),
    "late-commit": ("row_free", "✗ lengths (verify_commit) · committed 34, allocated 60"),
    "reserve-of-one-round": ("allocated 39", "✗ written to 40"),
    "root-is-not-the-bonus": ("52", "32", "✗"),
    "draft-chunk-ends-with-a-sample": ("59", "36", "✗"),
    "lengths-frozen-at-capture": ("due 31", "✗ read up to 29"),
    "reserve-wrong-page-size": ("due 90", "due 96", "✗ new allocated 92"),
    "tail-freed-twice": ("✗ free (overshoot) · r1 · slot 86 · releasing.py:free_tail",),
    "locked-node-evicted": ("✗ free (evict) · slots [16, 20) · prefix_tree.py:drop", "✗·"),
    "evicted-node-not-freed": ("✗ the engine counts: 112 of 120 slots, 8 nobody's", "✗!"),
    "freed-duplicates-still-read": ("locked", "row names", "1", "24", "✗"),
    "slot-of-another-request": ("✗ table_write · r1 · slot 26", "✗‼"),
    "session-row-overwritten": ("✗ cache session_restore · talk.2 · slots [24, 32)", "3"),
    "tail-leaked": ("✗!", "26", "31"),
    "tail-freed-inside-a-page": ("page ends 24", "✗ freed from 19"),
    "published-one-late": ("slot in the row", "24", "25", "✗"),
    "row-freed-twice": ("row_free · r0 · epoch 1", "✗ row_free · r0 · epoch 1"),
    "trim-keeps-the-surplus": ("at most 19", "✗ committed 21"),
    "draft-prefill-skipped": ("✗ no draft KV from 0", "read up to 16"),
    "window-evicted-early": ("evict at most to 20", "✗ evicted up to 28"),
    "peer-one-page-off": ("full slot 36", "peer 32", "✗ two full slots, one peer"),
    "clear-missing": ("113", "neutral", "112", "✗"),
    "clear-one-early": ("111", "kept", "cleared", "✗"),
    "clear-one-late": ("117", "kept", "cleared", "✗"),
    "clear-counts-drafts": ("111", "kept", "cleared", "✗"),
    "chain-commits-rejected-states": ("neutral", "123", "✗"),
    "recurrent-state-of-another-row": ("row 4 due", "✗ row 1 kept"),
    "share-not-counted": (
        "tree:3 retain · tree:3 has 1 · engine counts 2",
        "✗ no reference of the row when the page is used",
    ),
    "reference-released-twice": ("✗ row:4 release · row:4 has -1 · engine counts 0",),
    "replace-frees-a-moved-page": ("✗ row:3 retain · row:3 has 1 · engine counts 1",),
    "sidecar-row-not-zeroed": ("✗ row 4 has ended and its sidecar still names page 1",),
    "page-freed-by-accept-len": ("✗ page 2 goes to the free list while 1 reference to it is left",),
    "index-left-behind": ("✗ index_key of pool indexer: 0 of 1 pairs moved, left behind 559 <- 560",),
    "ring-not-emptied": ("ring write · r2 · epoch 1", "✗ ring read, not emptied before · talk.1 · epoch 2"),
    "window-not-moved": (
        "k of pool full: 5 of 5 pairs moved",
        "✗ k of pool swa: 0 of 5 pairs moved, left behind 527 <- 528, 528 <- 530, 558 <- 5…",
    ),
}
"""Fault → texts in the drawings of its first root cause."""
PLACED: dict[str, tuple[str, ...]] = {
    "stale-accept-tail": (
        "A wrong",
        "accept_len 1 at 1: -1",
        "verify row at 1: A 29",
        "accept_index at 1: 1",
        "✗ at 1",
    ),
    "accept-len-one-too-large": ("accept_len 4 at 3: a row", "accept_index at 3: -1", "✗ at 3"),
    "accept-index-local": ("due at 1: 12…17", "accept_index at 1: 1", "✗ at 0", "✗ at 3"),
    "wrong-sibling-accepted": ("verify row at 2: D 14", "accept_index at 2: 22", "✗ at 2"),
    "addresses-frozen-at-capture": ("slot due at 26: 98", "slot used at 26: 66", "✗ at 26"),
    "verify-slots-duplicated": ("R → 162 wrong", "A → 162 wrong", "B → 164 ran"),
    "prefill-starts-in-the-prefix": ("gone.1 writes → slots [12, 16) wrong",),
    "slot-out-of-range": ("R → 406 wrong", "plain [163, 244)"),
    "padded-row-writes-live-slots": ("pad 0 → 121 wrong", "pad 5 → 126 wrong"),
    "row-too-narrow": ("due [56, 60)", "wrong [60, 64)"),
    "move-direction-swapped": ("KV p 27: A accepted", "KV p 28: B wrong", "69 → 68 due", "68 → 69 wrong"),
    "move-source-shifted": ("131 → 130 ran", "133 → 131 due", "132 → 131 wrong"),
    "move-target-one-late": ("131 → 130 ran", "133 → 131 due", "133 → 132 wrong"),
    "move-one-row-short": ("131 → 130 ran", "133 → 131 due"),
    "move-missing": ("69 → 68 due",),
    "move-leaves-values": ("69 → 68 lost", "KV p 28: C wrong", "✗ at 69→68", "✗ at 98→97", "✗ at 165→164"),
    "move-descending-in-place": ("212 → 210 ran", "210 → 209 wrong"),
    "hidden-not-compacted": ("row due at 2: C", "row found at 2: B", "✗ at 2"),
    "predict-left-in-tree-order": ("value due at 2: 60", "value found at 2: 0", "✗ at 2"),
    "seq-len-without-bonus": ("KV p 23: – wrong", "due [20, 24)", "plain [16, 23)", "missing [23, 24)"),
    "growth-skipped": ("due [0, 56)", "missing [23, 55)"),
    "commit-one-short": (
        "KV p 22: C accepted",
        "KV p 23: – wrong",
        "4. no band: step 5 ✗ lengths (verify_commit) · committed 23, allocated 52",
        "due [20, 24)",
        "plain [16, 23)",
        "missing [23, 24)",
    ),
    "reserve-of-one-round": ("reserve [30, 39)", "wrong [39, 40)", "slot written at 39: 0"),
    "root-is-not-the-bonus": ("token handed on at 23: 52", "token written at 23: 32", "✗ at 23"),
    "draft-chunk-ends-with-a-sample": ("token due at 15: 59", "token computed at 15: 36", "✗ at 15"),
    "lengths-frozen-at-capture": ("due [21, 31)", "plain [21, 29)", "missing [29, 31)"),
    "reserve-wrong-page-size": ("due [0, 96)", "reserve [0, 92)", "wrong [88, 92)"),
    "freed-duplicates-still-read": ("locked at 0: 1", "row names at 0: 24", "✗ at 0"),
    "tail-leaked": (
        "page 24 at the event: ↩ r1",
        "page 26 at the event: ✗! r1",
        "page 24 end of the step: T",
        "committed [0, 29)",
        "due [32, 60)",
    ),
    "tail-freed-inside-a-page": ("committed [0, 19)", "wrong [19, 80)"),
    "published-one-late": ("slot in the row at 20: 24", "slot in the tree at 20: 25", "✗ at 20"),
    "trim-keeps-the-surplus": ("due [15, 19)", "plain [15, 21)", "wrong [19, 21)"),
    "draft-prefill-skipped": ("missing [0, 16)",),
    "window-evicted-early": ("due [20, 28)", "wrong [20, 28)"),
    "peer-one-page-off": ("full slot 36 → peer 32 wrong", "full slot 32 → peer 32 wrong"),
    "window-by-the-main-table": (
        "slot of swa at 30: 30",
        "slot used (by the table of full) at 30: 38",
        "✗ at 30",
    ),
    "window-one-page-off": (
        "slot of swa at 25: 65",
        "slot used (by no recorded table) at 25: 69",
        "✗ at 25",
    ),
    "clear-missing": ("wanted at 113: neutral", "stored at 113: 112", "✗ at 113"),
    "clear-one-early": ("due at 111: kept", "engine at 111: cleared", "✗ at 111"),
    "clear-one-late": ("due at 117: kept", "engine at 117: cleared", "✗ at 117"),
    "clear-counts-drafts": ("due at 111: kept", "engine at 111: cleared", "✗ at 111"),
    "chain-commits-rejected-states": ("wanted at 123: neutral", "stored at 123: 123", "✗ at 123"),
    "late-commit": (
        "KV p 32: R wrong",
        "KV p 33: B wrong",
    ),
    "move-keys-only": (
        "69 → 68 lost",
        "KV p 28: C wrong",
        "k of pool full: tree 3",
        "✗ v of pool full: missing 3",
    ),
    "share-not-counted": (
        "page 5 at the event: g",
        "3. held: step 16 ✗ no reference of the row when the page is used",
    ),
    "tail-freed-twice": (
        "3. free: step 9 free (overshoot) · r1 · slot 86 · releasing.py:free_tail",
        "4. free: step 9 ✗ free (overshoot) · r1 · slot 86 · releasing.py:free_tail",
    ),
    "locked-node-evicted": (
        "3. tree: step 1 cache insert · r0 · slots [16, 20)",
        "6. free: step 5 ✗ free (evict) · slots [16, 20) · prefix_tree.py:drop",
        "page 4 at the event: ✗·",
    ),
    "evicted-node-not-freed": (
        "✗ the events leave: free 8, tree 28, held 76, missing 8",
        "page 4 end of the step: ✗! r0",
    ),
    "slot-of-another-request": (
        "page 6 at the event: ✗‼ r0",
        "5. held: step 5 ✗ table_write · r1 · slot 26",
    ),
    "session-row-overwritten": ("8. held: step 21 ✗ cache session_restore · talk.2 · slots [24, 32)",),
    "row-freed-twice": (
        "2. free: step 6 row_free · r0 · epoch 1",
        "3. free: step 6 ✗ row_free · r0 · epoch 1",
    ),
    "bonus-wrong-stride": ("output 3: X wrong",),
}
"""Fault → what those drawings say by where things stand, see `read_drawing`."""
TEXT = re.compile("<text[^>]*>(.*?)</text>", re.DOTALL)


def drawings(recording: Recording, findings: Sequence[Finding]) -> str:
    """The drawings of the first root cause."""
    first = worst_first(root_causes(findings))[0].finding
    return prove(first, RecordedPlaces(recording).of(first))


def texts(drawn: str) -> set[str]:
    """All texts in drawings."""
    return {html.unescape(said) for said in TEXT.findall(drawn)}
