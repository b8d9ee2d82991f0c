"""MOV: all of a moved row arrives, in every component and unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speckv_debug.checks.move import MOVER
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.components import MovedComponents
from speckv_debug.replay.move_contents import MoveContents

SHOWN = 8
COLUMNS = ("pool", "component", "pairs moved", "due", "left behind")


@rule(
    "MOV-ALLPOOLS",
    severity=ERROR,
    needs=("move",),
    scope="moved_components",
    look_at="KVCache.move_kv_cache (each buffer of the pool)",
    follows=("MOV-ALLPOOLS",),
)
def all_components_move(moved: MovedComponents) -> Judgement:
    """Every component of a moved row moves: keys, values, scales, the keys of an indexer, and the row in a window's pool.

    Due are the components that the process line declares for the pool and for an indexer or a window that has its slots;
    those that need no move are not declared. In a window's pool with slots of its own the pairs are those of the peers, as
    `swa_map` names them at the call: `KV[peer(tgt)] <- KV[peer(src)]` (SGLang `SWAKVPool`, a call of its own in a recording),
    and none moves alone.

    Exceptions: one call for all components, or one a component with the same pairs; a slot without a peer has left the
    window; a draft pool is rebuilt by the next draft extend; pools with other slots (compressed, recurrent state) are not
    moved by these calls.

    Unknown: pools that do not declare their components, calls that do not name theirs; rows whose peers are not known, or are
    given up in the move's own step under overlap; several windows' pools, since `swa_map` names none; calls without a step.
    """
    return verdict(moved.failed, lambda i: _explain_components(moved, i), moved.untold)


Parts = tuple[tuple[str, str, int, Sequence[tuple[int, ...]]], ...]
"""Pool and component, pairs that are due, and (src, tgt) of those left behind."""


def _explain_components(moved: MovedComponents, i: int) -> Details:
    parts = tuple(_parts(moved, i))
    if moved.alone[i]:
        return _explain_alone(moved, i, parts)
    rows = _rows(parts)
    behind = [f"{component} of pool {pool}" for pool, component, _, left in parts if left]
    stay = plural(len(behind), "stays where it was", "stay where they were")
    marked = tuple(k for k, (*_, left) in enumerate(parts) if left)
    names = [_named(moved, i, pool, component) for pool, component, *_ in parts]
    return Details(
        message=f"accepted rows are moved without all they consist of: {', '.join(behind)} {stay}",
        expected=f"{quantity(int(moved.total[i]), 'pair')} of each of {', '.join(names)}",
        actual=", ".join(f"{name}: {row[2]}" for name, row in zip(names, rows, strict=True)),
        slots=tuple(dict.fromkeys(slot for *_, left in parts for pair in left for slot in pair[:2])),
        subject=next((pool for pool, _, _, left in parts if left), None),
        evidence=(Evidence(title="components", columns=COLUMNS, rows=rows, marked=marked),),
    )


def _explain_alone(moved: MovedComponents, i: int, parts: Parts) -> Details:
    pool, total, main = moved.base(i).name, quantity(int(moved.total[i]), "row"), moved.info.main_pool
    return Details(
        message=f"{total} of pool {pool} {plural(int(moved.total[i]), 'moves', 'move')} and nothing of pool {main} in the step: "
        "they are the peers of slots that stay where they are",
        expected=f"a move of pool {main} whose slots have these peers",
        actual=f"calls of pool {pool} alone",
        subject=pool,
        evidence=(Evidence(title="components", columns=COLUMNS, rows=_rows(parts), marked=()),),
    )


def _rows(parts: Parts) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (pool, component, total - len(left), total, _pairs([pair[-2:] for pair in left]))
        for pool, component, total, left in parts
    )


def _named(moved: MovedComponents, i: int, pool: str, component: str) -> str:
    """A component, with its pool if that is the window's, which may have the same ones."""
    window = moved.window.pool
    return f"{component} of {pool}" if window is not None and pool == window.name else component


def _parts(moved: MovedComponents, i: int) -> Iterator[tuple[str, str, int, Sequence[tuple[int, ...]]]]:
    """Pool and component, pairs that are due, and (src, tgt) of those left behind, before those of the peers in a window."""
    for pool, component in moved.due(moved.base(i)):
        yield pool, component, int(moved.total[i]), moved.left(i, (pool, component))
    for component in moved.window.components if moved.window.total(i) else ():
        assert moved.window.pool is not None
        yield moved.window.pool.name, component, moved.window.total(i), moved.window.left(i, component)


def _pairs(pairs: Sequence[tuple[int, ...]]) -> str:
    return ", ".join(f"{t} <- {s}" for s, t in pairs[:SHOWN]) + (" …" if pairs[SHOWN:] else "")


@rule(
    "MOV-CONTENT",
    severity=ERROR,
    needs=("move",),
    scope="move_contents",
    look_at=MOVER,
    follows=("MOV-HAZARD", "MOV-ALLPOOLS"),
)
def content_arrives(contents: MoveContents) -> Judgement:
    """After a move each target slot holds what its source slot held before, by the recorded fingerprints.

    Exceptions: without fingerprints nothing is known; what goes into the dummy slot; a target that several pairs name
    holds one of them. Equal fingerprints may hide a difference in what they were not taken of.
    """
    moves = contents.moves
    failed = contents.lost_calls
    reasons = {
        "no src or tgt": ~moves.src.present | ~moves.tgt.present,
        "no fingerprints were taken of the moved slots": ~contents.taken,
    }
    return verdict(failed, lambda i: _explain_content(contents, i), reasons)


def _explain_content(contents: MoveContents, i: int) -> Details:
    start = int(contents.moves.src.offsets[i])
    lost = contents.lost_pairs(i)
    rows: list[tuple[Cell, ...]] = []
    for k in lost[:SHOWN]:
        src, tgt = (
            int(values[start + k]) for values in (contents.moves.src.values, contents.moves.tgt_of_src)
        )
        before, after = int(contents.before[start + k]), int(contents.after[start + k])
        rows.append((k, src, _hex(before), tgt, _hex(after)))
    more = f", the first {SHOWN} of {len(lost)}" if lost[SHOWN:] else ""
    _, source, due, target, found = rows[0]
    return Details(
        message=f"slot {target} does not hold what slot {source} held before the move"
        + (
            f", nor {plural(len(lost) - 1, 'does', 'do')} {quantity(len(lost) - 1, 'more target')}"
            if lost[1:]
            else ""
        ),
        expected=f"fingerprint {due} in slot {target}",
        actual=f"fingerprint {found}",
        slots=tuple(dict.fromkeys(int(contents.moves.tgt_of_src[start + k]) for k in lost)),
        evidence=(
            Evidence(
                title=f"fingerprints{more}",
                columns=("pair", "source", "before", "target", "after"),
                rows=tuple(rows),
                marked=tuple(range(len(rows))),
            ),
        ),
    )


def _hex(value: int) -> str:
    return f"{value & 0xFFFF_FFFF_FFFF_FFFF:016x}"
