"""A tiny Llama: a config.json on disk, weights from a seed in memory."""

from __future__ import annotations

import json
import zlib
from pathlib import Path

VOCABULARY = 64
_CONTEXT = {"target_layer_ids": [0], "mask_token_id": 3}
BLOCKS = {
    "DFlashDraftModel": {"dflash_config": {**_CONTEXT, "block_size": 4}},
    "DSparkDraftModel": {
        "markov_rank": 4,
        "markov_head_type": "vanilla",
        "dflash_config": {**_CONTEXT, "block_size": 3},
        "dspark_config": {**_CONTEXT, "block_size": 3, "markov_rank": 4, "markov_head_type": "vanilla"},
    },
}
"""What a draft model that drafts a whole block at once says of it."""


def write_config(
    folder: Path, architecture: str = "LlamaForCausalLM", layers: int = 1, window: int | None = None
) -> str:
    """Write config.json; the folder's path as a string. With a `window` the last layer's KV lies in a pool for windows."""
    hidden, heads = 32, 2
    config = {
        "architectures": [architecture],
        "model_type": "llama",
        "hidden_size": hidden,
        "intermediate_size": 2 * hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": 1,
        "head_dim": hidden // heads,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "bos_token_id": 1,
        "eos_token_id": 2,
        "attention_bias": False,
        **BLOCKS.get(architecture, {}),
        **(_windowed(layers, window) if window else {}),
    }
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    return str(folder)


def _windowed(layers: int, window: int) -> dict[str, object]:
    pattern = [0] * (layers - 1) + [1]
    return {"is_hybrid_swa": True, "hybrid_layer_pattern": pattern, "sliding_window": window}


def set_weights(model, noise: float = 0.0, shared_with=None) -> None:
    """The same seed gives the same weights; `noise` makes a draft model that agrees in part."""
    import torch

    shared = {p.data_ptr() for p in shared_with.parameters()} if shared_with is not None else set()
    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if parameter.data_ptr() in shared:
                continue
            generator = torch.Generator().manual_seed(zlib.crc32(name.encode()))
            scale = 0.12 if "layers" in name else 0.3
            if "norm" in name:
                parameter.fill_(1.0)
            else:
                parameter.copy_(torch.randn(parameter.shape, generator=generator) * scale)
            if noise:
                parameter.add_(torch.randn(parameter.shape, generator=generator) * scale * noise)


def pass_embedding_on(model) -> None:
    """Let the projection of an EAGLE head keep the embedding and let the hidden state go: its drafts are accepted in part."""
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("fc.weight"):
                hidden = parameter.shape[0]
                parameter.copy_(torch.cat([torch.eye(hidden), torch.zeros(hidden, hidden)], dim=1))
