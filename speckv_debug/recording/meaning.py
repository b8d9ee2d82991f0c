"""Values that the format gives no meaning: words outside a column's list, negative rows, epochs and steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from speckv_debug.model.text import printable
from speckv_debug.recording.mistake import shown
from speckv_debug.recording.schema import COLUMNS, COMMON

WORDS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "accept": {
        "layout": ("tree", "chain"),
        "sampling": ("greedy", "rejection", "target_only", "simulated"),
    },
    "move": {"target_source": ("table", "window"), "caller": ("accept", "draft_tail", "other")},
    "forward": {"mode": ("extend", "decode", "target_verify", "draft", "draft_extend", "idle")},
    "free_group": {"action": ("begin", "end")},
    "lengths": {
        "cause": (
            "extend", "decode", "spec_prepare", "verify_commit", "session_trim", "session_restore", "retract", "finish",
        )
    },
    "cache": {
        "action": (
            "insert", "match", "evict", "lock", "unlock", "session_save", "session_restore", "session_close", "reset",
        )
    },
    "release": {"kind": ("finish", "retract", "abort", "session_trim")},
    "page_ref": {"action": ("retain", "release")},
    "state_access": {"action": ("read", "write")},
    "transfer": {"action": ("begin", "end")},
}  # fmt: skip
"""Columns whose words decide what an event is, and all words that they may hold."""
COUNTED = ("step", "row", "epoch")
"""Integers that count from zero."""


def strange_values(table: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Columns of one event with a value that has no meaning, and the value."""
    known = WORDS.get(table, {})
    for column, value in row.items():
        if column in known and value not in known[column] or column in COUNTED and value < 0:
            yield column, value


def why_strange(table: str, column: str, value: Any) -> str:
    """What is wrong with such a value."""
    if column in COUNTED:
        return f"{column} {value} of {table} is negative"
    return f"{column} {shown(value)} of {table} is none of {', '.join(WORDS[table][column])}"


def senseless(name: str, table: pa.Table) -> Iterator[tuple[str, str]]:
    """Columns that hold a value without a meaning, and what it is, for people.

    Args:
        name: Of the event table.
        table: Rows of it; a column of `WORDS` that is dictionary-encoded is read only where a code has no meaning.
    """
    for column, known in WORDS.get(name, {}).items():
        for word in sorted(_strange_words(table.column(column), set(known))):
            yield column, strange_word(column, word, known)
    for column in (c for c in COUNTED if c in COMMON or c in COLUMNS[name]):
        least = pc.min(table.column(column)).as_py()
        if least is not None and least < 0:
            yield column, negative_number(column, least)


def strange_word(column: str, word: str, known: Sequence[str]) -> str:
    """A word that nobody knows, for people."""
    return f"{column} '{printable(word)}', which is none of {', '.join(known)}"


def negative_number(column: str, least: int) -> str:
    """The least of the negative numbers of a column that counts from zero, for people."""
    return f"a negative {column}, {least}"


def _strange_words(column: pa.ChunkedArray, known: set[str]) -> set[str]:
    """The words that occur and are not known; a code may stand for a word of other rows of the file."""
    if not pa.types.is_dictionary(column.type):
        return set(column.unique().to_pylist()) - known - {None}
    strange = (chunk for chunk in column.chunks if not known.issuperset(chunk.dictionary.to_pylist()))
    parts = (chunk.dictionary.take(chunk.indices.unique().drop_null()) for chunk in strange)
    return {word for part in parts for word in part.to_pylist()} - known - {None}
