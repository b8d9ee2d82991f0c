"""The figures of the run with their words: who owns the pools, what moved, what was freed, what the recorder left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from speckv_debug.model.text import amount, cut
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.pool_series import POINTS, PoolSeries, pool_series
from speckv_debug.replay.pool_state import Use
from speckv_debug.replay.timeline import Timeline
from speckv_debug.viewers.html.caveats import caveats, lacks
from speckv_debug.viewers.html.chart import Chart, words
from speckv_debug.viewers.html.figures import COLOURS, Figure, Mark
from speckv_debug.viewers.html.markup import Html, element, table
from speckv_debug.viewers.html.pool_figures import OWNERS, heat_figure, owner_words, owners_figure
from speckv_debug.viewers.html.run_figures import counts_figure, moves_figure, requests_figure
from speckv_debug.viewers.html.run_series import Over, accepts_by_request, drops, frees, moves

MOST_POOLS = 3
MOST_LOOKED = 60
"""Steps of findings at whose ends the pages are looked at beside the ends of spans."""
COARSEST = 4
"""Of pages that several processes share, a span is at most so many times as long."""
MOVING = ("alloc", "free")
"""Tables without which nobody knows who owns a page."""


def request_chart(number: int, process: ProcessRecording, named: list[str]) -> Iterator[Chart]:
    """Accept lengths by request, without simulated acceptance."""
    frame, everybody = accepts_by_request(process, named)
    if len(frame):
        said = "Bar: mean of the request's verifies; thin line: from its lowest to its highest."
        if everybody > len(frame):
            said += f" {len(frame)} of {everybody:,} requests: those that a finding names, then those with the most verifies."
        yield Chart(requests_figure(f"requests-{number}", frame), "Accept length by request", words(said))


def pool_charts(
    number: int, process: ProcessRecording, marks: Sequence[Mark], parts: int
) -> Iterator[Chart | Html]:
    """Who owned the pages of each pool over time, as stacked areas and page by page; `parts` processes share the page."""
    if missing := [name for name in MOVING if name not in process.recorded_whole]:
        yield words(f"Who owns the pages is not known: {', '.join(missing)} was not recorded whole.")
        return
    found = [
        series
        for series in pool_series(
            Timeline(process, checkpoints=1), POINTS // min(parts, COARSEST), steps=_marked(marks)
        )
        if series.high[Use.UNKNOWN + 1 :].any()
    ]
    if not found:
        yield words("Who holds which page can't be followed: no grant or free of a page was recorded.")
    for place, series in enumerate(found[:MOST_POOLS]):
        name = f"{number}-{place}"
        title = f"Who owns the pages of pool {series.pool}"
        yield Chart(owners_figure(f"owners-{name}", series, marks), title, _owner_words(series), wide=True)
        title = f"Pages of pool {series.pool} over time"
        yield Chart(heat_figure(f"pages-{name}", series, marks), title, _heat_words(series), wide=True)
    if len(found) > MOST_POOLS:
        yield words(f"{amount(len(found) - MOST_POOLS, 'more pool')} not drawn.")


def _marked(marks: Sequence[Mark]) -> list[int]:
    """Steps of findings, which a figure of spans must not pass over."""
    return list(dict.fromkeys(mark.step for mark in marks))[:MOST_LOOKED]


def _owner_words(series: PoolSeries) -> Html:
    said = f"{amount(series.pages, 'page')} of {amount(series.page_size, 'slot')}, as the recorded events leave them at the end of {_looked(series)}"
    if not series.followed:
        said += " Who holds a page of this pool can't be followed here, only whether it is granted."
    uses = [use for use in OWNERS if series.high[use].any()]
    numbers = table(("owner", "fewest pages", "most", "at the end"), [_extremes(use, series) for use in uses])
    fold = element("details", element("summary", "The numbers"), numbers)
    return element("div", _owner_legend(series, uses), words(said), fold)


def _looked(series: PoolSeries) -> str:
    """Where owners were looked at."""
    if series.span == 1:
        return "each step. What comes and goes inside a step is not seen."
    return (
        f"each {series.span:,} steps. The fewest and most of a span are those at its end, after the steps whose grants and "
        f"frees leave the fewest and the most pages free, and after those of findings: {int(series.looked.sum()):,} points in all."
    )


def _extremes(use: Use, series: PoolSeries) -> tuple[object, ...]:
    low, high, last = series.low[use].min(), series.high[use].max(), series.last[use, -1]
    return owner_words(use, series), int(low), int(high), int(last)


def _heat_words(series: PoolSeries) -> Html:
    one = f"A row stands for {series.block} pages at the end of {_spans(series)}: the use that most of them have"
    said = one if series.block > 1 else f"Each page by its own, at the end of {_spans(series)}"
    loud = "one in two requests at once, held by nobody, in a transfer or in an open free group shows as soon as "
    seen = [
        *(["one page is"] if series.block > 1 else []),
        *(["it was so at any point looked at"] if series.span > 1 else []),
    ]
    said += f", but {loud}{', or '.join(seen)}." if seen else "."
    return element(
        "div", _owner_legend(series, [use for use in OWNERS if (series.blocks == use).any()]), words(said)
    )


def _owner_legend(series: PoolSeries, uses: Iterable[Use]) -> Html:
    keys = [
        element("span", element("i", class_=f"swatch owner-{use.name.lower()}"), owner_words(use, series))
        for use in uses
    ]
    return element("p", *keys, class_="legend")


def _name_legend(over: Over) -> Html:
    """The names of stacked bars in the order of their colours."""
    names = sorted(set(over.frame["name"]))
    keys = [
        element("span", element("i", class_=f"swatch colour-{at % COLOURS + 1}"), name)
        for at, name in enumerate(names)
    ]
    return element("p", *keys, class_="legend")


def _spans(series: PoolSeries) -> str:
    return "each step" if series.span == 1 else f"each {series.span:,} steps"


def event_charts(number: int, process: ProcessRecording, marks: Sequence[Mark]) -> Iterator[Chart | Html]:
    """Moves, frees by reason, what the recorder left out."""
    yield from caveats(process, "move", "free")
    yield _moves(number, moves(process), marks)
    yield _frees(number, frees(process), marks)
    yield _drops(number, drops(process), marks, lost=lacks(process, "drop"))


def _moves(number: int, moved: Over, marks: Sequence[Mark]) -> Chart | Html:
    if not len(moved.frame):
        return words("No move was recorded.")
    same = int(moved.frame["same"].sum())
    share = f"{100 * same / moved.total:.1f} %" if moved.total else "none"
    said = f"{amount(moved.total, 'pair')} in all, {share} of them already in place (source is target). {_point(moved)} Dotted, on the right axis: the share in place."
    return Chart(moves_figure(f"moves-{number}", moved, marks), "Moves", words(said))


def _frees(number: int, freed: Over, marks: Sequence[Mark]) -> Chart | Html:
    if not len(freed.frame):
        return words("No free was recorded.")
    figure = counts_figure(f"frees-{number}", freed, "slots freed", marks, "slots")
    said = f"{amount(freed.total, 'slot')} in all, by the reason that the engine's code path gives."
    return _counts(figure, "Frees by reason", freed, said)


def _drops(number: int, left: Over, marks: Sequence[Mark], *, lost: bool) -> Chart | Html:
    """`lost`: where the recorder says what it left out may itself be missing."""
    if not len(left.frame) and lost:
        return words("Whether the recorder left something out is not known: where it says so may be lost.")
    if not len(left.frame):
        return words("The recorder left nothing out.")
    figure = counts_figure(f"drops-{number}", left, "events left out", marks, "events")
    said = f"{'at least ' if left.at_least else ''}{amount(left.total, 'event')} in all, by table: what rests on them is unknown, never a finding."
    return _counts(figure, "Left out by the recorder", left, said)


def _counts(figure: Figure, title: str, over: Over, said: str) -> Chart:
    numbers = element("details", element("summary", "The numbers"), _totals(over))
    return Chart(figure, title, element("div", _name_legend(over), words(f"{said} {_bar(over)}"), numbers))


def _totals(over: Over) -> Html:
    """Of each name the sum, and the fewest and most of one step that has any."""
    each = over.frame.groupby("name", sort=True).agg(
        {"count": "sum", "steps": "sum", "low": "min", "high": "max"}
    )
    noun = "step" if over.axis == "step" else "event"
    columns = ("", "in all", f"{noun}s", f"fewest in such a {noun}", "most")
    return table(columns, [(cut(str(name), 200), *map(int, row)) for name, *row in each.itertuples()])


def _point(over: Over) -> str:
    """What a point of moves stands for: steps without a move are in no mean."""
    noun, article = ("step", "a") if over.axis == "step" else ("event", "an")
    if over.span == 1:
        return f"A point is one {noun}; {article} {noun} without a move has none."
    return f"A point stands for {over.span:,} {noun}s, mean and band (fewest to most) for those of them with a move."


def _bar(over: Over) -> str:
    noun = "step" if over.axis == "step" else "event"
    if over.span == 1:
        return f"A bar is one {noun}."
    return f"A bar is the sum over {over.span:,} {noun}s; where the pointer rests also the fewest and most of one of them."
