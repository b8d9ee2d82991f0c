"""JSON Lines: whatever a recording holds comes back the same, byte for byte."""

import gzip
import io
import json
import lzma
import math
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speckv_debug.recording.jsonl import export_jsonl, import_jsonl
from speckv_debug.recording.parts import read_part
from speckv_debug.recording.reader import Recording
from speckv_debug.recording.schema import SCHEMAS, TABLES

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
RUNS = st.lists(st.tuples(st.integers(-5, 1 << 40), st.integers(1, 30)), max_size=3)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=5,
)
WIDE = {"width", "event", "seq"}


def values_of(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values that a column can hold, in the types of JSON."""
    if pa.types.is_list(kind):
        runs = RUNS.map(lambda runs: [slot % (1 << 31) for a, n in runs for slot in range(a, a + n)])
        return st.lists(TEXT, max_size=3) if pa.types.is_string(kind.value_type) else runs
    if pa.types.is_integer(kind):
        return st.integers(-(1 << kind.bit_width - 1), (1 << kind.bit_width - 1) - 1)
    if pa.types.is_floating(kind):
        return st.floats(width=32) | st.sampled_from(["inf", "-inf", "nan"])
    return st.booleans() if pa.types.is_boolean(kind) else TEXT


@st.composite
def events(draw: st.DrawFn) -> dict[str, Any]:
    """One event of any table, without seq."""
    table = draw(st.sampled_from(TABLES))
    fields = [field for field in SCHEMAS[table] if field.name not in WIDE]
    chosen = draw(st.lists(st.sampled_from(fields), unique=True, max_size=6))
    event = {field.name: draw(values_of(field.type)) for field in chosen}
    for first, second in (("src", "tgt"), ("src", "src_before"), ("src", "tgt_after"), ("tgt", "src_before")):
        if first in event and second in event:
            event[second] = event[first]
    for first, second in (("tgt", "tgt_after"), ("full_slots", "swa_slots"), ("pages", "count_after")):
        if first in event and second in event:
            event[second] = [0] * len(event[first])
    if "src_before" in event and "tgt_after" in event:
        event["tgt_after"] = event["src_before"]
    return {"event": table} | {k: json_float(v) for k, v in event.items()}


def json_float(value: Any) -> Any:
    """inf and nan as the contract writes them."""
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


@st.composite
def files(draw: st.DrawFn) -> list[dict[str, Any]]:
    """A whole file: manifest, processes, events; seq dense, shifted, with holes, shuffled or left out."""
    extra = draw(
        st.dictionaries(TEXT.filter(lambda key: key not in ("event", "seq", "format_version")), JSON)
    )
    lines: list[dict[str, Any]] = [{"event": "recording", "format_version": 1, **extra}]
    for rank in range(draw(st.integers(1, 3))):
        more = {f"x{key}": value for key, value in extra.items()}
        lines.append({"event": "process", "rank": {"tp": rank % 2}, "seq": 0, **more})
        own = draw(st.lists(events(), max_size=8))
        seqs = draw(st.none() | st.permutations(range(5, 5 + 2 * len(own), 2)))
        lines += [e if seqs is None else {"seq": seqs[i], **e} for i, e in enumerate(own)]
    return lines


def folder_bytes(folder: Path) -> dict[str, bytes]:
    """Every file of a recording."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@settings(max_examples=60, deadline=None)
@given(files())
def test_import_export_import_is_the_same_recording(lines: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        import_jsonl(io.BytesIO(text.encode()), folder / "a")
        first = io.StringIO()
        export_jsonl(Recording.open(folder / "a"), first)
        import_jsonl(io.BytesIO(first.getvalue().encode()), folder / "b")
        second = io.StringIO()
        export_jsonl(Recording.open(folder / "b"), second)
        assert first.getvalue() == second.getvalue()
        in_order = all("seq" not in a or "seq" not in b or a["seq"] < b["seq"] for a, b in pairwise(lines))
        if in_order:
            assert folder_bytes(folder / "a") == folder_bytes(folder / "b")
        assert normal(lines) == normal([json.loads(line) for line in first.getvalue().splitlines()])


def normal(lines: list[dict[str, Any]]) -> list[Any]:
    """The lines as a set of facts: ranges expanded, seq given, each process's events in order, floats as f32."""
    processes: list[list[Any]] = []
    for line in lines:
        line = {key: expanded(key, value) for key, value in line.items() if value is not None or "x" in key}
        if line["event"] in ("recording", "process"):
            line.pop("seq", None)
            processes.append([])
        elif "seq" not in line:
            line["seq"] = len(processes[-1]) - 1
        processes[-1].append(line)
    ordered = [[head, *sorted(events, key=lambda e: e["seq"])] for head, *events in processes]
    return [ordered[0], *sorted(ordered[1:], key=lambda p: p[0]["rank"]["tp"])]


def expanded(key: str, value: Any) -> Any:
    """Ranges as integers, floats as the column holds them."""
    if isinstance(value, list) and key in ("slots", "src", "tgt", "out_cache_loc", "table_slots") + (
        "full_slots",
        "swa_slots",
    ):
        pairs = [tuple(map(int, v.split(":"))) if isinstance(v, str) else (v, v + 1) for v in value]
        return [slot for start, stop in pairs for slot in range(start, stop)]
    return float(value) if key in ("first_half", "second_half") and not isinstance(value, str) else value


LINES = b"""\
{"event": "process", "engine": "sglang", "rank": {"tp": 0, "pp": 0, "dp": 0}}
{"event": "alloc", "step": 1, "pool": "full", "slots": [7, "50048:50176"]}

{"event": "state_clear", "first_half": "-inf", "second_half": 0.5}
"""


def test_a_hand_written_file_gets_the_lines_order(tmp_path: Path) -> None:
    summary = import_jsonl(io.BytesIO(b"\xef\xbb\xbf" + LINES.replace(b"\n", b"\r\n")), tmp_path / "r")
    assert (summary.processes, summary.events, summary.remarks) == (("tp0-pp0-dp0",), 2, ())
    (process,) = Recording.open(tmp_path / "r").processes
    (alloc, clear) = process.events()
    assert (alloc.seq, alloc.t_ns, alloc.slots) == (0, None, (7, *range(50048, 50176)))
    assert (clear.seq, clear.first_half, clear.second_half) == (1, float("-inf"), 0.5)
    assert process.problems == () and process.info.engine == "sglang"


def test_export_is_readable(tmp_path: Path) -> None:
    import_jsonl(io.BytesIO(LINES), tmp_path / "r")
    out = io.StringIO()
    assert export_jsonl(Recording.open(tmp_path / "r"), out) == 2
    lines = out.getvalue().splitlines()
    assert lines[1:] == [
        '{"event":"process","engine":"sglang","rank":{"tp":0,"pp":0,"dp":0}}',
        '{"event":"alloc","seq":0,"step":1,"pool":"full","slots":[7,"50048:50176"]}',
        '{"event":"state_clear","seq":1,"first_half":"-inf","second_half":0.5}',
    ]
    assert json.loads(lines[0])["event"] == "recording" and json.loads(lines[0])["format_version"] == 1


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst"])
def test_compressed_files_are_the_same(tmp_path: Path, suffix: str) -> None:
    import_jsonl(io.BytesIO(LINES), tmp_path / "a")
    for name in ("one", "two"):
        export_jsonl(Recording.open(tmp_path / "a"), tmp_path / f"{name}.jsonl{suffix}")
    packed = (tmp_path / f"one.jsonl{suffix}").read_bytes()
    assert packed == (tmp_path / f"two.jsonl{suffix}").read_bytes()
    assert (b'"event"' in packed) == (suffix == "")
    import_jsonl(tmp_path / f"one.jsonl{suffix}", tmp_path / "b")
    assert folder_bytes(tmp_path / "a") == folder_bytes(tmp_path / "b")


def test_compression_is_told_by_content(tmp_path: Path) -> None:
    for number, packed in enumerate((gzip.compress(LINES), lzma.compress(LINES))):
        (tmp_path / f"{number}.jsonl").write_bytes(packed)
        assert import_jsonl(tmp_path / f"{number}.jsonl", tmp_path / f"{number}").events == 2


def test_labels_repeat_with_a_number(tmp_path: Path) -> None:
    heads = [{}, {"pid": 1}, {"rank": {"tp": 0}}, {"rank": {"tp": 1}, "pid": 9}, {}, {"rank": None}]
    text = "".join(json.dumps({"event": "process", **head}) + '\n{"event":"note"}\n' for head in heads)
    labels = import_jsonl(io.BytesIO(text.encode()), tmp_path / "r").processes
    base = "tp0-pp0-dp0"
    assert labels == (base, f"{base}-1", f"{base}-2", "tp1-pp0-dp0-9", f"{base}-3", f"{base}-4")
    out = io.StringIO()
    export_jsonl(Recording.open(tmp_path / "r"), out)
    again = import_jsonl(io.BytesIO(out.getvalue().encode()), tmp_path / "s")
    assert sorted(again.processes) == sorted(labels)


def test_a_file_without_a_process_line_is_taken_and_said(tmp_path: Path) -> None:
    summary = import_jsonl(io.BytesIO(b'{"event":"note"}\n{"event":"note"}\n'), tmp_path / "r")
    assert summary.events == 2
    assert len(summary.remarks) == 1 and ":1: there is no process line" in summary.remarks[0]


def test_unknown_columns_are_counted(tmp_path: Path) -> None:
    text = b'{"event":"process"}\n' + b'{"event":"alloc","slot":[1]}\n' * 3 + b'{"event":"note","x":null}\n'
    summary = import_jsonl(io.BytesIO(text), tmp_path / "r")
    slot, other = summary.remarks
    assert ":2:" in slot and "'slot'" in slot and "3 lines." in slot and 'Did you mean "slots"?' in slot
    assert ":5:" in other and "1 line." in other


def test_words_that_nobody_knows_are_counted_and_kept(tmp_path: Path) -> None:
    line = b'{"event":"accept","sampling":"GREEDY","layout":"tree"}\n'
    summary = import_jsonl(io.BytesIO(b'{"event":"process"}\n' + line * 2), tmp_path / "r")
    (said,) = summary.remarks
    assert (
        ':2: sampling "GREEDY" of accept is none of greedy, rejection, target_only, simulated, in 2 lines'
        in said
    )
    assert "what rests on accept can't be judged" in said and said.endswith('Did you mean "greedy"?')
    table = Recording.open(tmp_path / "r").processes[0].table("accept")
    assert table.column("sampling").to_pylist() == ["GREEDY"] * 2


@pytest.mark.parametrize("column", ["step", "row", "epoch"])
def test_negative_numbers_of_what_counts_from_zero_are_told(column: str, tmp_path: Path) -> None:
    text = (
        f'{{"event":"process"}}\n{{"event":"row_free","{column}":0}}\n{{"event":"row_free","{column}":-1}}\n'
    )
    (said,) = import_jsonl(io.BytesIO(text.encode()), tmp_path / "r").remarks
    assert (
        f":3: {column} -1 of row_free is negative, in 1 line; what rests on row_free can't be judged" in said
    )
    assert said.endswith("Leave it out where there is none.")


@pytest.mark.parametrize("held", [1 << 18, 0])
def test_parts_of_a_short_recording_are_read_once(
    held: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_jsonl(io.BytesIO(LINES), tmp_path / "r")
    read: list[Path] = []

    def counted(path: Path, *rest: Any) -> pa.Table:
        read.append(path)
        return read_part(path, *rest)

    monkeypatch.setattr("speckv_debug.recording.table_files.read_part", counted)
    monkeypatch.setattr("speckv_debug.recording.process_recording.HELD_ROWS", held)
    out, recording = io.StringIO(), Recording.open(tmp_path / "r")
    assert export_jsonl(recording, out) == len(out.getvalue().splitlines()) - 2
    assert len(read) == len(set(read)) * (1 if held else 2)
    assert not any(process._tables for process in recording.processes)


def test_seq_continues_after_a_given_one(tmp_path: Path) -> None:
    text = b'{"event":"note","seq":7}\n{"event":"alloc"}\n{"event":"note","seq":null}\n{"event":"note","seq":2}\n'
    import_jsonl(io.BytesIO(text), tmp_path / "r")
    (process,) = Recording.open(tmp_path / "r").processes
    assert process.order().seq.tolist() == [2, 7, 8, 9]
    assert process.gaps() == [(3, 7)]


def test_a_long_import_makes_several_parts_in_order(tmp_path: Path) -> None:
    text = "".join(f'{{"event":"note","seq":{99_999 - i}}}\n' for i in range(100_000))
    import_jsonl(io.BytesIO(text.encode()), tmp_path / "r")
    (process,) = Recording.open(tmp_path / "r").processes
    assert len(list((process.folder / "note").iterdir())) == 2
    assert process.order().seq.tolist() == list(range(100_000))
    assert sum(len(batch.order) for batch in process.batches()) == 100_000


def test_an_existing_recording_is_replaced_only_when_told(tmp_path: Path) -> None:
    import_jsonl(io.BytesIO(LINES), tmp_path / "r")
    with pytest.raises(FileExistsError):
        import_jsonl(io.BytesIO(LINES), tmp_path / "r")
    import_jsonl(io.BytesIO(b'{"event":"note"}\n'), tmp_path / "r", replace=True)
    assert Recording.open(tmp_path / "r").processes[0].present == ("note",)
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
