"""Builds SGLang's own Scheduler in this process, on the CPU: no server, no tokenizer, no detokenizer."""

from __future__ import annotations

import dataclasses
import inspect
import os
import pkgutil
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import cpu_kernels
import stand_ins
import tiny_llama

ENVIRONMENT = {
    "SGLANG_USE_CPU_ENGINE": "1",
    "TRITON_INTERPRET": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "GLOO_SOCKET_IFNAME": "lo",
    "SGLANG_ENABLE_STRICT_MEM_CHECK_DURING_BUSY": "1",
}
MODELS = ("llama", "dflash", "dspark")
DRAFT_PATHS = (
    ("_draft_worker", "draft_runner_list"),
    ("draft_worker", "draft_runner"),
    ("_draft_worker", "draft_runner"),
    ("draft_model_runner",),
    ("model_runner",),
)


def boot(sglang: str, page_size: int, attention: str) -> None:
    """Make SGLang importable on this machine; once a process, before anything imports it."""
    for name, value in ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    stand_ins.install(sglang)
    cpu_kernels.install(page_size)
    _load_few_models()
    cpu_kernels.use_triton(attention)
    _claim_amx()


def _load_few_models() -> None:
    """SGLang imports each of its models to know their names: ten seconds for nothing."""
    everything = pkgutil.iter_modules

    def iter_modules(path: Any = None, prefix: str = "") -> Any:
        models = prefix == "sglang.srt.models."
        return (
            found
            for found in everything(path, prefix)
            if not models or any(name in found.name for name in MODELS)
        )

    pkgutil.iter_modules = iter_modules


def _claim_amx() -> None:
    """SGLang falls back to a backend without tree masks where AMX is missing; our attention needs none."""
    try:
        from sglang.srt.arg_groups import overrides
    except ImportError:
        return
    overrides.cpu_has_amx_support = lambda: True
    if hasattr(overrides, "get_platform"):
        real = overrides.get_platform

        class Platform:
            has_amx = True

            def __getattr__(self, name: str) -> Any:
                return getattr(real(), name)

        overrides.get_platform = Platform


def allow_overlap() -> None:
    """SGLang switches overlap scheduling off on the CPU. The order of events is then the real one; streams are not."""
    let_streams_be()
    try:
        import sglang.srt.arg_groups.speculative_hook as arguments
    except ImportError:
        return
    arguments._disable_overlap_schedule_for_cpu = lambda server_args: None


def let_streams_be() -> None:
    """A tensor of the CPU has no stream to be recorded on."""
    import torch

    torch.Tensor.record_stream = lambda self, stream: None


def allow_chains() -> None:
    """SGLang refuses chains on the CPU by its device's name; the rest of their preparation is the real one."""
    let_streams_be()
    import sglang.srt.arg_groups.speculative_hook as arguments

    for name in ("_handle_dflash", "_handle_dspark"):
        setattr(arguments, name, _as_if_on("xpu", arguments, getattr(arguments, name)))


def allow_uno() -> None:
    """SGLang's UNO asks for CUDA, FA3 and an adapter for its drafts: here the model drafts as it is, with the CPU's attention.

    What builds its trees is the real kernel, interpreted.
    """
    let_streams_be()
    import torch

    flashinfer: Any = types.ModuleType("flashinfer")
    flashinfer.top_k = lambda logits, k, **order: torch.topk(logits, k)
    sys.modules["flashinfer"] = flashinfer
    import sglang.srt.arg_groups.speculative_hook as arguments
    import sglang.srt.speculative.uno_info as forwards
    import sglang.srt.speculative.uno_lora as adapters
    import sglang.srt.speculative.uno_worker_v2 as worker

    arguments._handle_uno = _as_if_on("cuda", arguments, arguments._handle_uno)
    forwards.UnoForwardInput.tree_topk = 1  # the CPU's attention asks
    adapters.init_uno_lora_manager = lambda runner: (_NoAdapter(), "none")
    worker.build_uno_tree_proposal = _as_if_cuda(worker.build_uno_tree_proposal)


def _as_if_cuda(build_tree: Any) -> Any:
    import torch

    class There(torch.Tensor):
        is_cuda = True

    def build(roots: Any, logits: Any, **more: Any) -> Any:
        found = build_tree(roots.as_subclass(There), logits.as_subclass(There), **more)
        return dataclasses.replace(found, root_tokens=roots)

    return build


class _NoAdapter:
    """What a model runner asks of its adapters, of which there are none."""

    attn_dp_enabled = False

    def nothing(self, *args: Any, **more: Any) -> None:
        """Whatever is asked."""

    fetch_new_loras = prepare_lora_batch = reset_lora_batch = prepare_lora_token_segments = nothing


