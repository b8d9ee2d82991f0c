"""One rule on a recording out of a few lines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from speckv_debug.checks.run import check
from speckv_debug.model.finding import CheckResult

Build = Callable[..., Any]


@pytest.fixture
def judge(record: Build) -> Build:
    """`judge(rule, line, …, **head)`: what the rule says; it must not raise."""

    def run(rule: str, *lines: dict[str, Any], **head: Any) -> CheckResult:
        return check(
            record(*lines, head=head), only=[rule], on_error=lambda rule, e: pytest.fail(f"{rule}: {e!r}")
        )

    return run
