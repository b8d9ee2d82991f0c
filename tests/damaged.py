"""Damage inside a part of a recording, which its footer does not show."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq


def damage(recording: Path, table: str, column: str, part: int = 0) -> None:
    """Overwrite values of one column."""
    (path,) = recording.glob(f"*/{table}/{part:05}.parquet")
    meta = pq.read_metadata(path).row_group(0)
    chunk = next(
        c for i in range(meta.num_columns) if (c := meta.column(i)).path_in_schema.split(".")[0] == column
    )
    data = bytearray(path.read_bytes())
    start = min(at for at in (chunk.dictionary_page_offset, chunk.data_page_offset) if at is not None)
    end = start + chunk.total_compressed_size
    data[end - 8 : end] = bytes(byte ^ 0xFF for byte in data[end - 8 : end])
    path.write_bytes(bytes(data))
