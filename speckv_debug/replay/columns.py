"""One event table as NumPy columns: integers with NULL for absent, texts as codes, lists as `Ragged`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from speckv_debug.recording.arrays import filled, fixed_array, flags, numbers, words
from speckv_debug.replay.ragged import NULL, Int64s, Mask, Ragged, frozen, starts
from speckv_debug.replay.worthwhile import worth_compiling


@dataclass(frozen=True, slots=True)
class Texts:
    """A text column: `names[codes[i]]`, absent where the code is -1; every name occurs."""

    codes: npt.NDArray[np.int32]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __getitem__(self, index: int) -> str | None:
        code = int(self.codes[index])
        return None if code < 0 else self.names[code]

    def equal(self, *texts: str) -> Mask:
        """Where the text is one of `texts`."""
        wanted = [code for code, name in enumerate(self.names) if name in texts]
        if len(wanted) == 1:
            return np.asarray(self.codes == wanted[0])
        found: Mask = np.zeros(len(self.names) + 1, dtype=np.bool_)
        found[wanted] = True
        return found[self.codes]  # -1, absent, is the last entry

    def numbered(self, of: Mapping[str, int], absent: int = -1) -> Int64s:
        """The number of each text, -1 of one that has none, `absent` where there is no text."""
        found: Int64s = np.array([*(of.get(name, -1) for name in self.names), absent], dtype=np.int64)
        return found[self.codes]  # -1, absent, is the last entry

    @property
    def used(self) -> set[str]:
        """The texts that occur."""
        return set(self.names)

    @property
    def known(self) -> Mask:
        """Where there is a text."""
        return self.codes >= 0


class Columns:
    """The columns of one table of one process, in the order of `seq`; each is converted once."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._names = frozenset(table.column_names)
        self._cache: dict[str | tuple[str, str], Any] = {}

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def has(self, name: str) -> bool:
        """Whether the table has such a column."""
        return name in self._names

    def ints(self, name: str) -> Int64s:
        """An integer column as int64, NULL where absent."""
        found: Int64s = self._cached(name, _ints)
        return found

    def floats(self, name: str) -> tuple[npt.NDArray[np.float64], Mask]:
        """A column of floats as float64, and where there is a value."""
        found: tuple[npt.NDArray[np.float64], Mask] = self._cached(name, _floats)
        return found

    def flags(self, name: str) -> Int64s:
        """A boolean column as 1, 0, or NULL where absent."""
        return self.ints(name)

    def texts(self, name: str) -> Texts:
        """A text column."""
        found: Texts = self._cached(name, _texts)
        return found

    def lists(self, name: str) -> Ragged:
        """A column of integer lists."""
        if name not in self._cache:
            self._cache[name] = _widened(self.native(name))
        found: Ragged = self._cache[name]
        return found

    def native(self, name: str) -> Ragged:
        """The same with values as wide as the column has them, for compiled code: mostly nothing is copied."""
        found: Ragged = self._cached(("native", name), _lists)
        return found

    def absent(self, name: str) -> Mask:
        """Where a column has no value."""
        lists: Ragged | None = self._cache.get(("native", name))
        if lists is not None:
            return ~lists.present
        found: Mask = self._cached(("absent", name), _absent)
        return found

    def text_lists(self, name: str) -> tuple[Texts, Int64s, Mask]:
        """A column of text lists: all texts, the list that each belongs to, and where there is a list."""
        found: tuple[Texts, Int64s, Mask] = self._cached(("texts", name), _text_lists)
        return found

    def strings(self, name: str, index: int) -> tuple[str, ...] | None:
        """One value of a column of text lists."""
        if ("strings", name) not in self._cache:
            self._cache["strings", name] = self._column(name)
        value = self._cache["strings", name][index].as_py()
        return None if value is None else tuple(value)

    def int_at(self, name: str, index: int) -> int | None:
        """One value of an integer column, None where absent or where the table has no such column."""
        if not self.has(name):
            return None
        value = int(self.ints(name)[index])
        return None if value == NULL else value

    def text_at(self, name: str, index: int) -> str | None:
        """One value of a text column, None where absent or where the table has no such column."""
        return self.texts(name)[index] if self.has(name) else None

    def _cached(self, key: str | tuple[str, str], convert: Any) -> Any:
        if key not in self._cache:
            self._cache[key] = convert(self._column(key if isinstance(key, str) else key[1]))
        return self._cache[key]

    def _column(self, name: str) -> Any:
        """The column as Arrow has it; it is asked for once."""
        return self._table.column(name)


def _ints(column: Any) -> Int64s:
    array = _array(column)
    if not array.null_count and pa.types.is_integer(array.type):
        return np.asarray(numbers(array), dtype=np.int64)
    return np.asarray(filled(pc.cast(array, pa.int64()), NULL), dtype=np.int64)


def _floats(column: Any) -> tuple[npt.NDArray[np.float64], Mask]:
    array = _array(column)
    known = ~_flags(array.is_null())
    return np.asarray(numbers(pc.fill_null(array, 0.0)), dtype=np.float64), known


