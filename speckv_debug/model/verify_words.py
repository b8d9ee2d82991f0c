"""A verify in words: what no drawing of it shows, and the values that a compaction moves."""

from __future__ import annotations

from collections.abc import Iterator

from speckv_debug.model.text import printable
from speckv_debug.model.verify import VerifyStep

SHORT = 4
"""Hexadecimal digits of a fingerprint that are shown."""
LARGEST_TOKEN = 1 << 31


def verify_facts(step: VerifyStep) -> Iterator[str]:
    """Algorithm, sampling, tree, lengths, where it stands in the recording; the important things first."""
    accepted = "?" if step.accept_len is None else step.accept_len
    yield f"accepted {accepted} of {len(step.tree.tokens)} rows"
    if step.seq_len is not None:
        yield f"seq_len {step.seq_len} → {'?' if step.new_seq_len is None else step.new_seq_len}"
    if step.tree.parents:
        yield "chain" if step.tree.is_chain else "tree"
    yield from (printable(word) for word in (step.algorithm, step.sampling) if word)
    if step.simulated and step.sampling is None:
        yield "simulated by setting"
    if step.row is not None:
        yield f"request row {step.row}" + ("" if step.epoch is None else f", epoch {step.epoch}")
    yield f"event {step.seq}"


def moved_value(value: int | None) -> str:
    """A token id, or the end of a fingerprint; `?` of one that is not known."""
    if value is None:
        return "?"
    return str(value) if 0 <= value < LARGEST_TOKEN else f"…{value & 0xFFFF:0{SHORT}x}"
