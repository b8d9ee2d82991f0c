"""docs/rules/ says what the rules say now; `python docs/rule_pages.py` writes it anew."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from speckv_debug.checks import RULES
from speckv_debug.cli import main

DOCS = Path(__file__).parents[2] / "docs"
REMEDY = "run python docs/rule_pages.py"


@pytest.fixture(scope="module")
def writer() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rule_pages", DOCS / "rule_pages.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("id", RULES)
def test_the_page_is_up_to_date(id: str, writer: ModuleType) -> None:
    path = DOCS / "rules" / f"{id}.md"
    assert path.exists(), REMEDY
    assert path.read_text(encoding="utf-8") == writer.page(RULES[id]), REMEDY


def test_the_list_is_up_to_date_and_no_page_is_left_over(writer: ModuleType) -> None:
    assert (DOCS / "rules" / "README.md").read_text(encoding="utf-8") == writer.index(), REMEDY
    assert {path.name for path in (DOCS / "rules").iterdir()} == {"README.md", *(f"{id}.md" for id in RULES)}
    assert {id.partition("-")[0] for id in RULES} <= set(writer.FAMILIES)


@pytest.mark.parametrize("id", RULES)
def test_the_page_shows_a_finding_of_its_rule_and_a_reason_for_an_unknown(id: str) -> None:
    page = (DOCS / "rules" / f"{id}.md").read_text(encoding="utf-8")
    assert f"  {id} · " in page.partition("$ speckv-debug check")[2]
    assert "root cause" in page and "Can't be judged" in page and "unknown.jsonl): ." not in page
    assert f"check {id}.speckv --rule {id}\n✗ {id}.speckv" in page


def test_explain_names_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "mov-pair"]) == 0
    assert "docs/rules/MOV-PAIR.md" in capsys.readouterr().out
