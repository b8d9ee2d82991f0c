"""All our kernels beside the real SGLang functions, in one process: see `real_accept.py` and `real_move.py`.

    python tests/engine/real_kernels.py DIR [SHARE]

Prints the two JSON objects that they print, as one under `accept` and `move`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parents[2])]

import beside
import building
import real_accept
import real_move

from tests.interpreted import interpret_faster


def main() -> None:
    """Boot, compare, print."""
    building.boot(sys.argv[1], 1, "triton")
    interpret_faster()
    real_accept.compare()
    real_move.compare()
    print(json.dumps({"accept": real_accept.counts, "move": beside.counts}))


if __name__ == "__main__":
    main()
