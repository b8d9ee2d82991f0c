"""A report in a tab of the real Chromium, without a network, and what the tab complained about or asked for."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from playwright.sync_api import Browser, Page
from plotly.offline import get_plotlyjs

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DRAWN = """[...document.querySelectorAll('.plot')]
  .every((plot) => plot.closest('[hidden]') || plot.querySelector('.main-svg'))"""
PATIENCE = 180
"""Seconds after which something never happens; a busy machine may take many."""
RUNS_OVER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


@dataclass
class Opened:
    """A report in a browser tab, and what the tab complained about or asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


def opened(
    browser: Browser,
    path: Path,
    width: int = 1280,
    scheme: Literal["light", "dark"] = "light",
    *,
    figures: bool = True,
) -> Opened:
    """The page in a tab of its own; `figures` waits until they are drawn."""
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    context.set_offline(True)
    tab = Opened(context.new_page())
    tab.page.on("console", lambda message: tab.complaints.append(message.text))
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.page.on("request", lambda request: tab.requests.append(request.url))
    tab.page.goto(path.as_uri())
    if figures:
        until(tab.page, DRAWN)
    return tab


def without_plotly(path: Path, folder: Path) -> Path:
    """The same page before plotly's script is read, which takes long."""
    early = folder / f"early-{path.name}"
    early.write_text(path.read_text().replace(get_plotlyjs(), ""))
    return early


def until(page: Page, condition: str) -> None:
    """Wait for a condition; the page's own policy forbids the browser's way of polling for it."""
    deadline = time.monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)
