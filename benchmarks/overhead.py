"""What recording costs a decode step of a real SGLang: levels in turn inside one engine, in blocks of steps.

    PYTHONPATH=... python benchmarks/overhead.py --model M --draft D -o result.json

Prints the median step of each mode, and what is added to mode 0 (no hook in place) with a 95 % bootstrap interval over
units of two cycles, the second one backwards. A unit has to fit between two prefills: `--new-tokens` says how many
steps there are. The steps themselves go beside the output as `.npz`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
DRAWS = 4000
MOST_WAVES = 40
Floats = npt.NDArray[np.float64]


def arguments() -> argparse.Namespace:
    """The measurement."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True)
    parser.add_argument("--draft")
    parser.add_argument("--algorithm", default="EAGLE")
    parser.add_argument("--topk", type=int, default=4)
    parser.add_argument("--num-steps", type=int, default=4)
    parser.add_argument("--draft-tokens", type=int, default=10)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--page", type=int, default=1)
    parser.add_argument("--dummy", action="store_true", help="random weights, from the configuration alone")
    parser.add_argument("--modes", default="0,1,2", help="levels in turn; 0 records nothing")
    parser.add_argument("--block", type=int, default=100, help="steps in a row of one mode")
    parser.add_argument("--skip", type=int, default=5, help="first steps of each block that are left out")
    parser.add_argument("--cycles", type=int, default=24, help="two make a unit")
    parser.add_argument("--prompt", type=int, default=64, help="tokens of each prompt")
    parser.add_argument("--new-tokens", type=int, default=3000)
    parser.add_argument("--memory", type=float, default=0.7, help="part of the GPU's memory")
    parser.add_argument(
        "--profile", type=int, help="show where the scheduler's thread spends its time at a level"
    )
    parser.add_argument("--hooks", action="store_true", help="time each hook beside")
    parser.add_argument("--syncs", action="store_true", help="count synchronisations instead of timing")
    parser.add_argument("--recording", type=Path, help="keep the recording there, closed, and say its bytes")
    parser.add_argument("-o", "--output", type=Path, required=True)
    return parser.parse_args()


def main() -> None:
    """Run, then say what was seen."""
    args = arguments()
    modes = [int(mode) for mode in args.modes.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        out = args.recording or Path(folder) / "run.speckv"
        raw = Path(folder) / "steps.json"
        run(args, modes, out, raw, Path(folder))
        found = json.loads(raw.read_text())
    steps = np.array(found["steps"], np.int64).reshape(-1, 6)
    np.savez_compressed(args.output.with_suffix(".npz"), steps=steps)
    said = {"arguments": {k: str(v) for k, v in vars(args).items()}, "command": " ".join(sys.argv)}
    if args.syncs:
        said |= {"syncs": found["syncs"], "steps": {str(m): int((steps[:, 2] == m).sum()) for m in modes}}
    else:
        said |= compare(steps, modes, args.block, args.skip)
    if args.hooks:
        said["hooks: calls a step, median us, mean us, us a step"] = found["hooks"]
    if args.recording:
        said |= bytes_of(args.recording)
    if args.profile is not None:
        print(found["profile"], file=sys.stderr)
    args.output.write_text(json.dumps(said, indent=1))
    print(json.dumps({k: v for k, v in said.items() if k != "arguments"}, indent=1))


def run(args: argparse.Namespace, modes: list[int], out: Path, raw: Path, folder: Path) -> None:
    """Generate until the probe has seen enough steps."""
    plan = {"out": str(raw), "modes": modes, "block": args.block, "cycles": args.cycles, "batch": args.batch}
    plan |= {"syncs": args.syncs, "close": bool(args.recording), "profile": args.profile, "hooks": args.hooks}
    announce(folder)
    level = max(modes)
    os.environ |= {"OVERHEAD_PLAN": json.dumps(plan), "SPECKV_DEBUG_OUT": str(out)}
    os.environ |= {"SPECKV_DEBUG_LEVEL": str(level)} if level else {}
    sys.path += [str(folder), str(HERE)]  # a spawned child gets this list
    import sglang

    engine = sglang.Engine(**engine_arguments(args))
    if not raw.with_suffix(".here").exists():
        engine.shutdown()
        raise SystemExit("the scheduler did not load the probe")
    draw = np.random.default_rng(1)
    try:
        for _ in range(MOST_WAVES):
            prompts = draw.integers(10, 2000, (args.batch, args.prompt)).tolist()
            sampling = {"max_new_tokens": args.new_tokens, "temperature": 0.0, "ignore_eos": True}
            engine.generate(input_ids=prompts, sampling_params=[sampling] * args.batch)
            if raw.exists():
                return
        raise SystemExit("the probe has not seen enough steps")
    finally:
        engine.shutdown()


def announce(folder: Path) -> None:
    """The probe's entry point, as an installed package has it."""
    info = folder / "overhead_probe-0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: overhead-probe\nVersion: 0\n")
    (info / "entry_points.txt").write_text("[sglang.srt.plugins]\noverhead_probe = overhead_probe:register\n")


