"""Texts that are read as codes are the texts that are read as such, whatever of a part a window holds."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from speckv_debug.recording.meaning import senseless
from speckv_debug.recording.parts import part_path, write_part
from speckv_debug.recording.schema import CODES, SCHEMAS
from speckv_debug.recording.spool import SpoolContent
from speckv_debug.recording.stream import windows_of
from speckv_debug.recording.table_files import NO_SPOOL, TableFiles
from speckv_debug.replay.columns import Columns

WORDS = st.one_of(st.none(), st.sampled_from(("extend", "finish", "", "é", "no such reason")))


def rows(first: int, words: list[str | None]) -> pa.Table:
    lines = [{"seq": first + i, "step": i, "cause": word} for i, word in enumerate(words)]
    return pa.Table.from_pylist(lines, schema=SCHEMAS["lengths"])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    parts=st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=3),
    end=st.integers(0, 12),
    spooled=st.booleans(),
)
def test_windows_say_what_the_table_says(
    parts: list[list[str | None]], end: int, spooled: bool, tmp_path: Path
) -> None:
    tables, first = [], 0
    for number, words in enumerate(parts):
        tables.append(rows(first, words))
        write_part(part_path(tmp_path, number), tables[-1])
        first += len(words)
    tail = rows(first, ["spooled", None])
    spool = SpoolContent(tuple(tail.to_batches())) if spooled else NO_SPOOL
    (tmp_path / "lengths").unlink(missing_ok=True)
    (tmp_path / "lengths").symlink_to(tmp_path)
    for number in range(len(parts), 3):
        part_path(tmp_path, number).unlink(missing_ok=True)
    files = TableFiles.find(tmp_path, "lengths", spool)
    whole = pa.concat_tables([*tables, *([tail] if spooled else [])])
    last = whole.num_rows - 1
    cuts = sorted({min(end, last), last})
    start = 0
    for cut, window in zip(cuts, windows_of({"lengths": files}, cuts), strict=True):
        plain, coded = whole.slice(start, cut + 1 - start), window["lengths"]
        assert coded.schema.field("cause").type == CODES
        one, other = (Columns(table).texts("cause") for table in (plain, coded))
        assert (one.names, one.codes.tolist()) == (other.names, other.codes.tolist())
        assert list(senseless("lengths", plain)) == list(senseless("lengths", coded))
        start = cut + 1
    assert not files.damaged
