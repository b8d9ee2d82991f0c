"""The faults that can be switched on; standard library only, so that listing them costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from speckv_debug.collectors.reference.config import ModelShape


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One planted fault.

    Attributes:
        name: What `--fault` takes.
        rule: The rule that must find it, as a root cause.
        sentence: What the engine does wrong.
        corrupts: Whether output tokens or committed KV of the demo's run come out wrong, as its plain run proves.
        setup: Settings of `EngineConfig` without which the fault has no occasion.
    """

    name: str
    rule: str
    sentence: str
    corrupts: bool = False
    setup: Mapping[str, Any] = field(default_factory=dict)


def _wrong(name: str, rule: str, sentence: str, **setup: Any) -> Fault:
    return Fault(name=name, rule=rule, sentence=sentence, corrupts=True, setup=setup)


def _silent(name: str, rule: str, sentence: str, **setup: Any) -> Fault:
    return Fault(name=name, rule=rule, sentence=sentence, setup=setup)


STATEFUL: dict[str, Any] = {
    "slots": 1200,
    "context_len": 300,
    "max_prefill_tokens": 128,
    "window": 16,
    "compressed": True,
    "recurrent": True,
    "draft_noise": 0.02,
    "shape": ModelShape(layers=4),
}
"""The engine as DeepSeek-V4 has it."""

