"""The report of the failing recording of every rule draws what is wrong and marks it."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from tests.proofs import TEXT
from tests.reported import page

FOLDERS = sorted(
    path.parent for path in (Path(__file__).parents[1] / "recordings" / "rules").glob("*/fail.jsonl")
)
WITHOUT: dict[str, tuple[list[str], list[str]]] = {
    "RPL-BONUS": (
        [
            "bonus 31, the output token of row 3",
            "bonus 23",
            "bonus handed on",
            "X 23",
            "token replayed",
            "31",
        ],
        ["Draft tree", "KV of the accepted rows", "Same length, one token apart"],
    ),
    "RPL-STATE": (
        ["step_index 3", "step_index 2", "verify row", "3"],
        ["Draft tree", "KV of the accepted rows"],
    ),
}
"""Rules whose drawings mark nothing: the numbers that stand in tables beside them, and what is drawn.

A bonus and a kept state are those that were handed on: what replay says is due
stands in the tables.
"""


AROUND = (
    *("Pages around it", "Room", "What the release gives up"),
    *("Draft tree", "KV of the accepted rows", "Same length, one token apart"),
)
"""Drawings of the recording around a finding, whose numbers stand in tables beside them."""


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_what_is_wrong_is_drawn_and_marked(folder: Path, tmp_path: Path) -> None:
    import_jsonl(folder / "fail.jsonl", tmp_path / "x.speckv")
    recording = Recording.open(tmp_path / "x.speckv")
    result = check(recording, only=[folder.name])
    made = page(recording, result)
    assert f"<code>{folder.name}</code>" in made
    article = made.partition('<article class="finding')[2].partition("</article>")[0]
    assert result.findings[0].message.replace("'", "&#x27;").replace("<", "&lt;").replace(">", "&gt;") in made
    drawings = re.findall(
        r"<svg class=.*?</svg>|<svg.*?</svg>", article.partition('class="drawings"')[2], re.DOTALL
    )
    marked = any(
        "✗" in re.sub(r"<title>.*?</title>", "", drawing) for drawing in drawings if "timeline" not in drawing
    )
    for title, drawn_numbers in numbers_of(article):
        if title in AROUND:
            assert not drawn_numbers - set(re.findall(r"\d+", " ".join(cells(article)))), title
    if folder.name not in WITHOUT:
        assert marked
        return
    numbers, drawn = WITHOUT[folder.name]
    assert not marked and not set(numbers) - set(cells(article))
    titles = re.findall("<figcaption>(.*?)(?: · .*?)?</figcaption>", article)
    assert titles == drawn and len([each for each in drawings if "timeline" not in each]) == len(drawn)


def numbers_of(article: str) -> list[tuple[str, set[str]]]:
    """Each drawing's title and the numbers in it, the beginning of a cut scale left out."""
    found = re.findall("<figure><figcaption>(.*?)(?: · .*?)?</figcaption>(.*?)</figure>", article, re.DOTALL)
    return [
        (
            title,
            {
                n
                for said in TEXT.findall(figure)
                if not said.startswith(("from ", "position "))
                for n in re.findall(r"\d+", said)
            },
        )
        for title, figure in found
    ]


def cells(article: str) -> list[str]:
    """What stands in the tables of a finding."""
    return [html.unescape(said) for said in re.findall(r"<(?:td|dd|th)\b[^>]*>([^<]*)</", article)]


def test_every_rule_without_a_mark_exists() -> None:
    assert set(WITHOUT) <= set(RULES)
