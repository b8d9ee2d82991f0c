"""A ledger of dictionaries, for tests: free pages, what each row names, what waits in a group; nothing is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class PageModel:
    """The pool that a run's events leave behind.

    Attributes:
        held: Pages outside the free list.
        rows: Request row → position → slot, of the row's latest life.
    """

    def __init__(self, page_size: int, lines: Iterable[dict[str, Any]]) -> None:
        self.page_size = page_size
        self.held: set[int] = set()
        self.rows: dict[int, dict[int, int]] = {}
        self.waiting: dict[int, set[int]] = {}
        for line in lines:
            getattr(self, line["event"], lambda line: None)(line)

    def pages(self, line: dict[str, Any]) -> set[int]:
        return {slot // self.page_size for slot in line["slots"]}

    def row_alloc(self, line: dict[str, Any]) -> None:
        self.rows[line["row"]] = {}

    def alloc(self, line: dict[str, Any]) -> None:
        self.held |= self.pages(line)

    def table_write(self, line: dict[str, Any]) -> None:
        self.rows[line["row"]] |= {line["start"] + k: slot for k, slot in enumerate(line["slots"])}

    def lengths(self, line: dict[str, Any]) -> None:
        row = self.rows[line["row"]]
        self.rows[line["row"]] = {at: slot for at, slot in row.items() if at < line["allocated"]}

    def free(self, line: dict[str, Any]) -> None:
        if (group := line.get("group")) is None:
            self.held -= self.pages(line)
        else:
            self.waiting[group] |= self.pages(line)

    def free_group(self, line: dict[str, Any]) -> None:
        if line["action"] == "begin":
            self.waiting[line["group"]] = set()
        else:
            self.held -= self.waiting.pop(line["group"])
