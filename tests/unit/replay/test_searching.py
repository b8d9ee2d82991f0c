"""Events before and behind others, and numbers of keys, beside lists and dictionaries."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.replay import numbering, worthwhile
from speckv_debug.replay.numbering import numbered
from speckv_debug.replay.ragged import NULL
from speckv_debug.replay.searching import NEVER, first_of, first_with, latest_of, latest_with

SEQ = st.one_of(st.integers(-2, 9), st.just(NEVER))
KEYS = st.lists(st.tuples(st.sampled_from((NULL, -1, 0, 3, 1 << 40)), st.integers(0, 2)), max_size=12)
EVENTS = st.lists(st.tuples(st.integers(-1, 3), st.integers(0, 9)), max_size=30)
QUESTIONS = st.lists(st.tuples(st.integers(-1, 3), SEQ), max_size=30)
Pairs = list[tuple[int, int]]


def columns(pairs: Pairs) -> tuple[np.ndarray, np.ndarray]:
    first, second = ([pair[at] for pair in pairs] for at in (0, 1))
    return np.array(first, dtype=np.int64), np.array(second, dtype=np.int64)


def nearest(events: Pairs, question: tuple[int, int], which: list[bool], *, behind: bool) -> int:
    """The place of the event, by trying all; of several with one `seq` the one that lies nearest in the list."""
    number, bound = question
    found = [
        (seq, at)
        for at, (own, seq) in enumerate(events)
        if own == number >= 0 and which[at] and (seq > bound if behind else seq < bound)
    ]
    return -1 if not found else (min(found) if behind else max(found))[1]


@settings(max_examples=150, deadline=None)
@given(EVENTS, QUESTIONS, st.sampled_from((0, 1 << 60)))
def test_the_nearest_event_is_the_one_that_a_scan_finds(
    events: Pairs, questions: Pairs, compiled_from: int
) -> None:
    which = [bool((at * 7 + seq) % 3) for at, (_, seq) in enumerate(events)]
    every = [True] * len(events)
    own, asked = columns(events), columns(questions)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worthwhile, "COMPILED_FROM", compiled_from)
        assert latest_of(own, asked, 4, np.array(which, dtype=np.bool_)).tolist() == [
            nearest(events, question, which, behind=False) for question in questions
        ]
        assert first_of(own, asked, 4).tolist() == [
            nearest(events, question, every, behind=True) for question in questions
        ]
        keys, wanted = ((part[0], part[0] % 2) for part in (own, asked))
        shifted = [(number + 1, seq) for number, seq in events], [(n + 1, seq) for n, seq in questions]
        assert latest_with(keys, own[1], wanted, asked[1]).tolist() == [
            nearest(shifted[0], question, every, behind=False) for question in shifted[1]
        ]
        assert first_with(keys, own[1], wanted, asked[1]).tolist() == [
            nearest(shifted[0], question, every, behind=True) for question in shifted[1]
        ]


@given(KEYS, st.sampled_from((0, 16)))
def test_numbers_of_keys_are_their_ranks(pairs: list[tuple[int, int]], roomy: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numbering, "ROOMY", roomy)
        found = numbered(np.stack(columns(pairs)))
    ranks = {pair: rank for rank, pair in enumerate(sorted(set(pairs)))}
    assert found.tolist() == [ranks[pair] for pair in pairs]


def test_keys_that_fit_into_no_number_are_ranked_as_well() -> None:
    wide = [(-(1 << 62), 0), (1 << 62, NULL), (-(1 << 62), NULL), (1 << 62, NULL)]
    assert numbered(np.stack(columns(wide))).tolist() == [1, 2, 0, 2]
