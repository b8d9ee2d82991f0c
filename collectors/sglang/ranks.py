"""Which of an engine's processes record: attention-TP ranks hold the same slots and accept the same rows."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from speckv_debug.collectors.base import ALL_RANKS, RANKS_VARIABLE


def is_recorded(arguments: Mapping[str, Any]) -> bool:
    """Whether the scheduler that is constructed with these arguments records.

    One does by default in each attention-TP group of each DP replica and PP stage, its rank 0; a rank that can't
    be told records.
    """
    return os.environ.get(RANKS_VARIABLE) == ALL_RANKS or not attention_rank(arguments)


def attention_rank(arguments: Mapping[str, Any]) -> int | None:
    """The rank in the attention-TP group, None if it can't be told.

    0.5.12 to 0.5.20 hand tp_rank to the constructor: `compute_dp_attention_world_info` divides the TP ranks
    among the DP replicas and context-parallel ranks. Later releases have published the rank by then.
    """
    tp_rank, server = arguments.get("tp_rank"), arguments.get("server_args")
    if tp_rank is None or server is None:
        return _published()
    replicas = _size(server, "dp_size") if getattr(server, "enable_dp_attention", False) else 1
    group = _size(server, "tp_size") // replicas // _size(server, "attn_cp_size")
    return int(tp_rank) % max(1, group)


def _size(server: Any, name: str) -> int:
    return int(getattr(server, name, None) or 1)


def _published() -> int | None:
    context = sys.modules.get("sglang.srt.runtime_context")
    try:
        return int(context.get_parallel().attn_tp_rank) if context is not None else None
    except Exception:  # noqa: BLE001 (not published, or this release has no such function)
        return None
