"""How well `check` judges: clean recordings with one change in one event, and clean ones unchanged.

    python benchmarks/mutants.py [--seeds 0:50] [--changes 60] [--kind real] [--by table] [--tables reserve,alloc]
        [--missed] [--inexact] [--out FILE]
    python benchmarks/mutants.py --clean --seeds 0:2000

Each base is the reference engine over random settings, one a seed, or with `--kind real` and `hand` the stored recordings,
numbered from 0; each gets so many changes, drawn from all kinds of change and all columns that it fills. Whether a change matters is decided
by a dictionary model that shares no code with the laws. With `--out` each outcome is a line of that file, and what it holds
already is not judged again: a run that was stopped goes on, and ranges of seeds add up; with `--tables` only events of
these are changed. `--clean` judges unchanged
recordings; whatever is found there is a false alarm, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import torch

from benchmarks.mutation import bases, kinds
from benchmarks.mutation.bases import Base
from benchmarks.mutation.judging import Judged, Outcome, judge, judged
from benchmarks.mutation.table import inexact, missed, report

BY = {
    "kind": lambda o: o.kind,
    "table": lambda o: f"{o.table} {o.kind}",
    "column": lambda o: f"{o.table}.{o.column} {o.kind}",
}


def main(arguments: list[str] | None = None) -> int:
    """Judge, keep, print."""
    args = _arguments(arguments)
    torch.set_num_threads(1)
    start = time.perf_counter()
    if args.clean:
        return clean(args.seeds, start)
    outcomes = list(run(args.kind, args.seeds, args.changes, args.out, args.tables))
    lines = [*report(outcomes, BY[args.by]), *(["", *missed(outcomes)] if args.missed else [])]
    lines += ["", *inexact(outcomes)] if args.inexact else []
    print("\n".join(lines))
    print(f"{len(outcomes)} changes in {time.perf_counter() - start:.0f} s", file=sys.stderr)
    return 0


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=_range, default=range(50), help="first:end")
    parser.add_argument("--changes", type=int, default=60, help="of each base")
    parser.add_argument("--kind", choices=("reference", "real", "hand"), default="reference")
    parser.add_argument("--by", choices=tuple(BY), default="kind")
    parser.add_argument("--tables", type=_names_of, default=frozenset(), help="change events of these only")
    parser.add_argument("--missed", action="store_true", help="list what matters and is not found")
    parser.add_argument("--inexact", action="store_true", help="list what is found elsewhere")
    parser.add_argument("--clean", action="store_true", help="judge unchanged recordings")
    parser.add_argument("--out", type=Path, help="file of outcomes, one a line; taken up again")
    return parser.parse_args(arguments)


def _range(text: str) -> range:
    first, _, end = text.partition(":")
    return range(int(first), int(end)) if end else range(int(first))


def _names_of(text: str) -> frozenset[str]:
    return frozenset(text.split(","))


def clean(seeds: Iterable[int], start: float) -> int:
    """Judge unchanged recordings of the reference engine; prints what is found, returns whether anything is."""
    alarms, many = 0, 0
    for seed in seeds:
        many += 1
        if rules := judged(bases.reference(seed)).rules:
            alarms += 1
            print(f"seed {seed}: {', '.join(rules)}")
    print(f"{alarms} false alarms on {many} clean recordings")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    return int(alarms > 0)


def run(
    kind: str, seeds: range, changes: int, out: Path | None = None, tables: frozenset[str] = frozenset()
) -> Iterator[Outcome]:
    """The outcomes of so many changes of each base, those of `out` first."""
    known = list(_kept(out)) if out and out.exists() else []
    yield from known
    done = {(o.base, o.number) for o in known}
    for seed, name in _names(kind, seeds):
        due = [n for n in range(changes) if (name, n) not in done]
        if not due or (base := _base(name)) is None:
            continue
        for outcome in outcomes_of(judged(base), seed, due, tables):
            if out:
                with out.open("a") as file:
                    file.write(json.dumps(outcome.as_json()) + "\n")
            yield outcome


def outcomes_of(
    base: Judged, seed: int, due: Iterable[int], tables: frozenset[str] = frozenset()
) -> Iterator[Outcome]:
    """The changes of these numbers; none of a base that is not clean itself."""
    if base.rules:
        print(f"{base.base.name} is not clean: {', '.join(base.rules)}", file=sys.stderr)
        return
    for number in due:
        mutant = kinds.drawn(base.base, seed, number, tables)
        if mutant is not None:
            yield judge(base, number, mutant)


def _names(kind: str, seeds: range) -> Iterator[tuple[int, str]]:
    if kind == "reference":
        yield from ((seed, f"reference {seed}") for seed in seeds)
    else:
        stored = enumerate(bases.real() if kind == "real" else bases.by_hand())
        yield from ((number, name) for number, name in stored if number in seeds)


def _base(name: str) -> Base | None:
    kind, _, seed = name.partition(" ")
    return bases.reference(int(seed)) if kind == "reference" else bases.stored(name)


def _kept(out: Path) -> Iterator[Outcome]:
    for line in out.read_text().splitlines():
        values = json.loads(line)
        yield Outcome(**values | {name: tuple(values[name]) for name in ("rules", "places")})


if __name__ == "__main__":
    sys.exit(main())
