"""The tables that the outcomes make: kinds of change by what came of them, and by the rules that found them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from benchmarks.mutation.judging import Outcome
from benchmarks.mutation.kinds import LOSSES

GOALS = {"found": 0.98, "exact": 0.90}
"""Of the changes that matter and are no loss of the recorder."""
Key = Callable[[Outcome], str]


def report(outcomes: Sequence[Outcome], by: Key) -> Iterator[str]:
    """All tables as Markdown, then the shares that are due."""
    kinds = sorted({by(o) for o in outcomes}, key=lambda kind: (kind in LOSSES, kind))
    rows = [_counts(kind, [o for o in outcomes if by(o) == kind]) for kind in kinds]
    yield from markdown(_COLUMNS, [*rows, _counts("all", outcomes)])
    yield ""
    rules = sorted({rule for o in outcomes for rule in o.rules})
    found = Counter((by(o), rule) for o in outcomes for rule in o.rules)
    yield from markdown(
        ("kind", *rules), [(kind, *(str(found[kind, r] or "") for r in rules)) for kind in kinds]
    )
    yield ""
    yield from goals(outcomes)


_COLUMNS = (
    "kind", "changes", "of consequence", "found", "right family", "exact", "only unknown", "missed",
    "of none, found", "of none, unknown", "false alarms",
)  # fmt: skip


def _counts(kind: str, outcomes: Sequence[Outcome]) -> tuple[str, ...]:
    matter = [o for o in outcomes if o.consequence]
    rest = [o for o in outcomes if not o.consequence]
    silent = [o for o in matter if not o.found]
    numbers = (
        len(outcomes),
        len(matter),
        sum(o.found for o in matter),
        sum(o.family for o in matter),
        sum(o.exact for o in matter),
        sum(o.unknown for o in silent),
        sum(not o.unknown for o in silent),
        sum(o.found for o in rest),
        sum(o.unknown and not o.found for o in rest),
        sum(o.false_alarm for o in outcomes),
    )
    return (kind, *map(str, numbers))


def goals(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """The shares that are due, of changes that matter and are no loss."""
    faults = [o for o in outcomes if o.consequence and not o.is_loss]
    for name, due in GOALS.items():
        many = sum(getattr(o, name) for o in faults)
        share = many / len(faults) if faults else 1.0
        yield f"{name}: {many} of {len(faults)} changes of consequence, {share:.1%} (due {due:.0%})"


def missed(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """What matters and is not found, by table, column, kind and what differs first."""
    count = Counter((o.table, o.column, o.kind, o.consequence, o.unknown) for o in outcomes if o.missed)
    rows = [(*key[:4], "yes" if key[4] else "", str(n)) for key, n in count.most_common()]
    yield from markdown(("table", "column", "kind", "differs first", "unknown", "missed"), rows)


def inexact(outcomes: Iterable[Outcome]) -> Iterator[str]:
    """What matters and is found at another step or request, by table, column, kind and the findings."""
    some = (o for o in outcomes if o.consequence and not o.is_loss and o.found and not o.exact)
    count = Counter((o.table, o.column, o.kind, o.consequence, ", ".join(o.rules)) for o in some)
    rows = [(*key, str(n)) for key, n in count.most_common()]
    yield from markdown(("table", "column", "kind", "differs first", "found by", "inexact"), rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A table."""
    for row in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(row) + " |"
