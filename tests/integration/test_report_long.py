"""The report of a long recording stays small and says how it was thinned; benchmarks/report.py has its times."""

from __future__ import annotations

import html
import re
import runpy
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from speckv_debug.checks.run import check
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.budget import LARGEST
from speckv_debug.viewers.html.page import render
from tests.opened_report import opened

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize(
    ("waves", "ranks"),
    [(2, 1), *(pytest.param(*size, marks=pytest.mark.full) for size in ((32, 1), (16, 8)))],
)
def test_a_long_run_makes_a_small_page(waves: int, ranks: int, browser: Browser, tmp_path: Path) -> None:
    runpy.run_path(str(BENCHMARKS / "long_run.py"))["make"](tmp_path / "one.speckv", waves, 16)
    planted: dict[str, Any] = runpy.run_path(str(BENCHMARKS / "planted.py"))
    step = planted["plant"](planted["linked"](tmp_path / "one.speckv", tmp_path / "long.speckv", ranks))
    recording = Recording.open(tmp_path / "long.speckv")
    with (tmp_path / "long.html").open("w", newline="\n") as out:
        render(recording, check(recording, replay="off"), out)
    assert (tmp_path / "long.html").stat().st_size <= LARGEST
    said = html.unescape(
        re.sub(r"<[^>]+>", " ", (tmp_path / "long.html").read_text().partition("<script")[0])
    )
    for words in ("requests are drawn", "stands for", "points in all", f"tep {step}, request"):
        assert words in said
    tab = opened(browser, tmp_path / "long.html")
    assert tab.page.locator("#figures [role=tab]").count() == (ranks if ranks > 1 else 0)
    assert tab.complaints == []
