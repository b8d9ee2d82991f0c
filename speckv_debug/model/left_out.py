"""What a baseline and a configuration took away from a result, in words: the same in every form of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speckv_debug.model.finding import CheckResult
from speckv_debug.model.text import amount


def left_out(result: CheckResult) -> Iterator[tuple[str, str]]:
    """A name and a sentence each: known findings, severities that were lowered to notes, rules that did not run."""
    if (known := result.known) is not None:
        said = f"{amount(known.total, 'finding')} of the baseline left out{_each(known.findings)}"
        stale = f"; {known.unmatched:,} of its entries {'fits' if known.unmatched == 1 else 'fit'} nothing"
        yield "known", said + (stale if known.unmatched else "")
    if result.lowered:
        total = amount(sum(result.lowered.values()), "finding")
        yield "lowered", f"{total} to notes{_each(result.lowered)}, by the configuration"
    if result.disabled:
        yield "disabled", f"{', '.join(result.disabled)}, by the configuration"


def _each(counts: Mapping[str, int]) -> str:
    each = ", ".join(f"{rule} {count:,}" for rule, count in counts.items())
    return f" ({each})" if each else ""
