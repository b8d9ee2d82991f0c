"""MOV: all of a moved row arrives, in every component and unchanged."""

from __future__ import annotations

from speckv_debug.checks.move import MOVER
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.components import MovedComponents
from speckv_debug.replay.move_contents import MoveContents

SHOWN = 8


@rule(
    "MOV-ALLPOOLS",
    severity=ERROR,
    needs=("move",),
    scope="moved_components",
    look_at="KVCache.move_kv_cache (each buffer of the pool)",
    follows=("MOV-ALLPOOLS",),
)
def all_components_move(moved: MovedComponents) -> Judgement:
    """Every component of a moved row moves: keys, values, scales, and the keys of an indexer that has the same slots.

    Due are the components that the process line declares for the pool; those that need no move are not declared.

    Exceptions: one call for all components, or one a component with the same pairs; a draft pool is rebuilt by the next
    draft extend; pools with slots of their own (compressed, recurrent state) are not moved by these calls.

    Not judged: the window's pool, whose rows the same call moves to the peers of the targets (SGLang `SWAKVPool`), a call of
    its own in a recording.
    """
    reasons = {
        "the process line does not declare the pool's components": moved.undeclared,
        "a mover call does not name its components": moved.unnamed,
        "no step tells which calls move the same batch": moved.stepless & moved.lacking,
    }
    untold = moved.undeclared | moved.unnamed | moved.stepless
    return verdict(moved.lacking & ~untold, lambda i: _explain_components(moved, i), reasons)


def _explain_components(moved: MovedComponents, i: int) -> Details:
    total, rows, marked, slots = int(moved.total[i]), list[tuple[Cell, ...]](), list[int](), list[int]()
    parts = list(moved.due(moved.base(i)))
    for pool, component in parts:
        left = moved.left(i, (pool, component))
        marked += [len(rows)] if left else []
        slots += [slot for pair in left for slot in pair]
        rows.append((pool, component, total - len(left), total, _pairs(left)))
    behind = ", ".join(f"{parts[k][1]} of pool {parts[k][0]}" for k in marked)
    columns = ("pool", "component", "pairs moved", "due", "left behind")
    return Details(
        message=f"accepted rows are moved without all they consist of: {behind} stays where it was",
        expected=f"{quantity(total, 'pair')} of each of {', '.join(c for _, c in parts)}",
        actual=", ".join(f"{rows[k][1]}: {rows[k][2]}" for k in range(len(rows))),
        slots=tuple(dict.fromkeys(slots)),
        evidence=(Evidence(title="components", columns=columns, rows=tuple(rows), marked=tuple(marked)),),
    )


def _pairs(pairs: list[tuple[int, int]]) -> str:
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
