"""One finding in full: the law, what was due, what the engine did, the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from textual.containers import ScrollableContainer
from textual.content import Content

from speckv_debug.model.consequences import summary
from speckv_debug.model.finding import Finding
from speckv_debug.model.text import amount, printable
from speckv_debug.viewers.tui import ink
from speckv_debug.viewers.tui.drawing import hanging
from speckv_debug.viewers.tui.inspection import Law
from speckv_debug.viewers.tui.outline import Entry
from speckv_debug.viewers.tui.widgets.evidence import evidence_lines
from speckv_debug.viewers.tui.widgets.finding_list import where
from speckv_debug.viewers.tui.widgets.lines import Said

LABEL = 12


class Unwrapped(Said):
    """What it says is laid out for its width; where even an evidence table's narrowest columns are wider, one scrolls sideways."""

    WRAPS = False


class FindingDetail(ScrollableContainer):
    """The finding under the cursor."""

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._entry: Entry | None = None
        self._law: Law | None = None
        self._then: Sequence[Finding] = ()

    def compose(self) -> Iterator[Said]:
        yield Unwrapped()

    def show(self, entry: Entry | None, law: Law | None, then: Sequence[Finding] = ()) -> None:
        """Draw `entry` and, in a line, what follows from it; or nothing."""
        self._entry, self._law, self._then = entry, law, then
        self.on_resize()
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        width = self.scrollable_content_region.width
        lines = [] if self._entry is None else finding_lines(self._entry, self._law, width, self._then)
        self.query_one(Said).say(*lines)


def finding_lines(
    entry: Entry, law: Law | None, width: int, then: Sequence[Finding] = ()
) -> Iterator[Content]:
    """The whole finding as lines of at most `width` cells; only the narrowest evidence table may be wider."""
    finding = entry.finding
    title = Content.assemble((finding.rule, ink.STRONG), (f" · {where(finding, True)}", ink.PLACE))
    yield from title.wrap(max(16, width))
    yield from Content.styled(printable(finding.message), ink.STRONG).wrap(max(16, width))
    yield Content("")
    if law is not None:
        yield from _field("law", law.sentence, width)
    for name, text in _fields(finding):
        yield from _field(name, text, width)
    if law is not None:
        yield from _field("look at", law.look_at, width)
    yield from _field("then", summary(then), width)
    for evidence in finding.evidence:
        yield Content("")
        yield from evidence_lines(evidence, width)
    yield Content("")
    yield from Content.styled(_way_on(entry), ink.FAINT).wrap(max(16, width))


def _fields(finding: Finding) -> Iterator[tuple[str, str | None]]:
    yield "due", finding.expected
    yield "engine", finding.actual
    yield "about", finding.about
    yield "request row", finding.row is not None and f"{finding.row}, epoch {_known(finding.epoch)}" or None
    yield "slots", _numbers(finding.slots)
    yield "pages", _numbers(finding.pages)
    yield (
        "again",
        f"{amount(finding.repeats, 'more time', 'more times')}, folded into this one"
        if finding.repeats
        else None,
    )
    yield "follows", f"from the finding at event {finding.cause}" if finding.cause is not None else None


def _way_on(entry: Entry) -> str:
    if entry.place is None:
        return f"no verify shows it: enter opens the events around {entry.finding.first_seq}"
    return f"enter opens its verify, e the events around {entry.finding.first_seq}"


def _field(name: str, text: str | None, width: int) -> Iterator[Content]:
    """The name once, the text beside it, wrapped; nothing without a text."""
    if not text:
        return
    yield from hanging(Content.styled(f"{name:<{LABEL}}", ink.FAINT), Content(printable(text)), width)


def _known(number: int | None) -> str:
    return "unknown" if number is None else str(number)


def _numbers(numbers: tuple[int, ...] | None, most: int = 24) -> str | None:
    if not numbers:
        return None
    rest = f" and {len(numbers) - most:,} more" if len(numbers) > most else ""
    return ", ".join(map(str, numbers[:most])) + rest
