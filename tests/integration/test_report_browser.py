"""The report in a real browser: opens from disk, loads nothing, draws, stays inside a narrow screen, runs no text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page

from speckv_debug.model.text import printable
from tests.opened_report import RUNS_OVER, Opened, opened, until
from tests.reported import HOSTILE, broken_run, hostile_run

EMPTY = """() => [...document.querySelectorAll('.plot')].filter((plot) => {
  const marks = plot.querySelectorAll('.js-line, .point path, .heatmaplayer image');
  return ![...marks].some((mark) => mark.getBBox().width > 0);
}).map((plot) => plot.id)"""
"""Figures in which nothing with a width was drawn."""


PLOTS = "[...document.querySelectorAll('.plot')].map((plot) => plot.id)"
LABELLED = "(id) => document.getElementById(id).data.flatMap((t, k) => (t.hoverinfo === 'skip' || t.visible === false ? [] : [k]))"
REST = """([id, curve]) => {
  const plot = document.getElementById(id);
  const trace = plot.data[curve];
  const point = trace.z ? { xval: trace.x[0], yval: trace.y[0] } : [{ curveNumber: curve, pointNumber: 0 }];
  Plotly.Fx.hover(plot, point, "xy");
}"""
LABEL = "(id) => [...document.querySelectorAll(`#${id} .hoverlayer text`)].map((each) => each.textContent).join(' ')"
NAMED = (("requests-0", 0), ("lengths-0", 0), ("frees-0", 0))
"""Figures and traces whose labels have to show the recorded name."""


def shown(tab: Opened, id: str) -> dict[int, str]:
    """Trace → its label at its first point."""
    labels: dict[int, str] = {}
    for curve in tab.page.evaluate(LABELLED, id):
        tab.page.evaluate(REST, [id, curve])
        tab.page.wait_for_timeout(120)  # plotly looks at the pointer twenty times a second
        labels[curve] = str(tab.page.evaluate(LABEL, id))
    return labels


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
    run = hostile_run(tmp_path_factory.mktemp("hostile")).path
    report(run)
    return run.with_suffix(".html")


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
    assert wide.page.locator(".plot").count() == 5
    assert wide.page.locator("#accept-0 .scatterlayer .js-line").count() >= 1
    assert wide.page.locator("#distribution-0 .bars .point").count() == 3
    assert wide.page.locator("#lengths-0 .scatterlayer .js-line").count() == 2
    assert wide.page.locator("#requests-0 .bars .point").count() == 1
    assert wide.page.locator("#moves-0 .scatterlayer .js-line").count() >= 2
    assert wide.page.evaluate(EMPTY) == []


def test_a_narrow_screen_does_not_scroll_sideways(narrow: Opened) -> None:
    narrow.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    assert not narrow.page.evaluate(RUNS_OVER)


def test_a_wide_screen_does_not_scroll_sideways(wide: Opened, dark: Opened) -> None:
    assert not wide.page.evaluate(RUNS_OVER)
    assert not dark.page.evaluate(RUNS_OVER)


def test_text_from_the_recording_is_shown_and_never_run(narrow: Opened, hostile: Path) -> None:
    assert narrow.complaints == []
    assert narrow.requests == [hostile.as_uri()]
    assert narrow.page.title() != "owned"
    assert narrow.page.locator("img").count() == 0
    labels = {id: shown(narrow, id) for id in narrow.page.evaluate(PLOTS)}
    assert len(labels) == 9 and all(all(said.values()) for said in labels.values()), labels
    for id, trace in NAMED:
        assert printable(HOSTILE) in labels[id][trace], labels[id]
    assert (
        narrow.page.locator(".plot svg a, .plot svg b, .plot svg script, .plot svg foreignObject").count()
        == 0
    )
    assert narrow.page.evaluate("document.title").count("owned") == 1, "in the file's name alone"
    assert narrow.complaints == []
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


def test_no_handler_form_or_image_that_got_into_the_page_would_do_anything(
    browser: Browser, broken: Path, tmp_path: Path
) -> None:
    own = "document.title='owned'"
    bait = (
        f'<img id="i" src="http://127.0.0.1:9/x.png" onerror="{own}"><img src="x.png" onerror="{own}">'
        f'<a id="a" href="javascript:{own}" onclick="{own}">a</a>'
        '<form action="http://127.0.0.1:9/"><button id="b">b</button></form><base href="http://127.0.0.1:9/">'
        '<iframe srcdoc="x"></iframe><link rel="stylesheet" href="http://127.0.0.1:9/x.css">'
    )
    slipped = broken.read_text(encoding="utf-8").replace("<main>", f"{bait}<main>", 1)
    (tmp_path / "slipped.html").write_text(slipped, encoding="utf-8")
    tab = opened(browser, tmp_path / "slipped.html")
    for place in ("a", "b"):
        tab.page.locator(f"#{place}").dispatch_event("click")
    tab.page.wait_for_timeout(100)
    assert tab.page.title() != "owned" and tab.page.url == (tmp_path / "slipped.html").as_uri()
    assert not [url for url in tab.requests if url.startswith("http") and not blocked(tab, url)]
    for directive in ("img-src", "form-action", "base-uri", "script-src"):
        assert any(directive in words for words in tab.complaints), (directive, tab.complaints)


def blocked(tab: Opened, url: str) -> bool:
    """Whether the page's policy stopped a request, which a browser reports as one that was begun."""
    return any(url in words and "Content Security Policy" in words for words in tab.complaints)


def test_two_reports_of_one_recording_are_the_same_bytes(broken: Path) -> None:
    report(broken.with_suffix(".speckv"), "-o", "again.html")
    assert (broken.parent / "again.html").read_bytes() == broken.read_bytes()