def allow_multi_layer() -> None:
    """A draft model for each step: those that SGLang has for it need a GPU, its EAGLE head needs but to be told which it is."""
    from sglang.srt.models.llama_eagle import LlamaForCausalLMEagle

    construct = LlamaForCausalLMEagle.__init__

    def construct_one(model: Any, *args: Any, draft_model_idx: int | None = None, **more: Any) -> None:
        construct(model, *args, **more)

    LlamaForCausalLMEagle.__init__ = construct_one


def _as_if_on(device: str, arguments: Any, handle: Any) -> Any:
    view = arguments.resolving_view

    class There:
        def __init__(self, server_args: Any) -> None:
            self._view = view(server_args)
            self.device = device

        def __getattr__(self, name: str) -> Any:
            return getattr(self._view, name)

    def handle_there(server_args: Any) -> None:
        backends = arguments.attention_backends_of
        arguments.resolving_view = There
        arguments.attention_backends_of = lambda cfg: ("fa3", "fa3")
        try:
            handle(server_args)
        finally:
            arguments.resolving_view, arguments.attention_backends_of = view, backends

    return handle_there


def build(noise: float, draft: str | None, **arguments: Any) -> Any:
    """A Scheduler with a tiny target and, if `draft` names an architecture, a draft model that agrees in part."""
    scheduler = _construct(*server_and_ports(draft, **arguments))
    set_weights(scheduler, draft, noise)
    if arguments.get("enable_multi_layer_eagle"):
        for model in _draft_models(scheduler):
            tiny_llama.pass_embedding_on(model)
    return scheduler


def server_and_ports(draft: str | None, *, window: int | None = None, **arguments: Any) -> tuple[Any, Any]:
    """ServerArgs and PortArgs of a tiny model on the CPU; those that the release doesn't know are left out."""
    from sglang.srt.server_args import PortArgs, ServerArgs

    folder = Path(tempfile.mkdtemp(prefix="tiny-llama-"))
    arguments = {
        "model_path": tiny_llama.write_config(
            folder / "target", layers=2 if window or draft in tiny_llama.BLOCKS else 1, window=window
        ),
        "load_format": "dummy",
        "skip_tokenizer_init": True,
        "device": "cpu",
        "dtype": "float32",
        "context_length": 256,
        "disable_cuda_graph": True,
        "skip_server_warmup": True,
        "mem_fraction_static": 0.4,
        "log_level": "error",
        "disable_overlap_schedule": True,
        "random_seed": 7,
        "swa_full_tokens_ratio": 1.0,  # as many slots with a window as without
        **arguments,
    }
    if draft:
        arguments["speculative_draft_model_path"] = tiny_llama.write_config(folder / "draft", draft)
    known = {name for cls in ServerArgs.__mro__ for name in getattr(cls, "__annotations__", {})}
    server_args = ServerArgs(**{name: value for name, value in arguments.items() if name in known})
    return server_args, PortArgs.init_new(server_args)


def set_weights(scheduler: Any, draft: str | None, noise: float) -> None:
    """Weights from a seed; the draft model's are the target's and noise."""
    target = scheduler.tp_worker.model_runner.model
    tiny_llama.set_weights(target)
    for model in _draft_models(scheduler) if draft else ():
        tiny_llama.set_weights(model, noise=noise, shared_with=target)


def _construct(server_args: Any, port_args: Any) -> Any:
    import sglang.srt.managers.scheduler as module

    _publish(module, server_args)
    given = {"server_args": server_args, "port_args": port_args, "dp_rank": None}
    names = list(inspect.signature(module.Scheduler.__init__).parameters)[1:]
    return module.Scheduler(**{name: given.get(name, 0) for name in names})


def _publish(module: Any, server_args: Any) -> None:
    """A context of the process holds the arguments (0.5.17 and later) and the ranks (0.5.21 and later)."""
    if not hasattr(module, "publish"):
        return
    placed = {}
    if hasattr(module, "SpawnRanks"):
        world_rank = module.spawn_world_rank(server_args, tp_rank=0, pp_rank=0)
        placed = {"ranks": module.SpawnRanks(world_rank=world_rank, dp_rank=None, gpu_id=0)}
    module.publish(server_args, role="scheduler", **placed)


def _draft_models(scheduler: Any) -> list[Any]:
    """One, or one for each step."""
    for path in DRAFT_PATHS:
        found = scheduler.draft_worker
        for name in path:
            found = getattr(found, name, None)
        if found is not None:
            return [runner.model for runner in (found if isinstance(found, list) else [found])]
    raise SystemExit(f"no draft model on {scheduler.draft_worker!r}")
