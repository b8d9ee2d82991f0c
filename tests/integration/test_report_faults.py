"""Whoever opens the report of a planted fault sees its proof on the first screen: a drawing with the finding's numbers."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from plotly.offline import get_plotlyjs

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.collectors.reference.demo import record_demo
from speckv_debug.collectors.reference.faults.catalogue import FAULTS, Fault
from speckv_debug.model.causes import root_causes, worst_first
from speckv_debug.recording.reader import Recording
from speckv_debug.viewers.html.page import render
from tests.proofs import PROOF

HEIGHT, SEED = 800, 7
PLAIN = 5
"""One fault in so many is looked at without the mark `full`; test_faults.py looks at the drawings of all, without a browser."""
SEEN = """(height) => [...document.querySelectorAll('article.finding:first-of-type .drawings svg')]
  .filter((drawing) => drawing.getBoundingClientRect().bottom <= height && drawing.getBoundingClientRect().width > 0)
  .flatMap((drawing) => [...drawing.querySelectorAll('text')].map((text) => text.textContent))"""


pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def page(browser: Browser) -> Page:
    context = browser.new_context(viewport={"width": 1280, "height": HEIGHT})
    context.set_offline(True)
    return context.new_page()


def faults() -> list[object]:
    marks = [() if at % PLAIN == 0 else (pytest.mark.full,) for at in range(len(FAULTS))]
    return [pytest.param(f, marks=mark, id=f.name) for f, mark in zip(FAULTS, marks, strict=True)]


@pytest.mark.parametrize("fault", faults())
def test_the_proof_is_on_the_first_screen(fault: Fault, page: Page, tmp_path: Path) -> None:
    record_demo(tmp_path / "x.speckv", seed=SEED, fault=fault)
    recording = Recording.open(tmp_path / "x.speckv")
    result = check(recording, replay="off")
    with (tmp_path / "x.html").open("w") as out:
        render(recording, result, out, laws=RULES)
    without_figures = (tmp_path / "x.html").read_text().replace(get_plotlyjs(), "")
    (tmp_path / "x.html").write_text(without_figures)  # they stand below, and take long to load
    page.goto((tmp_path / "x.html").as_uri())
    seen = page.evaluate(SEEN, HEIGHT)
    first = worst_first(root_causes(result.findings))[0].finding
    assert first.rule == fault.rule
    assert any("✗" in text for text in seen), seen
    missing = set(PROOF[fault.name]) - set(seen)
    assert not missing, seen
    assert f"{first.message}" in page.inner_text("h1")
