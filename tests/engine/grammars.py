"""A grammar that any number of tokens satisfies up to a length, set in the place of SGLang's backends."""

from __future__ import annotations

from typing import Any


def install(scheduler: Any) -> None:
    """Let the scheduler take rules of the form "at most N"."""
    from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject

    class AtMost(BaseGrammarObject):
        """Ends behind `length` tokens."""

        def __init__(self, length: int) -> None:
            super().__init__()
            self.length, self.taken = length, 0

        def accept_token(self, token: int) -> None:
            self.taken += 1

        def rollback(self, k: int) -> None:
            self.taken -= k

        def is_terminated(self) -> bool:
            return self.taken >= self.length

        def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> Any:
            import torch

            return torch.ones(batch_size, vocab_size, dtype=torch.bool)

        def fill_vocab_mask(self, vocab_mask: Any, idx: int) -> None:
            vocab_mask[idx] = True

        @staticmethod
        def move_vocab_mask(vocab_mask: Any, device: Any) -> Any:
            return vocab_mask.to(device)

        @staticmethod
        def apply_vocab_mask(logits: Any, vocab_mask: Any) -> None:
            logits.masked_fill_(~vocab_mask, float("-inf"))

        def copy(self) -> AtMost:
            return AtMost(self.length)

    class Backend(BaseGrammarBackend):
        def dispatch_regex(self, key_string: str) -> AtMost:
            return AtMost(int(key_string.rpartition(" ")[2]))

    scheduler.grammar_manager.grammar_backend = Backend()
