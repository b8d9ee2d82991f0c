"""One scenario on the real SGLang scheduler, on the CPU.

    speckv-debug record -o x.speckv -- python tests/engine/run_sglang.py --sglang DIR [--topk 2] [--page 16] ...

DIR is the folder that holds the package `sglang`: site-packages, or an unpacked wheel. Prints each request's
output tokens as one JSON object.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import building
import driving
import grammars
from counting import Counter
from faults import FAULTS
from workloads import WORKLOADS

DRAFTS = {
    "EAGLE": "LlamaForCausalLMEagle",
    "STANDALONE": "LlamaForCausalLM",
    "NGRAM": None,
    "DFLASH": "DFlashDraftModel",
    "DSPARK": "DSparkDraftModel",
    "FROZEN_KV_MTP": "FrozenDraftModel",
    "UNO": None,
}
CHAINS = ("DFLASH", "DSPARK")


def arguments() -> argparse.Namespace:
    """The scenario."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sglang", required=True, metavar="DIR")
    parser.add_argument("--algorithm", default="STANDALONE", choices=sorted(DRAFTS))
    parser.add_argument("--plain", action="store_true", help="decode without speculation")
    parser.add_argument("--topk", type=int, default=2)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--page", type=int, default=1)
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--attention", default="intel_amx", choices=["intel_amx", "triton"])
    parser.add_argument("--requests", type=int, default=10)
    parser.add_argument("--new-tokens", type=int, default=24)
    parser.add_argument("--noise", type=float, default=0.05)
    parser.add_argument("--pool", type=int, default=1024, help="slots")
    parser.add_argument("--workload", choices=sorted(WORKLOADS), default="waves")
    parser.add_argument("--multi-layer", action="store_true", help="a draft model of its own for each step")
    parser.add_argument(
        "--window", type=int, help="positions that the last layer's pool keeps of each request"
    )
    parser.add_argument("--hopeful", action="store_true", help="admit requests that may not fit in the end")
    parser.add_argument("--fault", choices=sorted(FAULTS))
    parser.add_argument("--count", type=Path, metavar="FILE", help="write an independent count there")
    parser.add_argument(
        "--attach", metavar="OUT", help="record with speckv_debug.attach, not through the plugin"
    )
    parser.add_argument(
        "--break-hook",
        action="append",
        default=[],
        metavar="MODULE:CLASS.METHOD",
        help="let this recording code raise; may be repeated",
    )
    return parser.parse_args()


def main() -> None:
    """Boot, plant, attach, build, drive, print."""
    args = arguments()
    if args.fault:
        os.environ["SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY"] = "0"
    building.boot(args.sglang, args.page, args.attention)
    if args.overlap:
        building.allow_overlap()
    if args.algorithm in CHAINS:
        building.allow_chains()
    if args.algorithm == "UNO":
        building.allow_uno()
    if args.algorithm == "FROZEN_KV_MTP":
        import frozen_draft

        frozen_draft.register()
    if args.multi_layer:
        building.allow_multi_layer()
    counter = Counter()
    counter.install()
    if args.fault:
        FAULTS[args.fault]()
    attachment = _attach(args)
    scheduler = building.build(args.noise, None if args.plain else DRAFTS[args.algorithm], **_server(args))
    if args.workload == "ruled":
        grammars.install(scheduler)
    script = WORKLOADS[args.workload](args.requests, args.new_tokens)
    tokens = driving.drive(scheduler, script, args.overlap)
    if attachment is not None:
        attachment.detach()
    if args.count:
        counter.write(args.count)
    print(json.dumps(tokens))


def _attach(args: argparse.Namespace) -> Any:
    from sglang.srt.plugins import load_plugins

    import speckv_debug

    for place in args.break_hook:
        _break(place)
    if args.attach:
        return speckv_debug.attach("sglang", out=args.attach)
    load_plugins()
    return None


def _break(place: str) -> None:
    import importlib

    module, _, path = place.partition(":")
    owner = importlib.import_module(module)
    for name in path.split(".")[:-1]:
        owner = getattr(owner, name)

    def broken(*args: Any, **kwargs: Any) -> None:
        raise RuntimeError("broken on purpose")

    setattr(owner, path.rpartition(".")[2], broken)


def _server(args: argparse.Namespace) -> dict[str, Any]:
    server = {
        "attention_backend": args.attention,
        "page_size": args.page,
        "max_total_tokens": args.pool,
        "max_running_requests": args.requests,
        "chunked_prefill_size": 48,
        "triton_attention_num_kv_splits": 1,
    }
    if args.overlap:
        server["disable_overlap_schedule"] = False
    if args.multi_layer:
        server["enable_multi_layer_eagle"] = True
    if args.window:
        server["window"] = args.window
    if args.hopeful:
        server["schedule_conservativeness"] = 0.05
    if args.workload == "sessions":
        server["enable_streaming_session"] = True
    if args.plain:
        return server
    drafts = args.steps + 1 if args.topk == 1 else 2 * args.steps
    server |= {"speculative_algorithm": args.algorithm, "speculative_num_draft_tokens": drafts}
    if args.algorithm in CHAINS:
        server |= {
            "speculative_draft_attention_backend": "triton",
            "dtype": "bfloat16",
        }  # as it casts embeddings to
    elif args.algorithm == "UNO":
        server |= {"uno_lora_path": "none", "speculative_num_steps": args.steps if args.topk > 1 else None}
        server["speculative_eagle_topk"] = args.topk
    elif DRAFTS[args.algorithm]:
        server |= {"speculative_num_steps": args.steps, "speculative_eagle_topk": args.topk}
    return server


if __name__ == "__main__":
    main()
    sys.stdout.flush()
