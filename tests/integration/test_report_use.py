"""The report as people use it: a click on a figure opens the step, tabs and keyboard, no barrier, paper with its drawings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser
from plotly.offline import get_plotlyjs

from speckv_debug.recording.jsonl import import_jsonl
from tests.opened_report import RUNS_OVER, Opened, opened, until

SERIOUS = ("serious", "critical")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a demo whose tail leaks: verifies, pages, moves and frees."""
    folder = tmp_path_factory.mktemp("leak")
    command = [sys.executable, "-m", "speckv_debug", "demo", "--fault", "tail-leaked", "-o", "leak.speckv"]
    ran = subprocess.run(command, cwd=folder, text=True, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder / "leak.html"


@pytest.fixture(scope="module")
def tab(browser: Browser, page: Path) -> Opened:
    return opened(browser, page)


def chosen(tab: Opened) -> list[str]:
    return tab.page.locator("#steps [role=tab][aria-selected=true]").all_inner_texts()


def test_every_figure_of_the_run_is_drawn(tab: Opened) -> None:
    ids = (
        "accept-0",
        "distribution-0",
        "requests-0",
        "lengths-0",
        "owners-0-0",
        "pages-0-0",
        "moves-0",
        "frees-0",
    )
    for id in ids:
        assert tab.page.locator(f"#{id} .main-svg").count() >= 1, id
    assert tab.page.locator("#pages-0-0 .heatmaplayer image").count() == 1
    assert tab.page.locator("#owners-0-0 .scatterlayer .js-fill").count() >= 5
    assert tab.complaints == []


def test_the_map_names_pages_uses_and_holders_and_not_their_numbers(tab: Opened) -> None:
    words = tab.page.evaluate("document.getElementById('pages-0-0').data[0].text.flat()")
    assert any(" held by nobody, last granted to request " in said for said in words)
    assert any(
        re.fullmatch(r"pages? \d+( to \d+)?: committed KV of a request, request \S+", said) for said in words
    )
    assert any(re.fullmatch(r"pages? \d+( to \d+)?: free", said) for said in words)
    colours = tab.page.evaluate("document.getElementById('pages-0-0').data[0].colorscale.flat()")
    assert not any("var(" in str(colour) for colour in colours)


def test_the_step_of_the_finding_is_open_and_marked(tab: Opened) -> None:
    assert chosen(tab) == ["9 ✗"]
    assert tab.page.locator("#step-0-9 svg.tree").count() >= 1
    assert tab.page.locator("#step-0-6").is_hidden()


def test_a_click_on_a_point_opens_its_step_below(tab: Opened) -> None:
    click = "(step) => document.getElementById('accept-0').emit('plotly_click', { points: [{ x: step }] })"
    tab.page.evaluate(click, 6)
    assert chosen(tab) == ["6"] and tab.page.locator("#step-0-6").is_visible()
    assert tab.page.evaluate("document.activeElement.id") == "step-0-6-tab"
    tab.page.evaluate(click, 20)
    assert chosen(tab) == ["6"]
    assert "--steps 20:24" in tab.page.inner_text("#told")
    tab.page.evaluate(click, 20_000)
    assert tab.page.inner_text("#told") == "Step 20000: no verify was recorded there."


def test_a_real_click_on_the_drawn_line_opens_a_step(browser: Browser, page: Path) -> None:
    tab = opened(browser, page)
    tab.page.locator("#accept-0").scroll_into_view_if_needed()
    at = tab.page.evaluate(
        "document.getElementById('accept-0').data.find((t) => t.name === 'mean').x.indexOf(11)"
    )
    place = tab.page.locator("#accept-0 .scatterlayer .points path").nth(at).bounding_box()
    assert place is not None
    tab.page.mouse.move(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    tab.page.wait_for_timeout(300)
    tab.page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    until(tab.page, "document.activeElement.id === 'step-0-11-tab'")
    assert chosen(tab) == ["11"]


def test_tabs_are_walked_with_the_arrow_keys(tab: Opened) -> None:
    first = tab.page.locator("#steps [role=tab]").first
    first.click()
    tab.page.keyboard.press("ArrowRight")
    second = tab.page.locator("#steps [role=tab]").nth(1)
    assert second.get_attribute("aria-selected") == "true"
    assert tab.page.evaluate("document.activeElement.textContent") == second.inner_text()
    tab.page.keyboard.press("End")
    assert tab.page.locator("#steps [role=tab]").last.get_attribute("aria-selected") == "true"
    tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.role") == "tabpanel"


def test_a_telephone_scrolls_only_downwards(browser: Browser, page: Path) -> None:
    tab = opened(browser, page, width=400)
    tab.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert not tab.page.evaluate(RUNS_OVER)
    for button in tab.page.locator("#steps [role=tab]").all():
        button.click()
        assert not tab.page.evaluate(RUNS_OVER)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_fault(browser: Browser, page: Path, scheme: str) -> None:
    tab = opened(browser, page, scheme="dark" if scheme == "dark" else "light")
    found = Axe().run(tab.page).response["violations"]
    told = [
        f"{each['id']}: {node['html'][:160]}"
        for each in found
        for node in each["nodes"]
        if each["impact"] in SERIOUS
    ]
    assert told == []


def test_paper_keeps_the_drawings(browser: Browser, page: Path) -> None:
    tab = opened(browser, page)
    drawings = tab.page.locator("#findings svg[role=img]").count()
    pdf = tab.page.pdf(format="A4", print_background=True)
    assert (
        drawings >= 3
        and pdf.startswith(b"%PDF")
        and pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") >= 2
    )
    tab.page.emulate_media(media="print")
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    seen = "[...document.querySelectorAll('#findings svg[role=img], .plot .main-svg')].every((s) => s.getBoundingClientRect().width > 40)"
    assert tab.page.evaluate(seen)
    assert tab.page.locator("#steps [role=tabpanel][hidden]").count() == 0
    tab.page.emulate_media(media="screen")
    tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
    fits = "[...document.querySelectorAll('.plot')].every((p) => Math.abs(p.querySelector('.main-svg').getBoundingClientRect().width - p.clientWidth) < 2)"
    until(tab.page, fits)


def test_paper_theme_and_choice_before_plotly_is_read_do_no_harm(
    browser: Browser, page: Path, tmp_path: Path
) -> None:
    early = tmp_path / "early.html"
    early.write_text(page.read_text().replace(get_plotlyjs(), "/* not read yet */"))
    tab = Opened(browser.new_context(offline=True).new_page())
    tab.page.on("pageerror", lambda error: tab.complaints.append(str(error)))
    tab.page.goto(early.as_uri())
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
    tab.page.emulate_media(color_scheme="dark")
    tab.page.locator("select[data-figure]").first.select_option(index=1)
    tab.page.wait_for_timeout(50)
    assert tab.complaints == []


def test_processes_stand_in_tabs_and_their_figures_are_drawn_when_they_are_chosen(
    browser: Browser, tmp_path: Path
) -> None:
    case = Path(__file__).parents[1] / "recordings" / "rules" / "ACC-RANK" / "fail.jsonl"
    import_jsonl(case, tmp_path / "ranks.speckv")
    report = [sys.executable, "-m", "speckv_debug", "report", "ranks.speckv", "--replay", "off"]
    subprocess.run(report, cwd=tmp_path, check=True, capture_output=True)
    tab = opened(browser, tmp_path / "ranks.html")
    assert tab.page.locator("#figures [role=tab]").all_inner_texts() == ["tp1-pp0-dp0 ✗", "tp0-pp0-dp0"]
    assert tab.page.locator("#accept-1 .main-svg").count() >= 1
    assert tab.page.locator("#accept-0 .main-svg").count() == 0
    tab.page.locator("#figures [role=tab]").nth(1).click()
    until(tab.page, "document.querySelectorAll('#accept-0 .main-svg').length > 0")
    assert tab.page.locator("#accept-1").is_hidden()
    assert tab.complaints == []
