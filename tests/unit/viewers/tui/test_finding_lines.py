"""A finding has the words of `check`: what was due, what the engine did."""

from __future__ import annotations

import dataclasses
import re

from speckv_debug.viewers.tui.outline import Entry
from speckv_debug.viewers.tui.widgets import finding_detail, findings_here
from tests.inspected import broken

FINDING = next(finding for finding in broken().findings if finding.expected and finding.actual)


def test_above_a_step() -> None:
    text = "\n".join(line.plain for line in findings_here.finding_lines(FINDING, 80))
    assert re.search(r"^ +due +\S", text, re.MULTILINE) and re.search(r" engine +\S", text)
    assert "expected" not in text and "actual" not in text


def test_in_full() -> None:
    text = "\n".join(line.plain for line in finding_detail.finding_lines(Entry(FINDING, 0, None), None, 80))
    assert re.search(r"^due +\S", text, re.MULTILINE) and re.search(r"^engine +\S", text, re.MULTILINE)
    assert "expected" not in text and "actual" not in text


def test_the_request_s_row_is_none_of_the_tree() -> None:
    entry = Entry(dataclasses.replace(FINDING, row=4, epoch=1), 0, None)
    text = "\n".join(line.plain for line in finding_detail.finding_lines(entry, None, 80))
    assert re.search(r"^request row +4, epoch 1$", text, re.MULTILINE)
