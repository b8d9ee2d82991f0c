"""The report of a long recording stays small, is written soon, answers soon, and says how it was thinned."""

from __future__ import annotations

import html
import re
import runpy
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from speckv_debug.model.finding import CheckResult
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.page import render
from tests.opened_report import opened, until

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "long_run.py"
LARGEST, WRITTEN, ANSWERS = 8_000_000, 20, 2
"""Bytes, processor seconds, processor seconds of the page's thread; by the clock it depends on what else the machine does."""


def busy_until_it_answers(browser: Browser, page: Path) -> float:
    """Processor seconds of the page's own thread until plotly is read too and the first figure stands; the others follow one by one."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    tab = context.new_page()
    devtools = context.new_cdp_session(tab)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    tab.goto(page.as_uri(), wait_until="commit")
    until(tab, "document.querySelector('.plot .main-svg') !== null")
    metrics = {each["name"]: each["value"] for each in devtools.send("Performance.getMetrics")["metrics"]}
    context.close()
    return float(metrics["TaskDuration"])


@pytest.mark.parametrize("waves", [2, pytest.param(32, marks=pytest.mark.full)])
def test_a_long_run_makes_a_small_page(waves: int, browser: Browser, tmp_path: Path) -> None:
    module: dict[str, Any] = runpy.run_path(str(SCRIPT))
    module["make"](tmp_path / "long.speckv", waves, 16)
    begun = time.process_time()
    with (tmp_path / "long.html").open("w") as out:
        render(Recording.open(tmp_path / "long.speckv"), CheckResult(checked={"MOV-PAIR": 1}), out)
    assert time.process_time() - begun < WRITTEN
    assert (tmp_path / "long.html").stat().st_size < LARGEST
    said = html.unescape(
        re.sub(r"<[^>]+>", " ", (tmp_path / "long.html").read_text().partition("<script")[0])
    )
    for words in ("requests are drawn", "stands for", "points in all"):
        assert words in said
    assert busy_until_it_answers(browser, tmp_path / "long.html") < ANSWERS
    assert opened(browser, tmp_path / "long.html").complaints == []