def engine_arguments(args: argparse.Namespace) -> dict[str, Any]:
    """Those of a real server, but for what the machine lacks."""
    given: dict[str, Any] = {
        "model_path": args.model,
        "skip_tokenizer_init": True,
        "attention_backend": "triton",
        "sampling_backend": "pytorch",
        "grammar_backend": "none",
        "disable_prefill_cuda_graph": True,
        "cuda_graph_bs_decode": [args.batch],
        "dtype": "bfloat16",
        "page_size": args.page,
        "max_running_requests": args.batch,
        "mem_fraction_static": args.memory,
        "log_level": "error",
        "speculative_algorithm": args.algorithm,
        "speculative_num_draft_tokens": args.draft_tokens,
    }
    if args.dummy:
        given["load_format"] = "dummy"
    if args.draft:
        given |= {"speculative_draft_model_path": args.draft, "speculative_num_steps": args.num_steps}
        given |= {"speculative_eagle_topk": args.topk}
    return given


def compare(steps: npt.NDArray[np.int64], modes: list[int], block: int, skip: int) -> dict[str, Any]:
    """Median step of each mode in microseconds, and how much it is above mode 0."""
    units = units_of(steps, modes, block, skip)
    said: dict[str, Any] = {"units of two cycles": len(units)}
    for mode in modes:
        wall, busy = (np.concatenate([unit[mode][which].ravel() for unit in units]) for which in (0, 1))
        said[f"level {mode}"] = {
            "steps": len(wall),
            "median step, us": round(float(np.median(wall)), 1),
            "mean step, us": round(float(wall.mean()), 1),
            "median processor time, us": round(float(np.median(busy)), 1),
        }
        if mode and 0 in modes:
            said[f"level {mode}"] |= above([unit[0][0] for unit in units], [unit[mode][0] for unit in units])
    return said


def units_of(
    steps: npt.NDArray[np.int64], modes: list[int], block: int, skip: int
) -> list[dict[int, tuple[Floats, Floats]]]:
    """Wall and processor time [blocks, steps] of each mode in each whole unit, us; a step lasts until the next begins."""
    found = []
    for attempt in np.unique(steps[:, 0]):
        mine = steps[steps[:, 0] == attempt]
        blocks: dict[int, list[Floats]] = {mode: [] for mode in modes}
        for number in np.unique(mine[:, 1]):
            part = mine[mine[:, 1] == number]
            if len(part) == block:
                blocks[int(part[0, 2])].append(np.diff(part[skip:, 4:], axis=0).T / 1000)
        if all(len(each) == min(2, len(modes)) for each in blocks.values()):
            found.append({mode: (np.stack(b)[:, 0], np.stack(b)[:, 1]) for mode, b in blocks.items()})
    return found


def above(base: list[Floats], mode: list[Floats]) -> dict[str, Any]:
    """How much a mode adds, in us and in percent of the base, each with its 95 % interval: units are drawn with replacement.

    A unit's figure is the difference of the median steps of its blocks, averaged over its two cycles: what grows
    in a straight line while requests decode is not in it. What else grows is not in the mean over units either, as each
    begins with another mode; the median over units lets it in, and outliers not. `difference of medians` is of all steps.
    """
    draw, count = np.random.default_rng(0), len(base)
    picks = [np.arange(count), *draw.integers(0, count, (DRAWS, count))]
    without, recording = (
        np.array([np.median(unit, axis=1).mean() for unit in each]) for each in (base, mode)
    )
    apart, share = recording - without, 100 * (recording / without - 1)
    pooled = [
        np.median(np.concatenate([mode[i].ravel() for i in pick]))
        - np.median(np.concatenate([base[i].ravel() for i in pick]))
        for pick in picks
    ]
    return {
        "added, us": _with_interval([float(apart[pick].mean()) for pick in picks], 1),
        "added, %": _with_interval([float(share[pick].mean()) for pick in picks], 3),
        "added, median of units, us": _with_interval([float(np.median(apart[pick])) for pick in picks], 1),
        "added, median of units, %": _with_interval([float(np.median(share[pick])) for pick in picks], 3),
        "difference of medians, us": _with_interval([float(each) for each in pooled], 1),
    }


def _with_interval(figures: list[float], digits: int) -> list[float]:
    """The figure of what was measured and the 95 % interval of those that were drawn."""
    spread = np.percentile(figures[1:], [2.5, 97.5])
    return [round(float(each), digits) for each in (figures[0], *spread)]


def bytes_of(recording: Path) -> dict[str, Any]:
    """Bytes of the Parquet parts for each request and verify, by table."""
    import pyarrow.parquet as pq

    parts = sorted(recording.rglob("*.parquet"))
    verifies = sum(pq.ParquetFile(part).metadata.num_rows for part in parts if part.parent.name == "accept")
    tables: dict[str, int] = {}
    for part in parts:
        tables[part.parent.name] = tables.get(part.parent.name, 0) + part.stat().st_size
    each = {table: round(size / max(1, verifies), 2) for table, size in tables.items()}
    whole = round(sum(tables.values()) / max(1, verifies), 2)
    archive = shutil.make_archive(str(recording), "gztar", recording)
    return {"verifies": verifies, "bytes a request-step": whole, "by table": each, "archive": archive}


if __name__ == "__main__":
    main()
