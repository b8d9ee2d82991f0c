"""A launcher with a real SGLang scheduler in a spawned child, and the ways in which such a server ends.

    speckv-debug record -o x.speckv -- python tests/engine/launching.py --sglang DIR --end kill --progress FILE

The child runs the engine's own `run_scheduler_process`, plugins included; requests come from a script. Each turn
of its loop writes a line `monotonic_ns steps` to FILE. This process ends it as `Engine` and its launcher would.
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import multiprocessing
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

DRAFT = "LlamaForCausalLM"
STEPS = 10
LAST_S = 2.5
"""How long the engine goes on behind its first STEPS steps: longer than what may be lost."""
PATIENCE_S = 300


def arguments() -> argparse.Namespace:
    """How to run and how to end."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sglang", required=True, metavar="DIR")
    parser.add_argument("--end", required=True, choices=sorted(ENDS))
    parser.add_argument("--progress", required=True, type=Path, metavar="FILE")
    parser.add_argument("--ranks", type=int, default=1, help="tensor parallel ranks, a process each")
    return parser.parse_args()


def main() -> None:
    """Start the schedulers, wait for steps, end."""
    args = arguments()
    signal.signal(signal.SIGQUIT, lambda number, frame: _kill_children(children, then=os.getpid()))
    spawn = multiprocessing.get_context("spawn")
    port = _free_port()
    children = [spawn.Process(target=schedule, args=(vars(args), rank, port)) for rank in range(args.ranks)]
    for child in children:
        child.start()
    try:
        _wait_for_steps(args.progress, children)
        ENDS[args.end](args.progress, children)
    except KeyboardInterrupt:  # as `Engine.shutdown`, which the interpreter calls at its end
        _kill_children(children)


def _free_port() -> int:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return int(listening.getsockname()[1])


def _wait_for_steps(progress: Path, children: list[Any]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    begun = None
    while time.monotonic() < deadline:
        if not all(child.is_alive() for child in children):
            raise SystemExit("a scheduler died early")
        if begun is None and _steps(progress) >= STEPS:
            begun = time.monotonic()
        if begun is not None and time.monotonic() - begun > LAST_S:
            return
        time.sleep(0.05)
    raise SystemExit("the scheduler makes no steps")


def _steps(progress: Path) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(progress.read_text().splitlines()[-2].split()[1])
    return 0


def _kill_children(children: list[Any], then: int | None = None) -> None:
    """SIGKILL at once, as `kill_process_tree`; this process, too, if it is `then`."""
    for child in children:
        child.kill()
        child.join()
    if then is not None:
        os.kill(then, signal.SIGKILL)


def _kill(progress: Path, children: list[Any]) -> None:
    """`Engine.shutdown()`."""
    _stamp(progress)
    _kill_children(children)


def _graceful(progress: Path, children: list[Any]) -> None:
    """ShutdownReq, and 15 s until SIGKILL."""
    _order(progress, "shutdown")
    for child in children:
        child.join(15)
    _kill_children(children)


def _crash(progress: Path, children: list[Any]) -> None:
    """The scheduler raises, tells its parent by SIGQUIT, and the parent kills everything."""
    _order(progress, "raise")
    time.sleep(PATIENCE_S)


def _die(progress: Path, children: list[Any]) -> None:
    """The launcher is killed; its children asked the kernel to die with it."""
    _stamp(progress)
    os.kill(os.getpid(), signal.SIGKILL)


def _interrupted(progress: Path, children: list[Any]) -> None:
    """Ctrl-C: somebody sends SIGINT to the whole process group as soon as the order stands there."""
    _order(progress, "interrupt me")
    time.sleep(PATIENCE_S)


ENDS: dict[str, Callable[[Path, list[Any]], None]] = {
    "kill": _kill,
    "graceful": _graceful,
    "crash": _crash,
    "launcher": _die,
    "interrupt": _interrupted,
}


def _order(progress: Path, what: str) -> None:
    progress.with_suffix(".order").write_text(what)
    _stamp(progress)


def _stamp(progress: Path) -> None:
    progress.with_suffix(".ended").write_text(str(time.monotonic_ns()))


def schedule(args: dict[str, Any], rank: int, port: int) -> None:
    """In the child: the engine's own scheduler process, with scripted requests; its ranks meet at a port."""
    import building

    os.environ["SGLANG_CPU_OMP_THREADS_BIND"] = "|".join(["0"] * args["ranks"])
    building.boot(args["sglang"], 1, "intel_amx")
    import sglang.srt.managers.scheduler as module

    _script(module, Script(args["progress"] if rank == 0 else Path(os.devnull)))
    server_args, port_args = building.server_and_ports(
        DRAFT,
        tp_size=args["ranks"],
        attention_backend="intel_amx",
        page_size=1,
        max_total_tokens=1024,
        max_running_requests=8,
        speculative_algorithm="STANDALONE",
        speculative_num_steps=3,
        speculative_eagle_topk=2,
        speculative_num_draft_tokens=6,
    )
    port_args.nccl_port = port
    _, writer = multiprocessing.Pipe()
    given = {"server_args": server_args, "port_args": port_args, "pipe_writer": writer, "tp_rank": rank}
    signature = inspect.signature(module.run_scheduler_process).parameters.values()
    ranks = {
        each.name: None if each.name == "dp_rank" else 0 for each in signature if each.default is each.empty
    }
    module.run_scheduler_process(**{**ranks, **given})


class Script:
    """What the scheduler receives: a new request whenever fewer than four run, until it is told otherwise."""

    def __init__(self, progress: Path) -> None:
        self._progress = progress
        self._order = progress.with_suffix(".order")
        self._sent = 0
        self.scheduler: Any = None

    def receive(self, *args: Any, **kwargs: Any) -> list[Any]:
        """One turn of the loop."""
        from workloads import Job

        with self._progress.open("a") as lines:
            lines.write(f"{time.monotonic_ns()} {self.scheduler.forward_ct}\n")
        order = self._order.read_text() if self._order.exists() else ""
        if order == "raise":
            raise RuntimeError("raised on purpose")
        if order == "shutdown":
            from sglang.srt.managers.io_struct import ShutdownReq

            return [ShutdownReq()]
        if len(self.scheduler.running_batch.reqs or ()) >= 4:
            return []
        self._sent += 1
        prompt = tuple((7 * self._sent + 3 * each) % 60 + 3 for each in range(30))
        return [Job(at=0, rid=f"r{self._sent}", prompt=prompt, new_tokens=24).message()]


def _script(module: Any, script: Script) -> None:
    """Weights and requests come from here: behind the constructor, before the loop."""
    import building

    ready = module.Scheduler.get_init_info

    def get_init_info(scheduler: Any) -> Any:
        building.set_weights(scheduler, DRAFT, 0.06)
        script.scheduler = scheduler
        type(scheduler.request_receiver).recv_requests = staticmethod(script.receive)
        return ready(scheduler)

    module.Scheduler.get_init_info = get_init_info


if __name__ == "__main__":
    main()
