"""The report without a mouse, without good eyes, on paper: no serious barrier on any page, every drawing on paper."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from tests.opened_report import opened, until, without_plotly
from tests.reported import hostile_run
from tests.reported import page as rendered
from tests.reported_demo import demo, leaking

Scheme = Literal["light", "dark"]
SERIOUS = ("serious", "critical")
RANKS = Path(__file__).parents[1] / "recordings" / "rules" / "ACC-RANK" / "fail.jsonl"
FULL = (pytest.mark.full,)
DRAWING = re.compile(
    rb"/S /Figure\n/Alt (?:\(.*?\)|<[0-9A-F]+>)\n/P \d+ 0 R\n(?:/Pg \d+ 0 R\n)?/K", re.DOTALL
)
"""In a tagged PDF: words for a drawing, and that something is drawn."""


DATA = ".js-line, .js-fill, .point path"
"""What plotly draws of the numbers themselves."""
COLOUR = (201, 17)
FILLED = re.compile(rb"([\d.]+) ([\d.]+) ([\d.]+) (?:rg|RG)\n")
SMALLEST_TEXT = {"screen": 8, "print": 7}
"""Pixels; one of paper is three quarters of a point."""
SIZES = """[...document.querySelectorAll('svg[role=img] text')].map((text) => {
  const drawing = text.ownerSVGElement;
  const width = drawing.getBoundingClientRect().width;
  return width ? parseFloat(getComputedStyle(text).fontSize) * (drawing.viewBox.baseVal.width ? width / drawing.viewBox.baseVal.width : 1) : 99;
})"""

FIGURE_SIZES = """[...document.querySelectorAll('.plot .main-svg text')].filter((text) => text.textContent).map((text) =>
  parseFloat(getComputedStyle(text).fontSize) * Math.hypot(text.getScreenCTM().a, text.getScreenCTM().b))"""
"""Of plotly's texts, as large as they stand on the page."""


def written(recording: Recording) -> Path:
    path = recording.path.parent / "written.html"
    path.write_text(rendered(recording, check(recording, replay="off")), encoding="utf-8")
    return path


def ranks(folder: Path) -> Path:
    """Two ranks, in tabs."""
    import_jsonl(RANKS, folder / "ranks.speckv")
    return written(Recording.open(folder / "ranks.speckv"))


WRITERS: dict[str, Callable[[Path], Path]] = {
    "leak": leaking,
    "hostile": lambda folder: written(hostile_run(folder)),
    "ranks": ranks,
    "clean": lambda folder: demo(folder, "clean"),
    "state": lambda folder: demo(folder, "state", "--fault", "clear-one-early"),
}
SEEN = {("leak", 1280, "light"), ("leak", 400, "dark"), ("hostile", 400, "light"), ("ranks", 1280, "dark"), ("clean", 400, "light")}  # fmt: skip
"""Looked at without the mark `full`: both widths, both schemes, and all pages but the largest."""
LOOKS = [(name, width, scheme) for name in WRITERS for width in (1280, 400) for scheme in ("light", "dark")]


