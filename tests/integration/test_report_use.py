"""The report as people use it: what figures say where the pointer rests, a click that opens a step, tabs and keyboard."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from speckv_debug.recording.jsonl import import_jsonl
from tests.opened_report import RUNS_OVER, Opened, opened, until, without_plotly
from tests.reported_demo import leaking

STOP = """(() => {
  const here = document.activeElement;
  return here.classList.contains("scroll") ? `scroll ${here.scrollWidth > here.clientWidth}` : here.tagName;
})()"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return leaking(tmp_path_factory.mktemp("leak"))


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


LABELS = {
    "accept-0": {"mean": r"step 9: mean [\d.]+, from \d to \d, 4 verifies"},
    "distribution-0": {None: r"1 accepted: \d+ verifies, [\d.]+ %"},
    "requests-0": {None: r"request r\d: mean [\d.]+, from \d to \d, \d+ verifies"},
    "lengths-0": {"r1": r"(committed|allocated) \d+, engine step \d+"},
    "owners-0-0": {"free": r"step 9, free: \d+ pages", "committed KV of a request": r"step 9, committed KV of a request: \d+ pages"},
    "pages-0-0": {None: r"engine step 9, page \d+: .+"},
    "moves-0": {
        "pairs a step": r"step 9: [\d.]+ pairs a step, from \d+ to \d+",
        "already in place, %": r"step 9: [\d.]+ % of the pairs are already in place",
    },
    "frees-0": {"overshoot": r"step \d+: \d+ slots, overshoot"},
}  # fmt: skip
"""Figure → trace → what its label says; every other trace of the figure skips its labels or has one of the same form."""
REST = """([id, name, x]) => {
  const plot = document.getElementById(id);
  const curve = plot.data.findIndex((trace) => name === null || trace.name === name);
  const trace = plot.data[curve];
  const point = { curveNumber: curve, pointNumber: Math.max(0, trace.x.indexOf(x)) };
  Plotly.Fx.hover(plot, trace.z ? { xval: x, yval: trace.y[3] } : [point], "xy");
}"""
LABEL = "(id) => [...document.querySelectorAll(`#${id} .hoverlayer .hovertext`)].map((each) => each.textContent).join(' ')"


@pytest.mark.parametrize("id", LABELS)
def test_the_label_where_the_pointer_rests_names_everything(tab: Opened, id: str) -> None:
    for name, words in LABELS[id].items():
        tab.page.evaluate(REST, [id, name, 9])
        tab.page.wait_for_timeout(150)  # plotly looks at the pointer twenty times a second
        said = str(tab.page.evaluate(LABEL, id))
        assert re.search(words, said), said
        assert not re.search(r"undefined|NaN|null|%\{|\$\{", said)


def test_every_trace_has_a_label_of_its_own_or_none(tab: Opened) -> None:
    traces = tab.page.evaluate(
        "[...document.querySelectorAll('.plot')].flatMap((p) => p.data.map((t) => [p.id, t.name, t.hoverinfo, t.hovertemplate]))"
    )
    assert len(traces) > 20
    assert [trace for trace in traces if (trace[2] == "skip") == bool(trace[3])] == []


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


@pytest.mark.parametrize("width", [1280, 400])
def test_only_what_scrolls_is_a_stop_on_the_way_with_tab(
    browser: Browser, page: Path, tmp_path: Path, width: int
) -> None:
    tab = opened(browser, without_plotly(page, tmp_path), width=width, figures=False)
    stops: list[str] = []
    while (here := str(tab.page.evaluate(STOP))) != "BODY" or not stops:
        stops.append(here)
        tab.page.keyboard.press("Tab")
        assert len(stops) < 40
    boxes = [stop for stop in stops if stop.startswith("scroll")]
    assert set(boxes) == ({"scroll true"} if width == 400 else set())
    scrolling = tab.page.evaluate(
        "[...document.querySelectorAll('.scroll')].filter((b) => b.checkVisibility({ contentVisibilityAuto: true }) && b.scrollWidth > b.clientWidth).length"
    )
    assert len(boxes) == scrolling


def test_a_telephone_scrolls_only_downwards(browser: Browser, page: Path) -> None:
    tab = opened(browser, page, width=400)
    tab.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert not tab.page.evaluate(RUNS_OVER)
    for button in tab.page.locator("#steps [role=tab]").all():
        button.click()
        assert not tab.page.evaluate(RUNS_OVER)


def test_paper_theme_and_choice_before_plotly_is_read_do_no_harm(
    browser: Browser, page: Path, tmp_path: Path
) -> None:
    tab = opened(browser, without_plotly(page, tmp_path), figures=False)
    tab.complaints.clear()  # that the script which stands in plotly's place may not run
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
