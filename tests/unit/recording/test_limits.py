"""Sizes and steps as people write them."""

import logging

import pytest

from speckv_debug.errors import UsageError
from speckv_debug.recording.limits import Limits, parse_size, parse_steps


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1048576", 1 << 20),
        ("512KiB", 512 << 10),
        ("20 MiB", 20 << 20),
        ("1.5gib", 3 << 29),
        ("7B", 7),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1KB", "many", "1e9", "0.1", "1 2", "inf", "nan", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is no size"):
        parse_size(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "ten", "٣", "0x10"])
def test_what_is_no_number_of_steps_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="no number of steps"):
        parse_steps(text)


def test_limits_come_from_the_environment(caplog: pytest.LogCaptureFixture) -> None:
    assert Limits.from_env({}) == Limits()
    env = {"SPECKV_DEBUG_STEPS": "20", "SPECKV_DEBUG_MAX_SIZE": "1MiB"}
    assert Limits.from_env(env) == Limits(steps=20, max_bytes=1 << 20)
    with caplog.at_level(logging.WARNING):
        assert Limits.from_env({"SPECKV_DEBUG_STEPS": "some"}) == Limits()
    assert "some" in caplog.text
