"""What a compaction did to the tensors of one verify: accepted rows come to the front of their block."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from speckv_debug.model.lettering import letter
from speckv_debug.model.text import printable
from speckv_debug.model.verify_words import moved_value
from speckv_debug.replay.verify_details import CompactedTensor
from speckv_debug.viewers.html.cells import Strip, draw_cells
from speckv_debug.viewers.html.markup import Html


def draw_compactions(tensors: Iterable[CompactedTensor]) -> Iterator[tuple[str, Html]]:
    """Title and picture of each tensor: the value in each accepted row before, above that at its place after."""
    for tensor in tensors:
        title = f"Compaction of {printable(tensor.tensor)}"
        yield title, draw_cells(_strip(tensor), title)


def _strip(tensor: CompactedTensor) -> Strip:
    pairs = list(zip(tensor.before, tensor.after, strict=True))
    return Strip(
        key="place k",
        keys=tuple(map(str, range(len(pairs)))),
        lanes=(
            ("row due", tuple(map(letter, tensor.rows))),
            ("in that row before", tuple(moved_value(before) for before, _ in pairs)),
            ("at its place after", tuple(moved_value(after) for _, after in pairs)),
        ),
        wrong=frozenset(k for k, pair in enumerate(pairs) if None not in pair and pair[0] != pair[1]),
    )
