"""A local Ray whose worker builds a real SGLang scheduler, as SGLang's own scheduler actor does.

    speckv-debug record -o x.speckv -- python tests/engine/ray_actor.py --sglang DIR

The actor stands in for `SchedulerActor`: it loads no plugins, so only the worker's setup hook can bring ours.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
AFTERWARDS_S = 3.0
"""Ray kills its workers: what they recorded has to be on disk by then."""
HOOK = "speckv_debug.collectors.sglang.plugin.register"


class Actor:
    """Builds a scheduler and answers a script of requests."""

    def run(self, sglang: str) -> dict[str, list[int]]:
        """Each request's output tokens."""
        sys.path.insert(0, str(HERE))
        import building
        import driving
        from workloads import waves

        building.boot(sglang, 1, "intel_amx")
        scheduler = building.build(
            0.06,
            "LlamaForCausalLM",
            attention_backend="intel_amx",
            page_size=1,
            max_total_tokens=1024,
            max_running_requests=4,
            speculative_algorithm="STANDALONE",
            speculative_num_steps=3,
            speculative_eagle_topk=2,
            speculative_num_draft_tokens=6,
        )
        return driving.drive(scheduler, waves(3, 12), overlap=False)


def main() -> None:
    """Start Ray, run the actor, end Ray."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sglang", required=True, metavar="DIR")
    sglang = parser.parse_args().sglang
    import ray

    inherited = {name: value for name, value in os.environ.items() if name.startswith(("SPECKV", "PYTHON"))}
    environment: dict[str, Any] = {"worker_process_setup_hook": HOOK, "env_vars": inherited}
    ray.init(num_cpus=1, include_dashboard=False, object_store_memory=80_000_000, runtime_env=environment)
    actor = ray.remote(Actor).options(num_cpus=1).remote()
    print(ray.get(actor.run.remote(sglang)))
    time.sleep(AFTERWARDS_S)
    ray.shutdown()


if __name__ == "__main__":
    main()
