"""The report of a long recording stays small and says how it was thinned; benchmarks/report.py has its times."""

from __future__ import annotations

import html
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.page import render
from tests.opened_report import opened

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "long_run.py"
LARGEST = 8_000_000
"""Bytes."""


@pytest.mark.parametrize("waves", [2, pytest.param(32, marks=pytest.mark.full)])
def test_a_long_run_makes_a_small_page(waves: int, browser: Browser, tmp_path: Path) -> None:
    module: dict[str, Any] = runpy.run_path(str(SCRIPT))
    module["make"](tmp_path / "long.speckv", waves, 16)
    with (tmp_path / "long.html").open("w") as out:
        render(Recording.open(tmp_path / "long.speckv"), CheckResult(checked={"MOV-PAIR": 1}), out)
    assert (tmp_path / "long.html").stat().st_size < LARGEST
    said = html.unescape(
        re.sub(r"<[^>]+>", " ", (tmp_path / "long.html").read_text().partition("<script")[0])
    )
    for words in ("requests are drawn", "stands for", "points in all"):
        assert words in said
    assert opened(browser, tmp_path / "long.html").complaints == []
