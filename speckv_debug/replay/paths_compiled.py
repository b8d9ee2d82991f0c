"""What a step's calls do to accepted rows, beside the paths of verifies that are plain; one pass each, see `VerifyBatch.plain`."""

from __future__ import annotations

import numpy as np

from speckv_debug.replay.compiling import Array, compiled

NULL = -(1 << 63)
BY_TABLE, BY_WINDOW = 1, 2


@compiled
def rows_moving(
    n: Array, origin: Array, index: Array, path: Array, loc: Array, locs: Array, slots: Array, tables: Array
) -> Array:
    """Verifies with an accepted row that is not the k-th of its block and not in place, bool[verifies].

    Args:
        n, origin: int64[verifies], accepted rows, and what `accept_index` calls the root row.
        index, path: Values of `accept_index` and where each list begins; so are the other pairs: `out_cache_loc`, `table_slots`.
    """
    found = np.zeros(len(n), dtype=np.bool_)
    for at in range(len(n)):
        for k in range(n[at]):
            row = index[path[at] + k] - origin[at]
            window = loc[locs[at] + k] if locs[at] + k < locs[at + 1] else NULL
            target = slots[tables[at] + k] if tables[at] + k < tables[at + 1] else NULL
            target = window if target == NULL else target
            source = loc[locs[at] + row] if locs[at] + row < locs[at + 1] else NULL
            found[at] |= row != k and NULL not in (source, target) and source != target
    return found


@compiled
def lists_as_due(
    who: Array, n: Array, origin: Array, index: Array, path: Array, loc: Array, locs: Array, slots: Array, tables: Array,
    src: Array, sources: Array, tgt: Array, targets: Array,
) -> bool:  # fmt: skip
    """Whether each call's list holds what its verifies have to move, pair for pair, and padding behind it.

    Args:
        who: int64[3, instances]: the verify, the call, and where its pairs begin in the call's list.
        src, sources, tgt, targets: Values of the calls' lists and where each begins; the others as of `rows_moving`.
    """
    due = np.zeros(len(sources) - 1, dtype=np.int64)
    for instance in range(who.shape[1]):
        at, call, ways = who[0, instance], who[1, instance], BY_TABLE | BY_WINDOW
        first, second = sources[call] + who[2, instance], targets[call] + who[2, instance]
        if first + n[at] > sources[call + 1] or second + n[at] > targets[call + 1]:
            return False
        due[call] += n[at]
        for k in range(n[at]):
            row = index[path[at] + k] - origin[at]
            if max(row, k) >= locs[at + 1] - locs[at] or src[first + k] != loc[locs[at] + row]:
                return False
            window = loc[locs[at] + k]
            target = slots[tables[at] + k] if tables[at] + k < tables[at + 1] else NULL
            if tgt[second + k] != (window if target == NULL else target):
                ways &= ~BY_TABLE
            if tgt[second + k] != window:
                ways &= ~BY_WINDOW
        if not ways:
            return False
    for call in np.flatnonzero(due):
        real, length = 0, targets[call + 1] - targets[call]
        for place in range(sources[call + 1] - sources[call]):
            padding = src[sources[call] + place] == 0 and place < length and tgt[targets[call] + place] == 0
            real += not padding
        if real != due[call]:
            return False
    return True


@compiled
def compacted_as_due(
    who: Array, n: Array, origin: Array, index: Array, path: Array, predict: Array, predicts: Array, before: Array,
    befores: Array, after: Array, afters: Array,
) -> bool:  # fmt: skip
    """Whether each verify's rows stand in front behind the compaction, and are what the verify predicted.

    Args:
        who: int64[5, instances]: the verify, the compaction, where the verify's block begins before and behind it, and
            whether the tensor is the predictions.
        predict, …: Values of lists and where each begins; `n` to `path` as of `rows_moving`.
    """
    for instance in range(who.shape[1]):
        at, event, block, start = who[0, instance], who[1, instance], who[2, instance], who[3, instance]
        if block < 0 or start < 0:
            return False
        for k in range(n[at]):
            row = index[path[at] + k] - origin[at]
            here, there = befores[event] + block + row, afters[event] + start + k
            if here >= befores[event + 1] or there >= afters[event + 1]:
                return False
            told = who[4, instance] and row < predicts[at + 1] - predicts[at]
            predicted = predict[predicts[at] + row] if told else NULL
            if before[here] == NULL or before[here] != after[there] or predicted not in (NULL, before[here]):
                return False
    return True
