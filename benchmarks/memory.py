"""How much memory this process has held."""

from __future__ import annotations

import resource


def peak_mib() -> float:
    """The most memory that this process ever held, MiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
