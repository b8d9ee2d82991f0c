"""Whether nothing speaks against any verify of a batch, in one pass: counts, rows, links, tokens and slots; see `VerifyBatch.plain`."""

from __future__ import annotations

from speckv_debug.replay.compiling import Array, compiled, uncounted

NULL = -(1 << 63)
MOST_ROWS = 62
"""Rows of a tree whose links are followed."""


@compiled
def counts_as_told(index: Array, first: int, end: int, n: int, origin: int, width: int) -> bool:
    """The first n entries are distinct rows of the block, its root first; the others are -1."""
    if n < 1 or n > width or n > end - first or index[first] != origin:
        return False
    seen = 0
    for at in range(first, first + n):
        row = index[at] - origin
        if row < 0 or row >= width or seen >> row & 1:
            return False
        seen |= 1 << row
    filled = 0
    for at in range(first + n, end):
        filled += index[at] != -1
    return filled == 0


@compiled
def linked_once(child: Array, sibling: Array, width: int) -> bool:
    """No row is linked to from two others, nor the root from any: each row has one parent at most."""
    seen = 1
    for row in range(width):
        first, second = child[row], sibling[row]
        for to in (first, second):
            if 0 <= to < width:
                if seen >> to & 1:
                    return False
                seen |= 1 << to
    return True


@compiled
def leads(child: Array, sibling: Array, width: int, row: int, following: int) -> bool:
    """Following the links of a row's children, the other row is met."""
    at, steps = child[row], 0
    while 0 <= at < width and steps < width:
        if at == following:
            return True
        at, steps = sibling[at], steps + 1
    return False


@compiled
def tokens_follow(
    path: Array, n: int, origin: int, drafted: Array, chosen: Array, predict: Array, bonus: int, greedy: bool
) -> bool:
    """Each accepted row but the root has the token that was put out before it, the bonus is the last one."""
    for place in range(n):
        row = path[place] - origin
        out = predict[row] if row < len(predict) else NULL
        if place == n - 1:
            return out == bonus
        following = path[place + 1] - origin
        token = drafted[following] if following < len(drafted) else NULL
        choice = chosen[row] if row < len(chosen) else NULL
        if token == NULL or out != token or (greedy and choice != token):
            return False
    return True


@compiled
def same_slots(used: Array, due: Array, width: int) -> bool:
    """The rows write where the request row says."""
    if min(len(used), len(due)) < width:
        return False
    same = 0
    for place in range(width):
        same += due[place] != NULL and used[place] == due[place]
    return same == width


@compiled
def all_plain(
    numbers: Array, flags: Array, present: Array, offsets: Array, lists: tuple[Array, ...], non_draft: int
) -> bool:
    """Whether all verifies are plain.

    Args:
        numbers: int64[5, verifies]: accept_len, num_correct_drafts, width, the root's row, bonus_token.
        flags: bool[2, verifies]: a chain, greedy.
        present, offsets: Of the lists, one row each: bool[8, verifies], int64[8, verifies + 1].
        lists: Values of `verifies.PLAIN_LISTS`, in that order.
        non_draft: Accepted rows that are no drafts.
    """
    index, child, sibling, target = (
        uncounted(lists[0]), uncounted(lists[1]), uncounted(lists[2]), uncounted(lists[3])
    )  # fmt: skip
    predict, drafted, loc, slots = (
        uncounted(lists[4]), uncounted(lists[5]), uncounted(lists[6]), uncounted(lists[7])
    )  # fmt: skip
    for at in range(numbers.shape[1]):
        n, correct, width = numbers[0, at], numbers[1, at], numbers[2, at]
        origin, bonus, chain = numbers[3, at], numbers[4, at], flags[0, at]
        if origin == NULL or bonus == NULL or width < 1 or width > MOST_ROWS or n < non_draft:
            return False
        if correct != NULL and n != correct + non_draft:
            return False
        told = present[0, at] and present[4, at] and present[6, at] and present[7, at]
        if not told or not counts_as_told(index, offsets[0, at], offsets[0, at + 1], n, origin, width):
            return False
        path = index[offsets[0, at] : offsets[0, at] + n]
        if chain:
            for place in range(n):
                if path[place] != origin + place:
                    return False
        else:
            first = child[offsets[1, at] : offsets[1, at + 1]]
            second = sibling[offsets[2, at] : offsets[2, at + 1]]
            if len(first) != width or len(second) != width or not linked_once(first, second, width):
                return False
            for place in range(n - 1):
                if not leads(first, second, width, path[place] - origin, path[place + 1] - origin):
                    return False
        out = predict[offsets[4, at] : offsets[4, at + 1]]
        choices = target[offsets[3, at] : offsets[3, at + 1]] if present[3, at] else out
        tokens = drafted[offsets[5, at] : offsets[5, at + 1]]
        if not tokens_follow(path, n, origin, tokens, choices, out, bonus, flags[1, at]):
            return False
        used, due = loc[offsets[6, at] : offsets[6, at + 1]], slots[offsets[7, at] : offsets[7, at + 1]]
        if not same_slots(used, due, width):
            return False
    return True
