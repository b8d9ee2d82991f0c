"""What was recorded, over all processes: engine, algorithm and page size, each of them once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from speckv_debug.model.process import Process


def described(infos: Sequence[Process]) -> list[str]:
    """Such as `sglang 0.5.23`, `EAGLE topk 2`, `page 128`; more than one of a kind where processes differ."""
    parts = [*_once(map(_engine, infos)), *_once(_algorithm(info.settings) for info in infos)]
    return [part for part in (*parts, *_once(map(_page, infos))) if part]


def _once(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _engine(info: Process) -> str:
    return f"{info.engine or 'unknown engine'} {info.engine_version or ''}".strip()


def _algorithm(settings: Mapping[str, Any]) -> str:
    name, topk = settings.get("algorithm"), settings.get("topk")
    return f"{name}{'' if topk is None else f' topk {topk}'}" if name else ""


def _page(info: Process) -> str:
    pool = info.pool(None)
    return f"page {pool.page_size}" if pool is not None and pool.page_size is not None else ""
