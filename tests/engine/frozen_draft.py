"""A draft model for frozen-KV MTP, which asks for one that writes no KV: ours reads none either, it has no attention.

It has the target's MLP and norms by name, so that the same seed gives it the target's weights, and shares embedding and
output with it: its drafts are accepted in part. SGLang's own are of Gemma 4, whose kernels need a GPU.
"""

from __future__ import annotations

from typing import Any

import torch
from sglang.srt.layers.layernorm import RMSNorm
from sglang.srt.layers.logits_processor import LogitsProcessor
from sglang.srt.layers.vocab_parallel_embedding import ParallelLMHead
from sglang.srt.models.llama import LlamaMLP
from sglang.srt.models.registry import ModelRegistry
from sglang.srt.speculative.frozen_kv_mtp_info import FrozenKVMTPContext
from torch import nn

ARCHITECTURE = "FrozenDraftModel"


class _Layer(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.mlp = LlamaMLP(config.hidden_size, config.intermediate_size, config.hidden_act)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden: Any) -> Any:
        return hidden + self.mlp(self.post_attention_layernorm(hidden))


class _Body(nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.layers = nn.ModuleList([_Layer(config)])
        self.norm = RMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(self, hidden: Any) -> Any:
        return self.norm(self.layers[0](hidden))


class FrozenDraftModel(nn.Module):
    """What `FrozenKVMTPDraftWorker` asks for; each forward goes on from a token alone."""

    def __init__(self, config: Any, quant_config: Any = None, prefix: str = "") -> None:
        super().__init__()
        self.config = config
        self.backbone_hidden_size = config.hidden_size
        self.model = _Body(config)
        self.lm_head = ParallelLMHead(config.vocab_size, config.hidden_size)
        self.logits_processor = LogitsProcessor(config)
        self.embedding: Any = None

    def set_embed_and_head(self, embedding: Any, head: Any) -> None:
        """Share the target's."""
        self.embedding = embedding
        del self.lm_head.weight
        self.lm_head.weight = head

    def build_frozen_kv_mtp_context(
        self, target_model: Any, target_token_to_kv_pool: Any
    ) -> FrozenKVMTPContext:
        """Layer 0 would read the target's layer 0."""
        return FrozenKVMTPContext(target_token_to_kv_pool=target_token_to_kv_pool, physical_layer_ids={0: 0})

    def bind_frozen_kv_context(self, context: FrozenKVMTPContext) -> None:
        """There is no attention to bind."""

    def forward(self, input_ids: Any, positions: Any, forward_batch: Any, input_embeds: Any = None) -> Any:
        """Logits and the hidden states that the next draft step is handed."""
        hidden = self.model(torch.nn.functional.embedding(input_ids, self.embedding))
        return self.logits_processor(input_ids, hidden, self.lm_head, forward_batch)


def register() -> None:
    """Let SGLang find it by its architecture."""
    ModelRegistry.models[ARCHITECTURE] = FrozenDraftModel