@pytest.fixture(scope="module")
def page_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Each page is written when it is first looked at."""
    made: dict[str, Path] = {}

    def page(name: str) -> Path:
        if name not in made:
            made[name] = WRITERS[name](tmp_path_factory.mktemp(name))
        return made[name]

    return page


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [pytest.param(*look, marks=() if look in SEEN else FULL) for look in LOOKS],
)
def test_axe_finds_no_serious_fault(
    browser: Browser, page_of: Callable[[str], Path], name: str, width: int, scheme: Scheme
) -> None:
    tab = opened(browser, page_of(name), width=width, scheme=scheme)
    tab.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    found = Axe().run(tab.page).response["violations"]
    told = [
        f"{each['id']}: {node['html'][:160]}"
        for each in found
        for node in each["nodes"]
        if each["impact"] in SERIOUS
    ]
    assert told == []
    tab.page.context.close()


def test_paper_keeps_every_drawing(browser: Browser, page_of: Callable[[str], Path]) -> None:
    tab = opened(browser, page_of("leak"))
    drawings = tab.page.locator("svg[role=img]").count()
    pdf = tab.page.pdf(format="A4", print_background=True, tagged=True)
    assert drawings > 50
    assert len(DRAWING.findall(pdf)) == drawings
    tab.page.emulate_media(media="print")
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    seen = "[...document.querySelectorAll('svg[role=img], .plot .main-svg')].every((s) => s.getBoundingClientRect().width > 40)"
    assert tab.page.evaluate(seen)
    sizes = tab.page.evaluate(FIGURE_SIZES)
    assert len(sizes) > 50 and min(sizes) >= SMALLEST_TEXT["print"]
    assert tab.page.locator("#steps [role=tabpanel][hidden]").count() == 0
    tab.page.emulate_media(media="screen")
    tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
    fits = "[...document.querySelectorAll('.plot')].every((p) => Math.abs(p.querySelector('.main-svg').getBoundingClientRect().width - p.clientWidth) < 2)"
    until(tab.page, fits)


def test_paper_has_the_data_of_every_figure(browser: Browser, page_of: Callable[[str], Path]) -> None:
    tab = opened(browser, page_of("leak"))
    ids = tab.page.evaluate("[...document.querySelectorAll('.plot')].map((plot) => plot.id)")
    for number, id in enumerate(ids):
        tab.page.add_style_tag(content=f"#{id} :is({DATA}) {{ {painted(number)} }}")
    paper = streams(tab.page.pdf(format="A4", print_background=True))
    colours = {tuple(round(255 * float(part)) for part in each) for each in FILLED.findall(paper)}
    missing = [id for number, id in enumerate(ids) if (*COLOUR, number) not in colours]
    assert len(ids) == 8 and missing == ["pages-0-0"], "an image, which has no colour of its own"
    tab.page.add_style_tag(content="#pages-0-0 .heatmaplayer { display: none }")
    without = streams(tab.page.pdf(format="A4", print_background=True))
    assert paper.count(b" Do\n") == without.count(b" Do\n") + 1
    tab.page.add_style_tag(content="@media print { #moves-0 { display: none } }")
    colours = {
        tuple(round(255 * float(part)) for part in each) for each in FILLED.findall(streams(tab.page.pdf()))
    }
    assert [id for number, id in enumerate(ids) if (*COLOUR, number) not in colours] == [
        "pages-0-0",
        "moves-0",
    ]


def painted(number: int) -> str:
    """A colour that nothing else on the page has."""
    colour = f"rgb({COLOUR[0]} {COLOUR[1]} {number})"
    return f"stroke: {colour} !important; fill: {colour} !important; stroke-width: 2px !important"


def streams(pdf: bytes) -> bytes:
    """What is painted on all pages."""
    found = re.findall(rb"/FlateDecode[^>]*>>\s*stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL)
    return b"".join(zlib.decompressobj().decompress(each) for each in found)


@pytest.mark.parametrize("media", ["screen", "print"])
def test_no_text_of_a_drawing_is_too_small_to_read(
    browser: Browser, page_of: Callable[[str], Path], media: Literal["screen", "print"], tmp_path: Path
) -> None:
    tab = opened(browser, without_plotly(page_of("leak"), tmp_path), width=400 if media == "screen" else 703, figures=False)  # fmt: skip
    tab.page.emulate_media(media=media)
    tab.page.evaluate("document.querySelectorAll('details').forEach((fold) => { fold.open = true; })")
    sizes = tab.page.evaluate(SIZES)
    assert len(sizes) > 100
    assert min(sizes) >= SMALLEST_TEXT[media]


def test_a_drawing_that_paper_lost_would_be_missed(browser: Browser, page_of: Callable[[str], Path]) -> None:
    tab = opened(browser, page_of("ranks"))
    whole = len(DRAWING.findall(tab.page.pdf(tagged=True)))
    tab.page.add_style_tag(
        content="@media print { #findings figure:first-of-type svg { display: none !important } }"
    )
    assert 0 < len(DRAWING.findall(tab.page.pdf(tagged=True))) < whole
