"""From a broken instance to the finding about it."""

from __future__ import annotations

from collections.abc import Callable

from speckv_debug.checks.about import about
from speckv_debug.checks.folding import Fold
from speckv_debug.checks.rule import Details, Judgement, Rule, Scope
from speckv_debug.model.finding import Finding
from speckv_debug.replay.view import ProcessView

OnError = Callable[[str, Exception], None]


def finding_of(
    rule: Rule, view: ProcessView, scope: Scope, fold: Fold, verdict: Judgement, on_error: OnError
) -> Finding:
    """The finding about one broken instance."""
    details = _explained(rule, fold.index, verdict, on_error)
    place = details.place or scope.place(fold.index)
    return Finding(
        rule=rule.id,
        severity=details.severity or rule.severity,
        process=view.label,
        first_seq=place.seq,
        repeats=fold.repeats,
        expected=details.expected,
        actual=details.actual,
        slots=details.slots,
        pages=details.pages,
        evidence=details.evidence,
        message=details.message,
        ranks=details.extra.get("ranks"),
        step=place.step,
        request=place.request or view.names.of(place.row, place.epoch),
        row=place.row,
        epoch=place.epoch,
        pool=place.pool,
        about=about(rule.id, details.subject or place.pool, view.info),
    )


def _explained(rule: Rule, index: int, verdict: Judgement, on_error: OnError) -> Details:
    try:
        return verdict.explain(index)
    except Exception as error:  # noqa: BLE001 - the law is broken all the same
        on_error(rule.id, error)
        return Details(message=f"Broken: {rule.law}")
