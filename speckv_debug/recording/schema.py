"""The Arrow schema of each event table: the columns of the contract, in its order.

Arrow columns are plain; Parquet adds dictionaries for strings when a part is sealed. The frozen
dataclasses in `model/events.py` have the same fields (a test holds the two together).
"""

from __future__ import annotations

import pyarrow as pa

FORMAT_VERSION = 1

I32, I64, F32, STR, BOOL = pa.int32(), pa.int64(), pa.float32(), pa.string(), pa.bool_()
L32, L64, LSTR = pa.list_(I32), pa.list_(I64), pa.list_(STR)

COMMON: dict[str, pa.DataType] = {"seq": I64, "step": I64, "t_ns": I64, "lane": STR}
REQUEST: dict[str, pa.DataType] = {"request": STR, "row": I32, "epoch": I64}

COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "accept": REQUEST
    | {"batch_index": I32, "algorithm": STR, "layout": STR, "sampling": STR, "topk": I32, "width": I32}
    | {"block_start": I32, "seq_len": I64, "draft_tokens": L32, "positions": L64, "next_token": L32}
    | {"next_sibling": L32, "target_predict": L32, "predict": L32, "accept_index": L32, "accept_len": I32}
    | {"num_correct_drafts": I32, "out_cache_loc": L64, "table_slots": L64, "new_seq_len": I64}
    | {"bonus_token": I32},
    "move": {"pool": STR, "target_source": STR, "src": L64, "tgt": L64, "components": LSTR, "caller": STR}
    | {"src_before": L64, "tgt_after": L64},
    "compact": {"tensor": STR, "before": L64, "after": L64},
    "forward": {"mode": STR}
    | REQUEST
    | {"pool": STR, "start": I64, "slots": L64, "tokens": L32, "positions": L64, "read_len": I64}
    | {"padded": BOOL, "next_token": I32, "group": STR, "begin_ns": I64, "end_ns": I64},
    "alloc": {"pool": STR}
    | REQUEST
    | {"slots": L64, "reason": STR, "group": I64, "site": STR, "granted": BOOL},
    "free": {"pool": STR} | REQUEST | {"slots": L64, "reason": STR, "group": I64, "site": STR, "form": STR},
    "free_group": {"action": STR, "group": I64},
    "table_write": {"pool": STR, "row": I32, "epoch": I64, "start": I64, "slots": L64},
    "row_alloc": {"row": I32, "epoch": I64, "request": STR},
    "row_free": {"row": I32, "epoch": I64, "request": STR},
    "lengths": {"pool": STR}
    | REQUEST
    | {"committed": I64, "allocated": I64, "swa_evicted": I64, "cause": STR, "cut": STR},
    "reserve": REQUEST
    | {"committed": I64, "allocated": I64, "reserve": I64, "page_size": I32, "new_allocated": I64},
    "cache": {"action": STR, "request": STR, "node": I64, "start": I64, "slots": L64, "pool": STR}
    | {"key_len": I64, "served_len": I64},
    "release": REQUEST
    | {"kind": STR, "committed": I64, "allocated": I64, "target": I64, "free_start": I64, "page_size": I32},
    "swa_map": {"full_slots": L64, "swa_slots": L64},
    "page_ref": {"pool": STR, "action": STR, "pages": L64, "holder": STR, "row": I32, "count_after": L32},
    "state_clear": {"pool": STR, "request": STR, "row": I32, "seq_len": I64, "accept_len": I32, "width": I32}
    | {"ring_size": I32, "ring_rows": L32, "first_half": F32, "second_half": F32},
    "state_commit": {"pool": STR, "request": STR, "row": I32, "step_index": I32},
    "state_access": {"pool": STR, "request": STR, "row": I32, "action": STR, "ring_rows": L32}
    | {"positions": L64},
    "transfer": {"action": STR, "direction": STR, "request": STR, "pool": STR, "slots": L64},
    "pool_stat": {"pool": STR, "available": I64, "evictable": I64, "protected": I64, "session": I64}
    | {"total": I64},
    "drop": {"table": STR, "rows": I64, "why": STR},
    "note": {"level": STR, "text": STR},
}

TABLES: tuple[str, ...] = tuple(COLUMNS)
SCHEMAS: dict[str, pa.Schema] = {
    name: pa.schema(list((COMMON | own).items())) for name, own in COLUMNS.items()
}
CODES = pa.dictionary(pa.int32(), STR)
CODED: dict[str, pa.Schema] = {
    name: pa.schema([field.with_type(CODES) if field.type == STR else field for field in schema])
    for name, schema in SCHEMAS.items()
}
"""The same with texts as codes: a few bytes a row, and found once. Parts can be read so."""
