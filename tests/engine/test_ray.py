"""A scheduler in a Ray worker, where SGLang loads no plugins: the worker's setup hook brings ours."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from running import HERE, environment, release_folder

from speckv_debug.recording.reader import Recording

RAY = Path(sys.prefix) / "ray"
"""Where `make setup-releases` puts Ray, beside the environment: nothing else is to meet its dependencies."""


@pytest.mark.full
def test_a_scheduler_in_a_ray_worker_is_recorded(tmp_path: Path) -> None:
    assert (RAY / "ray").is_dir(), f"{RAY} is missing: make setup-releases fetches it"
    out = tmp_path / "run.speckv"
    path = os.pathsep.join([environment().get("PYTHONPATH", ""), str(HERE.parents[1]), str(RAY)])
    variables = environment() | {"PYTHONPATH": path.lstrip(os.pathsep), "RAY_USAGE_STATS_ENABLED": "0"}
    variables |= {"RAY_AUTH_MODE": "disabled", "RAY_TMPDIR": "/tmp"}
    command = [sys.executable, "-m", "speckv_debug", "record", "-o", str(out), "--", sys.executable]
    command += [str(HERE / "ray_actor.py"), "--sglang", release_folder("0.5.23")]
    ran = subprocess.run(command, capture_output=True, text=True, env=variables, timeout=600, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    (process,) = Recording.open(out).processes
    assert process.info.from_start
    events = list(process.events())
    assert sum(e.table == "accept" for e in events) >= 6
    assert {e.request for e in events if e.table == "release"} == {"r0", "r1", "r2"}
