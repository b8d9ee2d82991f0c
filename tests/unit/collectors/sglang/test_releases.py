"""Tiers of SGLang releases."""

from __future__ import annotations

import pytest

from speckv_debug.collectors.base import Capabilities, handshake
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.releases import KNOWN, promised, tier


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.5.12", "basic"),
        ("0.5.14", "basic"),
        ("0.5.15", "good"),
        ("0.5.18.post1", "good"),
        ("0.5.19", "full"),
        ("0.5.23", "full"),
        ("0.5.23rc1", "full"),
        ("0.5.24", "untested"),
        ("0.5.120", "untested"),
        ("0.5.1", "untested"),
        ("0.4.19", "untested"),
        ("main", "untested"),
        (None, "untested"),
    ],
)
def test_tier_of_a_release(release: str | None, expected: str) -> None:
    assert tier(release) == expected


def test_every_known_release_has_a_tier() -> None:
    assert [release for release in KNOWN if tier(release) == "untested"] == []


def test_basic_promises_accept_lengths_and_release_and_no_pages() -> None:
    basic, full = set(promised("0.5.12")), set(promised("0.5.23"))
    assert basic < full
    assert {targets.SAMPLE, targets.RESOLVE, targets.RELEASE} <= basic
    assert targets.WRITE_SPEC not in basic
    assert not any(target.optional for target in full)


def test_the_handshake_says_the_tier() -> None:
    assert handshake("sglang", "0.5.23", {}, Capabilities(), tier("0.5.23"))["adapter"] == "sglang (full)"
    assert handshake("other", "1", {}, Capabilities())["adapter"] == "other"
