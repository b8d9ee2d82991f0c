"""Parquet part files of one table: written whole or not at all, read with their checksums verified."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from speckv_debug.recording.arrays import numbers
from speckv_debug.recording.atomic import replace_file

PART_ROWS = 65_536
COMPRESSION = 9
"""zstd's level: parts are sealed on a thread of their own that needs no interpreter."""
DICTIONARY = "dictionary"
LINKS = frozenset(f"{name}.list.element" for name in ("next_token", "next_sibling", "accept_index"))
"""Lists of few different small values: the links of a tree, its accepted path."""
TOKENS = frozenset(f"{name}.list.element" for name in ("before", "after"))
"""Lists of 64-bit values that are tokens, or fingerprints."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part file whose footer is sound.

    Attributes:
        first, last: The smallest and largest seq in it.
        texts: Its columns of texts.
    """

    path: Path
    rows: int
    first: int
    last: int
    texts: tuple[str, ...] = ()


def part_path(folder: Path, number: int) -> Path:
    """The `number`-th part of the table in `folder`."""
    return folder / f"{number:05}.parquet"


def write_part(path: Path, table: pa.Table) -> None:
    """Write rows as a Parquet file: zstd, an encoding that fits each column, checksums, no trace of the clock."""
    leaves = dict(map(_leaf, table.schema))
    encodings = {name: _encoding(name, kind) for name, kind in leaves.items()}
    with _for_arrow(path, "wb") as sink:
        pq.write_table(
            table,
            sink,
            compression="zstd",
            compression_level=COMPRESSION,
            use_dictionary=[name for name, encoding in encodings.items() if encoding == DICTIONARY],
            column_encoding={
                name: each for name, each in encodings.items() if each not in (DICTIONARY, None)
            },
            write_page_checksum=True,
            row_group_size=PART_ROWS,
        )


@contextmanager
def _for_arrow(path: Path, mode: Literal["rb", "wb"]) -> Iterator[Path | IO[bytes]]:
    """The path, or the file opened by Python if its name is no UTF-8, which Arrow refuses."""
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        with path.open(mode) as file:
            yield file
    else:
        yield path


def seal_part(path: Path, table: pa.Table) -> None:
    """Write a part that is whole or not there, and durable when this returns."""
    path.parent.mkdir(exist_ok=True)
    replace_file(path, lambda temporary: write_part(temporary, table))


def _encoding(name: str, kind: pa.DataType) -> str | None:
    """The smallest of Parquet's encodings for such values, None for Arrow's own choice.

    Numbers of consecutive events differ little. Slots and positions share their high bytes, tokens nothing at all.
    """
    if pa.types.is_string(kind) or name in LINKS:
        return DICTIONARY
    if not pa.types.is_integer(kind):
        return None
    if not name.endswith(".list.element"):
        return "DELTA_BINARY_PACKED"
    return "PLAIN" if kind.bit_width == 32 or name in TOKENS else "BYTE_STREAM_SPLIT"


def _leaf(field: pa.Field) -> tuple[str, pa.DataType]:
    """Parquet's name and type of the values in a column."""
    if pa.types.is_list(field.type):
        return f"{field.name}.list.element", field.type.value_type
    return field.name, field.type


def scan_part(path: Path) -> Part:
    """What the footer says.

    Raises:
        ValueError, OSError: The file is truncated or damaged, or has no seq.
    """
    with _for_arrow(path, "rb") as source, pq.ParquetFile(source) as file:
        meta = file.metadata
        names = [meta.schema.column(i).path for i in range(meta.num_columns)]
        if "seq" not in names:
            raise ValueError("it has no column seq")
        at = names.index("seq")
        stats = [meta.row_group(group).column(at).statistics for group in range(meta.num_row_groups)]
        if any(each is None or not each.has_min_max for each in stats):
            return _scan_rows(path)
        if not stats:
            return Part(path, 0, 0, -1)
        first, last = min(each.min for each in stats), max(each.max for each in stats)
        return Part(path, meta.num_rows, first, last, _texts(meta.schema))


def _texts(schema: pq.ParquetSchema) -> tuple[str, ...]:
    columns = (schema.column(i) for i in range(len(schema)))
    return tuple(column.path for column in columns if column.logical_type.type == "STRING")


def _scan_rows(path: Path) -> Part:
    seq = numbers(read_part(path, ["seq"]).column("seq").drop_null())
    return Part(path, len(seq), int(seq.min()), int(seq.max())) if len(seq) else Part(path, 0, 0, -1)


@dataclass(frozen=True, slots=True)
class Within:
    """What a reader looks for: values of an integer column, or of a column of integer lists, in `[low, high)`."""

    column: str
    low: int
    high: int


def read_part(
    path: Path,
    columns: list[str] | None = None,
    within: Within | None = None,
    coded: Sequence[str] = (),
) -> pa.Table:
    """The rows, or only some columns of them (those that exist).

    Args:
        path: The file.
        columns: Names of columns, all if None.
        within: Leave out row groups whose statistics say that they hold no such value.
        coded: Columns of texts that are read as codes; all of them exist.

    Raises:
        ValueError, OSError: The data is damaged.
    """
    with (
        _for_arrow(path, "rb") as source,
        pq.ParquetFile(source, page_checksum_verification=True, read_dictionary=list(coded)) as file,
    ):
        known = file.schema_arrow.names
        wanted = known if columns is None else [name for name in columns if name in known]
        if within is None:
            return file.read(columns=wanted)
        groups = [group for group in range(file.metadata.num_row_groups) if _may_hold(file, group, within)]
        return file.read_row_groups(groups, columns=wanted)


def _may_hold(file: pq.ParquetFile, group: int, within: Within) -> bool:
    """Whether the statistics leave it open that a row group holds such a value."""
    meta = file.metadata.row_group(group)
    paths = [meta.column(i).path_in_schema for i in range(meta.num_columns)]
    at = next((i for i, path in enumerate(paths) if path.partition(".")[0] == within.column), None)
    stats = None if at is None else meta.column(at).statistics
    if stats is None or not stats.has_min_max:
        return True
    return bool(stats.min < within.high and stats.max >= within.low)
