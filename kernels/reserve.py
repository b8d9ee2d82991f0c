"""How much room a speculative decode takes and what a tail gives back: plain integers, no torch.

Lengths are counts of positions, intervals are half-open, `page_size` is the allocator's. Formulas as
in SGLang 0.5.23 `mem_cache.allocation_sizing`; a version that differs is named at the function.
`page_ceil`, `tail_start` and both growths take integer arrays as well and go element by element.
"""

from __future__ import annotations


def page_floor(length: int, page_size: int) -> int:
    """The largest multiple of `page_size` that is not above `length`."""
    return length // page_size * page_size


def page_ceil(length: int, page_size: int) -> int:
    """The smallest multiple of `page_size` that is not below `length`."""
    return -(-length // page_size) * page_size


def pages_between(start: int, end: int, page_size: int) -> int:
    """New pages that growing a row from `start` to `end` positions takes; its own partial page is used first."""
    return (page_ceil(max(start, end), page_size) - page_ceil(start, page_size)) // page_size


def branch_pages(page_size: int, num_steps: int) -> int:
    """Pages that one draft branch may need when its prefix ends anywhere inside a page.

    SGLang `get_alloc_len_per_decode`, the case page > 1 and topk > 1.
    """
    return -(-(page_size - 1 + num_steps) // page_size)


def decode_length(
    *, topk: int, num_steps: int, num_draft_tokens: int, page_size: int, draft_kv: bool = True
) -> int:
    """Positions that one decode round may write (SGLang `get_alloc_len_per_decode`).

    Draft branches are page-padded when a page holds more than one position and the draft is a tree whose KV is
    written (`draft_kv`, not so for NGRAM): each branch gets pages of its own.
    """
    if page_size == 1 or topk == 1 or not draft_kv:
        return max(num_steps * topk, num_draft_tokens)
    return max(branch_pages(page_size, num_steps) * page_size * topk, num_draft_tokens)


def decode_reserve(
    *, topk: int, num_steps: int, num_draft_tokens: int, page_size: int, draft_kv: bool = True
) -> int:
    """Positions kept beyond the committed length: two rounds, as the host may lag one behind the device.

    SGLang `get_alloc_reserve_per_decode`.
    """
    return 2 * decode_length(
        topk=topk,
        num_steps=num_steps,
        num_draft_tokens=num_draft_tokens,
        page_size=page_size,
        draft_kv=draft_kv,
    )


def grown_length(allocated: int, committed: int, reserve: int, page_size: int) -> int:
    """Allocated length after a decode preparation: `max(K, ceil(C + reserve))`, never smaller than before.

    SGLang 0.5.16 and later (`page_aligned_decode_alloc_lens`); see `grown_length_unaligned` for older ones.
    """
    return _longer(allocated, page_ceil(committed + reserve, page_size))


def grown_length_unaligned(allocated: int, committed: int, reserve: int) -> int:
    """The same in SGLang 0.5.12 to 0.5.15, which do not round up to a page."""
    return _longer(allocated, committed + reserve)


def tail_start(length: int, page_size: int) -> int:
    """First position whose page holds nothing of `[0, length)`: where a tail free has to start.

    It may lie beyond the allocated length; then there is nothing to free.
    """
    return page_ceil(length, page_size)


def _longer(first: int, second: int) -> int:
    """`max`, which arrays of integers have not."""
    return first + (second - first) * (second > first)