FAULTS: tuple[Fault, ...] = (
    _silent(
        "stale-accept-tail",
        "ACC-COUNT",
        "accept_index is not refilled with -1, so a row of the round before stands behind the accepted path",
    ),
    _wrong(
        "accept-len-one-too-large",
        "ACC-COUNT",
        "accept_len counts a draft that was not accepted",
    ),
    _wrong(
        "accept-index-local",
        "ACC-BLOCK",
        "accept_index of a later request lacks the offset of its block and names rows of the first request",
    ),
    _wrong(
        "wrong-sibling-accepted",
        "ACC-CHAIN",
        "the last accepted row is replaced by its sibling, whose token the target did not choose",
    ),
    _wrong(
        "bonus-wrong-stride",
        "ACC-SHIFT",
        "the bonus is read from compacted predictions with the index width as stride, where blocks are wider",
    ),
    _wrong(
        "addresses-frozen-at-capture",
        "LOC-ROW",
        "a replayed verify writes to the slots that its static buffer held in the round before",
    ),
    _wrong(
        "verify-slots-duplicated",
        "LOC-UNIQ",
        "two rows of one verify window are written to the same slot",
    ),
    _silent(
        "prefill-starts-in-the-prefix",
        "LOC-OWNED",
        "a prompt is computed from one page too early on and overwrites a page that others share through the tree",
    ),
    _wrong(
        "slot-out-of-range",
        "LOC-RANGE",
        "the root row is written to a slot behind the end of the pool",
    ),
    _wrong(
        "padded-row-writes-live-slots",
        "LOC-PAD",
        "the padding of a captured batch keeps the addresses of a larger batch and overwrites live KV",
    ),
    _wrong(
        "row-too-narrow",
        "LOC-WIDTH",
        "rows of req_to_token have no room for the reserve: a long request's row runs into its neighbour",
        context_len=56,
        row_headroom=4,
    ),
    _wrong(
        "move-direction-swapped",
        "MOV-PAIR",
        "source and target of the mover change places: the accepted row is overwritten by a rejected one",
    ),
    _wrong(
        "move-source-shifted",
        "MOV-PAIR",
        "the last accepted row of a request is copied from the row next to it",
    ),
    _wrong(
        "move-target-one-late",
        "MOV-PAIR",
        "the last accepted row of a request is copied one position too far",
    ),
    _wrong(
        "move-one-row-short",
        "MOV-PAIR",
        "the mover gets one pair less than a request accepted rows",
    ),
    _wrong(
        "move-missing",
        "MOV-MISSING",
        "accepted rows that are no prefix of the window are not moved before the next round reads them",
    ),
    _wrong(
        "move-keys-only",
        "MOV-ALLPOOLS",
        "the mover is called for the keys of accepted rows, their values stay in tree order",
    ),
    _wrong(
        "move-leaves-values",
        "MOV-CONTENT",
        "the mover is called for keys and values, but copies the keys alone",
    ),
    _wrong(
        "move-descending-in-place",
        "MOV-HAZARD",
        "pairs are copied one by one from the last to the first, so a target is overwritten before it is read",
    ),
    _silent(
        "hidden-not-compacted",
        "MOV-COMPACT",
        "KV and predictions are brought to the front, the hidden states stay in tree order",
    ),
    _wrong(
        "predict-left-in-tree-order",
        "MOV-COMPACT",
        "KV and hidden states are brought to the front, the predictions stay in tree order",
    ),
    _wrong(
        "seq-len-without-bonus",
        "LEN-SEQ",
        "the device's sequence length grows by the accepted drafts, one less than the accepted rows",
    ),
    _wrong(
        "growth-skipped",
        "LEN-ALLOC",
        "a request is passed over whenever room is made, until it commits more than it has allocated",
    ),
    _silent(
        "commit-one-short",
        "LEN-COMMIT",
        "the host commits one position less than the request accepted rows",
    ),
    _silent(
        "late-commit",
        "LEN-STALE",
        "the result that was in flight when a request ended is committed to its closed row",
        overlap=True,
    ),
    _wrong(
        "reserve-of-one-round",
        "LEN-REACH",
        "room is made for one verify although another is in flight: rows are written behind the allocated length",
        overlap=True,
        page_size=1,
        slots=320,
    ),
    _wrong(
        "root-is-not-the-bonus",
        "LEN-TOKEN",
        "a round starts from the output token before the bonus that was just sampled",
    ),
    _silent(
        "draft-chunk-ends-with-a-sample",
        "LEN-TOKEN",
        "at the end of a chunk the draft stores a token that the target would say, not the prompt's next one",
        max_prefill_tokens=16,
    ),
    _wrong(
        "lengths-frozen-at-capture",
        "LEN-READ",
        "a replayed verify attends with the lengths that its static buffer held in the round before",
    ),
    _silent(
        "reserve-wrong-page-size",
        "LEN-ALLOC",
        "the allocated length is rounded up to half of the allocator's page",
        page_size=8,
        slots=320,
    ),
    _wrong(
        "tail-freed-twice",
        "OWN-DFREE",
        "the reserve behind a finished request is freed again, so its slots are handed out twice",
        page_size=1,
        slots=160,
    ),
    _wrong(
        "locked-node-evicted",
        "OWN-PAGESAFE",
        "eviction takes a tree node that a running request still reads",
        slots=120,
    ),
    _silent(
        "evicted-node-not-freed",
        "OWN-CONSERVE",
        "eviction drops a tree node and forgets to give its slots back",
        slots=120,
    ),
    _silent(
        "freed-duplicates-still-read",
        "OWN-CONSERVE",
        "a request's own copy of a cached prefix is freed, its row goes on naming the freed slots",
        page_size=1,
        max_prefill_tokens=64,
    ),
    _wrong(
        "slot-of-another-request",
        "OWN-ALIAS",
        "a request's row gets a slot of another request instead of its own",
    ),
    _wrong(
        "session-row-overwritten",
        "OWN-ORPHAN",
        "a session's next turn writes new slots over the last page that its row kept, whose slots nobody frees",
        page_size=8,
        slots=320,
    ),
    _silent(
        "tail-leaked",
        "OWN-LEAK",
        "the reserve behind a finished request is not freed",
    ),
    _wrong(
        "tail-freed-inside-a-page",
        "OWN-PAGESAFE",
        "a session's trim frees from the text's end on, not from the next page on",
        page_size=8,
        slots=320,
    ),
    _silent(
        "published-one-late",
        "OWN-PUBLISH",
        "a finished request gives the tree its slots from position 1 on, for a key that begins at position 0",
    ),
    _wrong(
        "row-freed-twice",
        "OWN-ROW",
        "the row of a finished request is given back again, so two requests get the same row",
    ),
    _wrong(
        "trim-keeps-the-surplus",
        "OWN-TRIM",
        "a session's trim still counts the tokens behind the text as committed, and the next turn goes on behind them",
        overlap=True,
        page_size=8,
        slots=320,
    ),
    _silent(
        "draft-prefill-skipped",
        "ST-DRAFT",
        "the draft model is not run over the first chunk of a prompt, and drafts from KV that is not there",
        max_prefill_tokens=16,
    ),
    _wrong(
        "window-evicted-early",
        "ST-SWA",
        "slots of a request's sliding window are given up while its next round still attends to them",
        window=8,
    ),
    _wrong(
        "peer-one-page-off",
        "OWN-MAP",
        "the mapping names the page of the sliding-window pool next to the one that was granted",
        window=8,
    ),
    _wrong(
        "window-by-the-main-table",
        "LOC-GROUP",
        "a verify writes the sliding-window layers of a request to the slots of its row, not to their peers",
        window=8,
    ),
    _wrong(
        "window-one-page-off",
        "LOC-GROUP",
        "a verify writes the sliding-window layers of a request one page behind its peers, by a translation of its own",
        window=8,
    ),
    _wrong(
        "clear-missing",
        "ST-RING",
        "rejected drafts are left in the ring of C128, and the next verify compresses them",
        **STATEFUL,
    ),
    _wrong(
        "clear-one-early",
        "ST-C128",
        "the clear of rejected drafts begins and ends one row early: the last accepted state is lost",
        **STATEFUL,
    ),
    _silent(
        "clear-one-late",
        "ST-C128",
        "the clear of rejected drafts begins and ends one row late, behind the first rejected row",
        **STATEFUL,
    ),
    _wrong(
        "clear-counts-drafts",
        "ST-C128",
        "the clear keeps as many rows as drafts were accepted, though the root is a row too",
        **STATEFUL,
    ),
    _wrong(
        "chain-commits-rejected-states",
        "ST-RING",
        "a chain that commits by prefix writes the states of the whole verify window",
        **STATEFUL | {"drafting": "dspark", "topk": 1, "num_draft_tokens": 4},
    ),
    _wrong(
        "index-left-behind",
        "MOV-ALLPOOLS",
        "keys and values of accepted rows are moved, the indexer's keys stay in tree order",
        **STATEFUL | {"indexed": 24},
    ),
    _wrong(
        "window-not-moved",
        "MOV-ALLPOOLS",
        "accepted rows are moved in the layers with all positions, their peers in the window's pool stay behind",
        **STATEFUL,
    ),
    _wrong(
        "recurrent-state-of-another-row",
        "ST-MAMBA",
        "the recurrent state behind the last accepted row but one is kept",
        **STATEFUL,
    ),
    _silent(
        "share-not-counted",
        "OWN-REF",
        "a request that shares a prefix names its pages of C128 KV without taking a reference",
        **STATEFUL,
    ),
    _silent(
        "reference-released-twice",
        "OWN-REF",
        "the end of a request gives up its references to pages of C128 KV twice",
        **STATEFUL,
    ),
    _silent(
        "replace-frees-a-moved-page",
        "OWN-REF",
        "pages that only change their place in a sidecar row are released before they are retained, and go back",
        **STATEFUL,
    ),
    _silent(
        "sidecar-row-not-zeroed",
        "OWN-REF",
        "the sidecar row of an ended request goes on naming pages, for whoever gets the row next",
        **STATEFUL,
    ),
    _silent(
        "ring-not-emptied",
        "OWN-REF",
        "the ring of C128 state of an ended request is not emptied: whoever gets the row compresses what is there",
        **STATEFUL,
    ),
    _wrong(
        "page-freed-by-accept-len",
        "OWN-REF",
        "a verify frees the page of C128 KV behind what it accepted, though the row still holds it",
        **STATEFUL,
    ),
)

HARMLESS: tuple[Fault, ...] = (
    Fault(
        name="clears-also-what-is-overwritten",
        rule="",
        sentence="the clear of rejected drafts empties C4 too, which overwrites them before it reads: no harm, no finding",
        setup=STATEFUL,
    ),
)
"""What looks like a fault and is none: `--fault` takes them, and `check` finds nothing."""


def fault_named(name: str) -> Fault | None:
    """The fault of that name, or None."""
    return next((fault for fault in (*FAULTS, *HARMLESS) if fault.name == name), None)
