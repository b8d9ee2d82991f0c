"""The report of the failing recording of every rule draws what is wrong and marks it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from speckv_debug.checks import RULES
from speckv_debug.checks.run import check
from speckv_debug.recording.jsonl import import_jsonl
from speckv_debug.recording.reader import Recording
from tests.reported import page

FOLDERS = sorted(
    path.parent for path in (Path(__file__).parents[1] / "recordings" / "rules").glob("*/fail.jsonl")
)
WITHOUT = {
    "TRC-GAP": "an event that is missing has no picture",
    "RPL-BONUS": "the strips show the bonus that was handed on; what was due stands beside them",
    "RPL-STATE": "the tree shows the path; rows due and kept stand beside it",
}
"""Rules whose drawings mark nothing, and why."""


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
    assert marked or folder.name in WITHOUT


def test_every_rule_without_a_mark_exists() -> None:
    assert set(WITHOUT) <= set(RULES)
