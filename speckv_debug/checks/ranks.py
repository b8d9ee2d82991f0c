"""ACC-RANK: all ranks of an engine accept the same rows and tokens."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.process import Rank
from speckv_debug.model.text import quantity
from speckv_debug.replay.ragged import mask
from speckv_debug.replay.rank_accepts import Decisions, RankAccepts

NOT_RECORDED: tuple[Cell, ...] = (None, "not recorded", None, None, None)
COLUMNS = ("rank", "accept_len", "rows", "tokens", "width", "layout")


@rule(
    "ACC-RANK",
    severity=ERROR,
    needs=("accept",),
    scope="rank_accepts",
    look_at="eagle_sample (broadcast of predict, accept_index and accept_len over the TP group)",
    follows=("ACC-RANK",),
)
def ranks_agree(ranks: RankAccepts) -> Judgement:
    """All tensor-parallel ranks accept the same rows and tokens of a request in the same step.

    Compared are length, accepted rows, the predictions at them, width and layout, with the group's first recorded rank;
    stages of a pipeline have to agree in length.

    Exceptions: replicas of data parallelism serve their own requests; predictions at rows that are not accepted may
    differ; a verify that one of the two ranks was not seen to take part in is unknown, and so is all of a group of which one
    rank alone was recorded; what follows a difference starts from other lengths and is left unknown.
    """
    everything = np.ones(len(ranks), dtype=np.bool_)
    if ranks.leader is None:
        why = f"{quantity(ranks.unsampled, 'more TP rank of the group was', 'more TP ranks of the group were')} not recorded"
        return verdict(~everything, lambda i: _explain(ranks, i), {why: everything})
    reasons = {
        "several processes call themselves the same rank": everything & ranks.repeated,
        "this rank recorded no such verify of the request in this step": ranks.among_all(
            np.zeros(len(ranks.other), dtype=np.bool_), unmatched=True
        ),
        "the other rank recorded no such verify of the request in this step": ranks.among_all(
            ranks.other < 0
        ),
        "the ranks' verifies of this step start from different lengths": ranks.among_all(ranks.started_apart),
        "no accept_len on one of the ranks": ranks.among_all(ranks.undecided),
    }
    untold = np.any(list(reasons.values()), axis=0)
    wrong = ranks.among_all(np.any(list(ranks.differs.values()), axis=0))
    silent = {
        f"one rank does not tell its {part}": ranks.among_all(where) for part, where in ranks.silent.items()
    }
    return verdict(mask(wrong & ~untold), lambda i: _explain(ranks, i), reasons | silent)


def _explain(ranks: RankAccepts, i: int) -> Details:
    assert ranks.leader is not None
    leader, other = ranks.leader.info.rank, int(ranks.other[i])
    apart = [part for part, differs in ranks.differs.items() if differs[i]]
    first = _first_apart(ranks, i, other)
    where = "" if first is None or ranks.staged else f", first apart at accepted row {first}"
    return Details(
        message=f"{name(ranks.info.rank)} and {name(leader)} decide differently ({', '.join(apart)}){where}",
        expected=f"as {name(leader)}: {_decision(ranks.theirs, other)}",
        actual=_decision(ranks.mine, i),
        evidence=(_matrix(ranks, i),),
        extra={"ranks": (leader, ranks.info.rank)},
    )


def name(rank: Rank) -> str:
    """Such as `tp1-pp0-dp0`."""
    return "-".join(f"{kind}{'?' if at is None else at}" for kind, at in _places(rank))


def _places(rank: Rank) -> tuple[tuple[str, int | None], ...]:
    return ("tp", rank.tp), ("pp", rank.pp), ("dp", rank.dp)


def _decision(decided: Decisions, index: int) -> str:
    count, rows, tokens, *_ = _cells(decided, index)
    return f"accept_len {count}, rows {rows}, tokens {tokens}"


def _first_apart(ranks: RankAccepts, i: int, other: int) -> int | None:
    """The first accepted row, counted from 0, at which row or token differ."""
    mine, theirs = (
        list(zip(*_listed(decided, at), strict=False))
        for decided, at in ((ranks.mine, i), (ranks.theirs, other))
    )
    pairs = [k for k, (one, two) in enumerate(zip(mine, theirs, strict=False)) if one != two]
    return pairs[0] if pairs else (min(len(mine), len(theirs)) if len(mine) != len(theirs) else None)


def _matrix(ranks: RankAccepts, i: int) -> Evidence:
    """What each recorded rank of the group decided for the request in this step; marked is what is not as the leader."""
    assert ranks.leader is not None
    lines: list[tuple[Cell, ...]] = []
    for process in ranks.group:
        decided, same = ranks.of(process)
        told = NOT_RECORDED if same[i] < 0 else _cells(decided, int(same[i]))
        lines.append((name(process.info.rank), *told))
    due = next(line[1:] for line in lines if line[0] == name(ranks.leader.info.rank))
    marked = tuple(k for k, line in enumerate(lines) if line[1:] != due)
    return Evidence(title="ranks", columns=COLUMNS, rows=tuple(lines), marked=marked)


def _cells(decided: Decisions, at: int) -> tuple[Cell, ...]:
    rows, tokens = _listed(decided, at)
    batch = decided.verifies
    form = number(batch.width[at]), batch.columns.texts("layout")[at]
    return number(batch.accepted[at]), str(rows), str(tokens), *form


def _listed(decided: Decisions, at: int) -> tuple[list[int | None], list[int | None]]:
    """Accepted rows of one verify, counted from its root, and the predictions at them."""
    rows, tokens = ([number(value) for value in lists[at]] for lists in (decided.rows, decided.tokens))
    return rows, tokens
