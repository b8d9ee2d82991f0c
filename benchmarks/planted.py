"""A copy of a long recording with one fault in it, and one with several ranks: files that stay as they are are linked."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa

from speckv_debug.recording.parts import read_part, seal_part


def linked(source: Path, folder: Path, ranks: int = 1) -> Path:
    """The recording of one process as that of so many ranks."""
    (process,) = (each for each in source.iterdir() if each.is_dir())
    folder.mkdir()
    shutil.copy(source / "manifest.json", folder)
    for rank in range(ranks):
        shutil.copytree(process, folder / f"tp{rank}-pp0-dp0", copy_function=_link)
    return folder


def _link(source: str, target: str) -> None:
    Path(target).symlink_to(Path(source).resolve())


def plant(folder: Path) -> int:
    """Let the last pair that is no identity run backwards, in the first process; gives the step of its move.

    Raises:
        ValueError: No pair of the recording moves anything.
    """
    for path in sorted(next(iter(sorted(folder.glob("tp*")))).glob("move/*.parquet"), reverse=True):
        table = read_part(path)
        src, tgt = (table[name].combine_chunks() for name in ("src", "tgt"))
        apart = np.flatnonzero(src.values.to_numpy() != tgt.values.to_numpy())
        if len(apart):
            pair = int(apart[-1])
            row = int(np.searchsorted(src.offsets.to_numpy(), pair, side="right")) - 1
            path.unlink()
            seal_part(path, _swapped(table, pair))
            return int(table["step"][row].as_py())
    raise ValueError(f"{folder}: nothing is moved")


def _swapped(table: pa.Table, pair: int) -> pa.Table:
    lists = {name: table[name].combine_chunks() for name in ("src", "tgt")}
    values = {name: each.values.to_numpy().copy() for name, each in lists.items()}
    values["src"][pair], values["tgt"][pair] = values["tgt"][pair], values["src"][pair]
    for name, each in lists.items():
        array = pa.ListArray.from_arrays(
            each.offsets, pa.array(values[name], each.type.value_type), each.type
        )
        table = table.set_column(table.column_names.index(name), table.schema.field(name), array)
    return table
