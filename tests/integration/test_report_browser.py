"""The report in a real browser: opens from disk, loads nothing, draws, stays inside a narrow screen, runs no text."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.reported import HOSTILE, broken_run

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
RUNS_OVER = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


@dataclass
class Opened:
    """A report in a browser tab, and what the tab complained about or asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert CHROMIUM, "chromium is missing: tests/browser.sh installs it"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


def report(run: Path, *options: str) -> None:
    command = [sys.executable, "-m", "speckv_debug", "report", run.name, "--replay", "off", *options]
    ran = subprocess.run(command, cwd=run.parent, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr


def reported(folder: Path, request: str) -> Path:
    """The report of a run whose move at step 812 runs backwards, written by the installed program."""
    report(broken_run(folder, request).path)
    return folder / "run.html"


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported(tmp_path_factory.mktemp("broken"), "chat-7")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reported(tmp_path_factory.mktemp("hostile"), HOSTILE)


@pytest.fixture(scope="module")
def wide(browser: Browser, broken: Path) -> Opened:
    """For tests that only look."""
    return opened(browser, broken)


@pytest.fixture(scope="module")
def narrow(browser: Browser, hostile: Path) -> Opened:
    """Hostile text at the width of a telephone."""
    return opened(browser, hostile, width=400)


@pytest.fixture(scope="module")
def dark(browser: Browser, broken: Path) -> Opened:
    return opened(browser, broken, scheme="dark")


def opened(
    browser: Browser, path: Path, width: int = 1280, scheme: Literal["light", "dark"] = "light"
) -> Opened:
    context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900})
    context.set_offline(True)
    tab = Opened(context.new_page())
    tab.page.on("console", lambda message: tab.complaints.append(message.text))
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.page.on("request", lambda request: tab.requests.append(request.url))
    tab.page.goto(path.as_uri())
    until(tab.page, "document.querySelectorAll('.plot .main-svg').length >= 3")
    return tab


def until(page: Page, condition: str) -> None:
    """Wait for a condition; the page's own policy forbids the browser's way of polling for it."""
    deadline = time.monotonic() + 30
    while not page.evaluate(condition):
        assert time.monotonic() < deadline, condition
        page.wait_for_timeout(20)


def paper_colour(page: Page) -> str:
    return str(page.evaluate("document.getElementById('accept-0').layout.paper_bgcolor"))


def test_it_opens_from_disk_without_a_complaint_and_asks_for_nothing(wide: Opened, broken: Path) -> None:
    assert wide.complaints == []
    assert wide.requests == [broken.as_uri()]


def test_the_verdict_comes_first_and_the_drawing_is_on_the_first_screen(wide: Opened) -> None:
    first, second, *_ = [line for line in wide.page.inner_text("body").splitlines() if line]
    assert first.lower() == "✗ found"
    assert second.startswith("Step 812, request chat-7: ")
    box = wide.page.locator("svg.lanes").first.bounding_box()
    assert box is not None and box["y"] + box["height"] < 900


def test_each_figure_is_drawn_with_its_data(wide: Opened) -> None:
    assert wide.page.locator(".plot").count() == 3
    assert wide.page.locator("#accept-0 .scatterlayer .js-line").count() >= 1
    assert wide.page.locator("#distribution-0 .bars .point").count() == 3
    assert wide.page.locator("#lengths-0 .scatterlayer .js-line").count() == 2


def test_a_narrow_screen_does_not_scroll_sideways(narrow: Opened) -> None:
    narrow.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert not narrow.page.evaluate(RUNS_OVER)


def test_a_wide_screen_does_not_scroll_sideways(wide: Opened, dark: Opened) -> None:
    assert not wide.page.evaluate(RUNS_OVER)
    assert not dark.page.evaluate(RUNS_OVER)


def test_text_from_the_recording_is_shown_and_never_run(narrow: Opened, hostile: Path) -> None:
    assert narrow.complaints == []
    assert narrow.requests == [hostile.as_uri()]
    assert "owned" not in narrow.page.title()
    assert narrow.page.locator("img").count() == 0
    assert "</script><script>document.title='owned'" in narrow.page.inner_text("h1")


def test_a_request_is_chosen_with_the_keyboard(wide: Opened) -> None:
    chooser = wide.page.locator("select[data-figure=lengths-0]")
    assert chooser.input_value() == "0"
    chooser.focus()
    wide.page.keyboard.press("ArrowUp")
    until(wide.page, "document.querySelectorAll('#lengths-0 .scatterlayer .js-line').length === 4")
    assert chooser.input_value() == "all"


def test_n_goes_to_the_next_finding(wide: Opened) -> None:
    wide.page.locator("h1").click()
    wide.page.keyboard.press("n")
    assert wide.page.evaluate("document.activeElement.matches('article.finding')")


def test_paper_is_light_and_shows_what_is_folded(dark: Opened) -> None:
    before = paper_colour(dark.page)
    dark.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert dark.page.locator("details:not([open])").count() == 0
    assert paper_colour(dark.page) == "#ffffff"
    dark.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert dark.page.locator("details:not([open])").count() > 0
    assert paper_colour(dark.page) == before != "#ffffff"


def test_figures_and_page_follow_light_and_dark(dark: Opened) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    before = dark.page.evaluate(background)
    dark.page.emulate_media(color_scheme="light")
    until(dark.page, "document.getElementById('accept-0').layout.paper_bgcolor === '#ffffff'")
    assert dark.page.evaluate(background) != before


def test_a_script_that_got_into_the_page_would_not_run(
    browser: Browser, broken: Path, tmp_path: Path
) -> None:
    script = "<script>document.title='owned'</script>"
    slipped = broken.read_text(encoding="utf-8").replace("<main>", f"{script}<main>", 1)
    (tmp_path / "slipped.html").write_text(slipped, encoding="utf-8")
    tab = opened(browser, tmp_path / "slipped.html")
    assert tab.page.title() != "owned"
    assert any("Content Security Policy" in words for words in tab.complaints)


def test_two_reports_of_one_recording_are_the_same_bytes(broken: Path) -> None:
    report(broken.with_suffix(".speckv"), "-o", "again.html")
    assert (broken.parent / "again.html").read_bytes() == broken.read_bytes()
