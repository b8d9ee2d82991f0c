"""The shadow cache on the device holds what it holds on the CPU."""

from __future__ import annotations

from typing import cast

import numpy as np
import pytest

from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.view import ProcessView
from tests.paged_engine import PagedEngine, spoil

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("seed", range(20))
def test_every_look_finds_the_same(seed: int) -> None:
    engine = PagedEngine(seed, steps=40)
    spoil(engine, seed)
    process = cast(ProcessRecording, engine.run.stream())
    here, there = (ProcessView(process, device).shadow for device in ("cpu", "cuda"))
    assert len(here.looks) > 0
    assert np.array_equal(here.finds.found, there.finds.found)
    assert np.array_equal(here.failed, there.failed)
