"""Which GPU a test has."""

import pytest
import torch


@pytest.fixture
def gpu(request: pytest.FixtureRequest) -> str:
    """Processes of pytest take the GPUs in turn."""
    worker = getattr(request.config, "workerinput", {}).get("workerid", "gw0")
    return str(int(worker.removeprefix("gw")) % torch.cuda.device_count())
