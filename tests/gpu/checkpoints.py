"""Tiny models on disk whose drafts are accepted in part: a server loads them as it loads any model.

    python tests/gpu/checkpoints.py FOLDER

The target's next token is mostly a fixed map of the last one; what its attention adds is scaled by MIX. The EAGLE
heads share the target's embedding and output: `eagle` passes the embedding on, with noise, `eagle3` what its attention
keeps of it. `draft` is the target and noise.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

VOCABULARY, HIDDEN, HEADS, HEAD, INNER, LAYERS = 2048, 256, 4, 64, 512, 4
MIX, SIMILAR, NOISE = 0.35, 0.3, 0.6
OF_EAGLE3 = {"draft_vocab_size": None, "eagle_config": {"eagle_aux_hidden_state_layer_ids": [0, 1, 2]}}
Weights = dict[str, Tensor]
Draw = torch.Generator


def main(folder: Path) -> None:
    """All models: with 2 heads of keys, and with 4 for two ranks, and one whose attention DP ranks can keep apart."""
    target = target_weights(2)
    write(folder / "target", "LlamaForCausalLM", 2, target)
    write(folder / "eagle", "LlamaForCausalLMEagle", 2, eagle_weights(2), layers=1)
    write(folder / "draft", "LlamaForCausalLM", 2, with_noise(target))
    write(folder / "target-wide", "LlamaForCausalLM", 4, target_weights(4))
    write(folder / "eagle-wide", "LlamaForCausalLMEagle", 4, eagle_weights(4), layers=1)
    norms = {
        f"model.layers.{n}.self_attn.{x}_norm.weight": torch.ones(HEAD) for n in range(LAYERS) for x in "qk"
    }
    write(folder / "target-qwen", "Qwen3ForCausalLM", 2, target | norms, model_type="qwen3")
    write(folder / "eagle3", "LlamaForCausalLMEagle3", 2, eagle3_weights(), layers=1, **OF_EAGLE3)


def _randn(draw: Draw, *shape: int, by: float = 1.0) -> Tensor:
    return torch.randn(*shape, generator=draw) * by


def _layer(prefix: str, draw: Draw, kv_heads: int) -> Weights:
    """One decoder layer; what attention and MLP add is scaled by MIX."""
    fan_in, wide = HIDDEN**-0.5, HEADS * HEAD
    return {
        f"{prefix}self_attn.q_proj.weight": _randn(draw, wide, HIDDEN, by=1.5 * fan_in),
        f"{prefix}self_attn.k_proj.weight": _randn(draw, kv_heads * HEAD, HIDDEN, by=1.5 * fan_in),
        f"{prefix}self_attn.v_proj.weight": _randn(draw, kv_heads * HEAD, HIDDEN, by=fan_in),
        f"{prefix}self_attn.o_proj.weight": _randn(draw, HIDDEN, wide, by=MIX * wide**-0.5),
        f"{prefix}mlp.gate_proj.weight": _randn(draw, INNER, HIDDEN, by=fan_in),
        f"{prefix}mlp.up_proj.weight": _randn(draw, INNER, HIDDEN, by=fan_in),
        f"{prefix}mlp.down_proj.weight": _randn(draw, HIDDEN, INNER, by=MIX * INNER**-0.5),
        f"{prefix}input_layernorm.weight": torch.ones(HIDDEN),
        f"{prefix}post_attention_layernorm.weight": torch.ones(HIDDEN),
    }


def target_weights(kv_heads: int) -> Weights:
    """Output rows look like the embedding of the token before: a permutation of the vocabulary."""
    draw = Draw().manual_seed(0)
    embedding, output = _randn(draw, VOCABULARY, HIDDEN), _randn(draw, VOCABULARY, HIDDEN)
    after = torch.randperm(VOCABULARY, generator=draw)
    output[after] = (1 - SIMILAR**2) ** 0.5 * output[after] + SIMILAR * embedding
    output[:8] = 0.0  # special tokens never come out
    weights = {"model.embed_tokens.weight": embedding, "lm_head.weight": output}
    weights["model.norm.weight"] = torch.ones(HIDDEN)
    for number in range(LAYERS):
        weights |= _layer(f"model.layers.{number}.", draw, kv_heads)
    return weights


def eagle_weights(kv_heads: int) -> Weights:
    """One layer behind a projection that keeps the embedding and lets the hidden state go."""
    draw = Draw().manual_seed(1)
    keep = torch.cat([torch.eye(HIDDEN), torch.zeros(HIDDEN, HIDDEN)], dim=1)
    weights = {"fc.weight": keep + _randn(draw, HIDDEN, 2 * HIDDEN, by=0.01), "fc.bias": torch.zeros(HIDDEN)}
    weights |= _layer("layers.0.", draw, kv_heads)
    del weights["layers.0.input_layernorm.weight"]
    return weights


def eagle3_weights() -> Weights:
    """Queries equal keys, so each token attends to itself; values are half of its embedding, and go back unchanged.

    The target's hidden states, which come in through `fc`, are let go.
    """
    draw, wide = Draw().manual_seed(3), 2 * HEAD
    weights = {"fc.weight": torch.zeros(HIDDEN, 3 * HIDDEN), "norm.weight": torch.ones(HIDDEN)}
    weights |= _layer("layers.0.", draw, kv_heads=2) | {"layers.0.hidden_norm.weight": torch.ones(HIDDEN)}
    keys = _randn(draw, wide, HIDDEN, by=1.5 * HIDDEN**-0.5)
    half = torch.linalg.qr(_randn(draw, HIDDEN, wide))[0].T
    back = torch.zeros(HIDDEN, HEADS * HEAD)  # from the first query head of each key head
    back[:, :HEAD], back[:, 2 * HEAD : 3 * HEAD] = half[:HEAD].T, half[HEAD:].T
    queries = keys.view(2, HEAD, HIDDEN).repeat_interleave(2, 0).reshape(HEADS * HEAD, HIDDEN)
    for name, value in {"q_proj": queries, "k_proj": keys, "v_proj": half}.items():
        beside = torch.zeros(len(value), HIDDEN)  # the target's hidden state
        weights[f"layers.0.self_attn.{name}.weight"] = torch.cat([value, beside], dim=1)
    weights["layers.0.self_attn.o_proj.weight"] = back
    return weights


def with_noise(weights: Weights) -> Weights:
    """Projections moved by NOISE of their spread."""
    draw = Draw().manual_seed(2)
    return {
        name: value + _randn(draw, *value.shape, by=NOISE * float(value.std()))
        if "proj" in name
        else value.clone()
        for name, value in weights.items()
    }


def write(
    folder: Path, architecture: str, kv_heads: int, weights: Weights, layers: int = LAYERS, **more: Any
) -> None:
    """config.json and model.safetensors."""
    config: dict[str, Any] = {
        "architectures": [architecture],
        "model_type": "llama",
        "hidden_act": "silu",
        "hidden_size": HIDDEN,
        "intermediate_size": INNER,
        "num_hidden_layers": layers,
        "num_attention_heads": HEADS,
        "num_key_value_heads": kv_heads,
        "head_dim": HEAD,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 8192,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "torch_dtype": "bfloat16",
        **more,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1))
    tensors = {name: value.to(torch.bfloat16).contiguous() for name, value in weights.items()}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
