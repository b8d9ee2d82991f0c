"""Why no verify is known: its table is damaged, was not recorded, has no file, or is empty."""

from __future__ import annotations

from speckv_debug.viewers.tui.unjudged import no_verify
from tests.inspected import LABEL, SmallProcess, SmallRun, clean, inspection, text_of
from tests.inspecting import inspecting


def said(*, verifies: int = 0, tables: tuple[str, ...] = ("accept",), problems: tuple[str, ...] = ()) -> str:
    process = SmallProcess(SmallRun(verifies), tables=tables)
    return no_verify(inspection(clean, process, problems=problems), LABEL)


def test_a_damaged_table_is_named_with_its_damage() -> None:
    damage = f"{LABEL}/accept/part-00000.parquet: not\x1b[2J readable"
    text = said(problems=("manifest.json: damaged", damage))
    assert text == f"no verify can be read: {LABEL}/accept/part-00000.parquet: not\\x1b[2J readable"


def test_damage_of_another_table_or_process_is_no_reason() -> None:
    others = (f"{LABEL}/move/part-00000.parquet: damaged", f"x{LABEL[1:]}/accept/part-00000.parquet: damaged")
    assert said(problems=others) == said()


def test_a_table_that_was_not_recorded() -> None:
    assert said(tables=("move",)) == "no verify is known: the table accept was not recorded"


def test_a_table_that_was_recorded_in_part_is_not_known_either() -> None:
    assert said(tables=("accept:tree",)) == said(tables=())


def test_a_table_without_a_file() -> None:
    assert said().startswith("no verify: no file of the table accept is there")


def test_an_empty_table() -> None:
    assert said(verifies=1) == "no verify: the table accept is empty"


async def test_the_overview_says_it() -> None:
    process = SmallProcess(SmallRun(0), tables=("move",))
    async with inspecting(inspection(clean, process), keys=()) as (app, _):
        assert "no verify is known: the table accept" in text_of(app)
