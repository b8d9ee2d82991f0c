"""Lines of a text file that may be compressed, and text files that are compressed by their suffix."""

from __future__ import annotations

import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, cast

import pyarrow as pa

MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zstd"}
DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, pa.ArrowException)


def decompressed(raw: BinaryIO) -> IO[bytes]:
    """The plain bytes of a stream, compressed (gzip, xz, zstd: told by its first bytes) or not."""
    stream = raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast(Any, raw))
    head = stream.peek(8)[:8]
    kind = next((kind for magic, kind in MAGIC.items() if head.startswith(magic)), None)
    if kind == "gzip":
        return cast(IO[bytes], gzip.GzipFile(fileobj=stream))
    if kind == "xz":
        return cast(IO[bytes], lzma.LZMAFile(cast(Any, stream)))
    if kind == "zstd":
        return io.BufferedReader(cast(Any, pa.CompressedInputStream(pa.PythonFile(stream, "r"), "zstd")))
    return stream


@contextmanager
def text_output(path: Path) -> Iterator[TextIO]:
    """A text file, compressed if its name ends in .gz, .xz or .zst; the same text gives the same bytes."""
    with path.open("wb") as file:
        packed = _compressor(file, path.suffix)
        text = io.TextIOWrapper(cast(Any, packed or file), encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()
        if packed is not None:
            packed.close()


def _compressor(file: IO[bytes], suffix: str) -> Any:
    if suffix == ".gz":
        return gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0)
    if suffix == ".xz":
        return lzma.LZMAFile(file, "wb")
    if suffix == ".zst":
        return pa.CompressedOutputStream(pa.PythonFile(file, "w"), "zstd")
    return None
