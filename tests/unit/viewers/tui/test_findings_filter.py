"""Which findings a typed filter keeps, and filters by the finding under the cursor."""

from __future__ import annotations

import pytest

from speckv_debug.viewers.tui.findings_filter import FindingsFilter
from tests.inspected import broken, consequence, leak, swapped_move, text_of
from tests.inspecting import inspecting, until


@pytest.mark.parametrize(
    ("typed", "rules"),
    [
        ("rule:mov", ["MOV-PAIR"]),
        ("severity:error", ["MOV-PAIR", "LEN-TOKEN"]),
        ("severity:w", ["OWN-LEAK"]),
        ("request:7", ["MOV-PAIR", "LEN-TOKEN"]),
        ("request:7 step:813", ["LEN-TOKEN"]),
        ("process:tp0", ["MOV-PAIR", "LEN-TOKEN", "OWN-LEAK"]),
        ("process:tp1", []),
        ("severity:error position", ["LEN-TOKEN"]),
        ("holder", ["OWN-LEAK"]),
        ("colour:red", []),
    ],
)
def test_conditions_and_words(typed: str, rules: list[str]) -> None:
    asked = FindingsFilter.of(typed)
    assert [finding.rule for finding in broken().findings if asked.wants(finding)] == rules


def test_a_condition_of_a_finding_is_taken_and_given_up() -> None:
    asked = FindingsFilter.of("severity:error words").toggled("rule", swapped_move())
    assert asked.typed == "severity:error rule:MOV-PAIR words"
    assert asked.toggled("rule", consequence()).typed == "severity:error words"


def test_there_is_no_condition_where_the_finding_says_nothing() -> None:
    assert FindingsFilter().toggled("step", leak()).typed == ""


async def test_keys_narrow_and_escape_gives_up() -> None:
    async with inspecting() as (app, pilot):
        await pilot.press("j", "w")
        await until(pilot, lambda: "2 of 3" in text_of(app))
        assert "request:7" in text_of(app).splitlines()[0]
        assert next(line for line in text_of(app).splitlines() if line.lstrip("│").startswith("›")).count(
            "LEN"
        )
        await pilot.press("m", "r")
        await until(pilot, lambda: "1 of 3" in text_of(app))
        await pilot.press("escape")
        await until(pilot, lambda: "of 3" not in text_of(app).splitlines()[0])
