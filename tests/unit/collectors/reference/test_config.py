"""Settings that the engine can't run are refused in words."""

from typing import Any

import pytest

from speckv_debug.collectors.reference.config import EngineConfig


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"slots": 10, "page_size": 4}, "multiple of page_size"),
        ({"topk": 1, "num_draft_tokens": 6}, "num_steps \\+ 1"),
        ({"topk": 2, "num_steps": 3, "num_draft_tokens": 3}, "must lie in"),
        ({"topk": 2, "num_steps": 2, "num_draft_tokens": 8}, "must lie in"),
        ({"page_size": 32, "max_prefill_tokens": 16}, "must hold a page"),
        ({"sampling": "rejection"}, "needs topk 1"),
        ({"drafting": "dspark"}, "greedy chain"),
        ({"recurrent": True}, "need compressed"),
        ({"compressed": True}, "window of 8"),
        ({"indexed": 8}, "need compressed"),
        ({"compressed": True, "window": 8}, "pages of 4, 8 or 16"),
        ({"compressed": True, "window": 8, "page_size": 4}, "4 layers"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        EngineConfig(**settings)


def test_a_row_has_room_for_the_longest_request_and_its_reserve() -> None:
    config = EngineConfig(
        topk=4, num_steps=4, num_draft_tokens=10, page_size=64, slots=640, max_prefill_tokens=64
    )
    assert config.reserve == 1024
    assert config.row_width >= config.context_len + config.reserve + config.page_size - 1
