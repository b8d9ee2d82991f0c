"""What every run of the real engine is held against, whatever it was made for."""

from __future__ import annotations

from collections.abc import Collection

from running import Run


def require_hooks_held(run: Run, tables: Collection[str]) -> None:
    """Every hook found its function, none failed, and at least these tables are recorded whole."""
    assert None not in run.process.info.hooks.values()
    assert set(run.process.info.tables) >= set(tables)
    assert [note.text for note in run.of("note") if note.level != "info"] == []


def serious(run: Run) -> set[tuple[str, str | None, int | None]]:
    """Rule, request and step of each error and warning."""
    return {
        (f["rule"], f["request"], f["step"])
        for f in run.report["findings"]
        if f["severity"] in ("error", "warning")
    }


def require_clean(run: Run) -> None:
    """Nothing is found, by the report and by the exit code."""
    assert serious(run) == set()
    assert (run.report["verdict"], run.report["exit_code"]) == ("clean", 0)


def require_nearly_all_judged(run: Run, but: str = "") -> None:
    """At least 95 % of all instances are judged, those that are unknown for the reason `but` left out."""
    checked = sum(run.report["checked"].values())
    unknown = sum(entry["instances"] for entry in run.report["unknown"] if entry["why"] != but)
    assert checked >= 0.95 * (checked + unknown)
