"""`launch_server` and `sglang serve` on a GPU, asked over HTTP and ended as a user ends them; recorded, and clean."""

from __future__ import annotations

import contextlib
import random
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.gpu.generate import REQUESTS, job
from tests.gpu.program import Program
from tests.gpu.serving import COMMON, Client, eagle, flags

pytestmark = pytest.mark.gpu
SERVERS = {
    "launch_server": ["-m", "sglang.launch_server"],
    "serve": ["-c", "from sglang.cli.main import main; main()", "serve"],  # what the script `sglang` does
}


def free_port() -> int:
    """One that nobody has; the server takes the one 10,000 higher, too, which has to be a port."""
    while True:
        port = random.randrange(20_000, 30_000)
        with socket.socket() as listening, contextlib.suppress(OSError):
            listening.bind(("127.0.0.1", port))
            return port


def ask_for_much(client: Client) -> threading.Thread:
    """A request that is still running when the server is told to end."""

    def ask() -> None:
        prompt, sampling = job(0)
        try:
            client.ask(prompt, sampling | {"max_new_tokens": 1500})
        except OSError:
            return  # the server went away, as it should

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    time.sleep(1.0)
    return thread


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("server", SERVERS)
def test_a_server(server: str, number: signal.Signals, gpu: str, tmp_path: Path) -> None:
    port = free_port()
    command = [sys.executable, *SERVERS[server], *flags(COMMON | eagle(4) | {"port": port})]
    program, client = Program(tmp_path, gpu, command), Client(port)
    program.wait_for(client.is_healthy)
    outputs = client.ask_all()
    asking = ask_for_much(client)
    served = program.end_by(number)
    asking.join(20)
    assert len(outputs) == REQUESTS and all(outputs.values())
    assert "reported" in served.stderr
    served.is_whole()
    served.is_clean()
    assert number is signal.SIGINT or served.is_complete  # SIGTERM lets it finish what it has
