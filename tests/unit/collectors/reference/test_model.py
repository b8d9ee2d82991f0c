"""The transformer is causal, sensitive to its context, and reads what the store gives it."""

import torch

from speckv_debug.collectors.reference.config import ModelShape
from speckv_debug.collectors.reference.model import Transformer, Weights
from speckv_debug.collectors.reference.plain import plain_greedy, plain_kv

SHAPE = ModelShape()
MODEL = Transformer(Weights(SHAPE, 3), 64)


def test_weights_are_a_function_of_the_seed() -> None:
    assert torch.equal(Weights(SHAPE, 3).qkv[1], Weights(SHAPE, 3).qkv[1])
    assert not torch.equal(Weights(SHAPE, 3).head, Weights(SHAPE, 4).head)


def test_noise_is_relative_and_leaves_the_original_alone() -> None:
    weights = Weights(SHAPE, 3)
    noisy = weights.with_noise(0.1, 1)
    off = (noisy.qkv[0] - weights.qkv[0]).std() / weights.qkv[0].std()
    assert 0.08 < off < 0.12
    assert torch.equal(weights.qkv[0], Weights(SHAPE, 3).qkv[0])


def test_kv_of_a_prefix_does_not_depend_on_what_follows() -> None:
    tokens = [5, 9, 33, 2, 60, 7, 7, 1]
    assert torch.allclose(plain_kv(MODEL, tokens)[:5], plain_kv(MODEL, tokens[:5]), atol=1e-12)


def test_the_first_token_changes_deeper_kv_of_all_later_ones() -> None:
    one, other = plain_kv(MODEL, [5, 9, 33, 2]), plain_kv(MODEL, [6, 9, 33, 2])
    assert torch.equal(one[1:, 0], other[1:, 0])  # the first layer sees the token alone
    assert ((one[1:, 1] - other[1:, 1]).abs().amax((1, 2, 3)) > 1e-3).all()


def test_plain_decoding_stops_at_the_stop_token_and_at_the_limit() -> None:
    output = plain_greedy(MODEL, [5, 9, 33], 12)
    assert len(output) == 12
    assert len(set(output)) > 1
    stop = output[4]
    assert plain_greedy(MODEL, [5, 9, 33], 12, stop) == output[: output.index(stop) + 1]


def test_plain_decoding_takes_the_argmax_of_one_forward_over_everything() -> None:
    prompt, output = [5, 9, 33], plain_greedy(MODEL, [5, 9, 33], 6)
    for n in range(6):
        assert plain_greedy(MODEL, prompt + output[:n], 1) == [output[n]]