def _texts(column: Any) -> Texts:
    if pa.types.is_dictionary(column.type):
        return _coded(column.chunks if isinstance(column, pa.ChunkedArray) else [column])
    array = _array(column).dictionary_encode()
    return Texts(_codes(array), tuple(words(array.dictionary)))


def _coded(chunks: Sequence[Any]) -> Texts:
    """Texts whose codes may be those of whole files, one of its own a chunk: names that don't occur are left out."""
    number: dict[str, int] = {}
    parts = [np.empty(0, dtype=np.int32)]
    for chunk in chunks:
        codes, names = _codes(chunk), words(chunk.dictionary)
        known = np.full(len(names) + 1, -1, dtype=np.int32)
        occurring = _occurring(codes, len(names))
        known[occurring] = numbers_in([names[code] for code in occurring.tolist()], number)
        same = bool((known[:-1] == np.arange(len(names))).all())
        parts += [codes if same else known[codes]] if len(codes) else []
    return Texts(parts[1] if len(parts) == 2 else np.concatenate(parts), tuple(number))


def numbers_in(names: Sequence[str], known: dict[str, int]) -> list[int]:
    """The number of each name; those that have none yet get the next ones."""
    fresh = [name for name in dict.fromkeys(names) if name not in known]
    known.update(zip(fresh, range(len(known), len(known) + len(fresh)), strict=True))
    return [*map(known.__getitem__, names)]


def _occurring(codes: npt.NDArray[np.int32], count: int) -> Int64s:
    """Which of the codes `[0, count)` occur, in the order in which they first do; -1, absent, is none."""
    if worth_compiling(len(codes)):
        from speckv_debug.replay.gathering import occurring

        return np.asarray(occurring(frozen(codes), count), dtype=np.int64)
    found, first = np.unique(codes, return_index=True)
    ordered = np.asarray(found[np.argsort(first)], dtype=np.int64)
    return ordered[ordered >= 0]


def _codes(array: Any) -> npt.NDArray[np.int32]:
    return np.asarray(filled(array.indices, -1), dtype=np.int32)


def _widened(lists: Ragged) -> Ragged:
    if lists.values.dtype == np.int64:
        return lists
    return Ragged(lists.values.astype(np.int64), lists.offsets, lists.present)


def _lists(column: Any) -> Ragged:
    """Lists of integers of whatever width."""
    array = _told(_array(column))
    present = ~_flags(array.is_null()) if array.null_count else np.ones(len(array), dtype=np.bool_)
    offsets, values = _offsets(array), array.values
    if (
        array.null_count and (np.diff(offsets)[~present] != 0).any()
    ):  # a list that is not there still has items
        lengths = np.asarray(filled(pc.list_value_length(array), 0), dtype=np.int64)
        return Ragged(_integers(array.flatten()), starts(lengths), present)
    inside = values.slice(offsets[0], offsets[-1] - offsets[0])
    return Ragged(_integers(inside), offsets - offsets[0], present)


def _integers(array: Any) -> Int64s:
    """Integers of whatever width; anything else as int64, NULL where absent."""
    plain = not array.null_count and pa.types.is_integer(array.type)
    return numbers(array) if plain else _ints(array)


def _offsets(lists: Any) -> Int64s:
    """Where each list begins and the last one ends in `lists.values`."""
    if not len(lists):
        return np.zeros(1, dtype=np.int64)
    made = np.frombuffer(lists.buffers()[1], dtype=np.int32)
    return made[lists.offset : lists.offset + len(lists) + 1].astype(np.int64)


def _text_lists(column: Any) -> tuple[Texts, Int64s, Mask]:
    array = _told(_array(column))
    lengths = np.asarray(filled(pc.list_value_length(array), 0), dtype=np.int64)
    owners = np.repeat(np.arange(len(array), dtype=np.int64), lengths)
    return _texts(array.flatten()), owners, ~_flags(array.is_null())


def _absent(column: Any) -> Mask:
    array = _array(column)
    array = _told(array) if pa.types.is_list(array.type) else array
    return _flags(array.is_null()) if array.null_count else np.zeros(len(array), dtype=np.bool_)


def _told(lists: Any) -> Any:
    """The lists; one of which an item is not known is as good as none (no recorder writes such a list)."""
    items = lists.flatten()
    if not items.null_count:
        return lists
    lengths = np.asarray(filled(pc.list_value_length(lists), 0), dtype=np.int64)
    owners = np.repeat(np.arange(len(lists), dtype=np.int64), lengths)
    told = np.ones(len(lists), dtype=np.bool_)
    told[owners[_flags(items.is_null())]] = False
    return lists.take(fixed_array(np.arange(len(lists)), pa.int64(), told))


def _flags(array: Any) -> Mask:
    return flags(array)


def _array(column: Any) -> Any:
    """One plain array; `combine_chunks` gives a chunked one for some types and versions of Arrow."""
    if not isinstance(column, pa.ChunkedArray):
        return column
    chunks = [chunk for chunk in column.chunks if len(chunk)] or column.chunks[:1]
    if len(chunks) == 1:
        return chunks[0]
    return pa.concat_arrays(chunks) if chunks else pa.nulls(0, column.type)
