"""Recording must not disturb: hooks that raise, a collector that lets go, no recording at all."""

from __future__ import annotations

import pytest
from running import Run
from scenarios import ATTACHED, BROKEN_HOOKS, PLAIN


@pytest.mark.parametrize("scenario", [BROKEN_HOOKS.name])
def test_hooks_that_raise_are_switched_off_and_the_engine_goes_on(run: Run, runs) -> None:
    assert run.exit_code == 0, run.stderr[-2000:]
    assert run.tokens == runs["topk2-page1"].tokens
    texts = [note.text for note in run.of("note")]
    for hook in ("move", "alloc_spec"):
        assert any(
            text.startswith(f"hook {hook} failed and was switched off: RuntimeError: broken")
            for text in texts
        )
    assert len(texts) == len(set(texts)), "each failure is said once"


@pytest.mark.parametrize("scenario", [BROKEN_HOOKS.name])
def test_what_a_broken_hook_recorded_is_no_longer_claimed(run: Run) -> None:
    info = run.process.info
    assert {"move", "alloc", "table_write"}.isdisjoint(info.tables)
    assert {"accept", "compact:predict", "release"} <= set(info.tables)
    assert info.hooks["move"] is None
    assert run.of("move") == []
    findings = [f for f in run.report["findings"] if f["severity"] in ("error", "warning")]
    assert findings == [], "what is missing accuses nobody"


@pytest.mark.parametrize("scenario", [ATTACHED.name])
def test_attach_records_what_the_plugin_records(run: Run, runs) -> None:
    assert run.exit_code == 0, run.stderr[-2000:]
    assert run.process.info.from_start
    assert run.process.problems == ()
    assert run.tokens == runs[PLAIN.name].tokens
    assert len(run.of("accept")) >= 60
    assert run.report["verdict"] == "clean"


@pytest.mark.parametrize("scenario", [PLAIN.name])
def test_without_the_variable_nothing_is_recorded(run: Run) -> None:
    assert run.exit_code == 0, run.stderr[-2000:]
    assert not run.out.exists()
    assert "speckv" not in run.stderr
