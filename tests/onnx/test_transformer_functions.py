"""Attention of runtimes against ONNX Runtime; attention of the standard is tested case by case with the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, NdArray
from burn.errors import ArgumentError, ShapeError
from burn_import.functions import normalization, runtime_attention, transformer
from tests.tensor.one_node import DEVICE, assert_same, on_device, run

MICROSOFT = "com.microsoft"
BATCH, LENGTH, HEADS, SIZE = 2, 5, 3, 4


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


MASKS = {
    "none": None,
    "lengths": np.array([5, 3], np.int32),
    "ends and starts": np.array([5, 4, 0, 1], np.int32),
    "keys": np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32),
    "queries and keys": np.random.default_rng(1).integers(0, 2, (BATCH, LENGTH, LENGTH)).astype(np.int32),
}


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", MASKS)
def test_packed_attention_takes_every_form_of_mask(mask: str, causal: bool) -> None:
    width = 3 * HEADS * SIZE
    values = [numbers(BATCH, LENGTH, 7), numbers(7, width), numbers(width), MASKS[mask]]
    theirs = run("Attention", values, domain=MICROSOFT, num_heads=HEADS, unidirectional=int(causal))
    mine = runtime_attention.packed_attention(*map(on_device, values), heads=HEADS, is_causal=causal)
    assert_same(mine[0], theirs)


def test_packed_attention_goes_on_from_a_past() -> None:
    width = 3 * HEADS * SIZE
    values = [numbers(BATCH, LENGTH, 7), numbers(7, width), numbers(width), None, numbers(2, BATCH, HEADS, 3, SIZE)]
    theirs = run("Attention", values, 2, domain=MICROSOFT, num_heads=HEADS, unidirectional=1)
    mine = runtime_attention.packed_attention(*map(on_device, values), heads=HEADS, is_causal=True)
    assert_same(mine, theirs)


def test_quantized_attention() -> None:
    draw = np.random.default_rng(2)
    values = [
        draw.integers(0, 256, (2, 5, 7)).astype(np.uint8), draw.integers(-128, 128, (7, 36)).astype(np.int8),
        numbers(36), np.array(0.02, np.float32), np.array(0.01, np.float32), None, np.array(120, np.uint8),
        np.array(3, np.int8),
    ]  # fmt: skip
    theirs = run("QAttention", values, domain=MICROSOFT, num_heads=3)
    assert_same(runtime_attention.quantized_attention(*map(on_device, values), heads=3)[0], theirs)


def test_multi_head_attention_with_biases_masks_and_a_past() -> None:
    query, key, value = numbers(BATCH, LENGTH, 12), numbers(BATCH, 6, 12, seed=1), numbers(BATCH, 6, 15, seed=2)
    mask = np.array([[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]], np.int32)
    plain = [query, key, value, numbers(39), mask]
    theirs = run("MultiHeadAttention", plain, domain=MICROSOFT, num_heads=HEADS)
    assert_same(runtime_attention.multi_head_attention(*map(on_device, plain), heads=HEADS)[0], theirs)
    past = [query, key, numbers(BATCH, 6, 12, seed=3), None, None, numbers(1, 1, LENGTH, 8),
            numbers(BATCH, HEADS, 2, SIZE), numbers(BATCH, HEADS, 2, SIZE, seed=4)]  # fmt: skip
    theirs = run("MultiHeadAttention", past, 3, domain=MICROSOFT, num_heads=HEADS)
    assert_same(runtime_attention.multi_head_attention(*map(on_device, past), heads=HEADS), theirs)
    with pytest.raises(ArgumentError, match="give keys"):
        runtime_attention.multi_head_attention(on_device(query), heads=HEADS)


STEPS: dict[str, tuple[int, int, int, list[int], dict[str, Any], dict[str, Any]]] = {
    "prompt": (5, 0, 5, [4, 4], {}, {}),
    "step": (1, 6, 7, [6, 6], {}, {}),
    "uneven": (1, 6, 7, [6, 4], {}, {}),
    "buffer": (1, 10, 7, [6, 4], {}, {}),
    "rotary": (1, 6, 7, [6, 4], {"do_rotary": 1}, {"rotary": True}),
    "neighbours": (5, 0, 5, [4, 4], {"do_rotary": 1, "rotary_interleaved": 1}, {"rotary": True, "interleaved": True}),
    "window": (5, 0, 5, [4, 4], {"local_window_size": 2}, {"window": 2}),
    "softcap": (1, 6, 7, [6, 6], {"softcap": 2.0}, {"softcap": 2.0}),
    "smooth": (1, 6, 7, [6, 6], {"smooth_softmax": 1}, {"smooth": True}),
}


@pytest.mark.parametrize("step", STEPS)
def test_group_query_attention_keeps_its_caches(step: str) -> None:
    new, past, total, last, theirs, ours = STEPS[step]
    heads, shared, size = 4, 2, 16
    values = [
        numbers(BATCH, new, heads * size), numbers(BATCH, new, shared * size),
        numbers(BATCH, new, shared * size, seed=1),
        numbers(BATCH, shared, past, size), numbers(BATCH, shared, past, size, seed=1), np.array(last, np.int32),
        np.array(total, np.int32),
    ]  # fmt: skip
    if "do_rotary" in theirs:
        values += [numbers(32, size // 2), numbers(32, size // 2, seed=1)]
    expected = run("GroupQueryAttention", values, 3, domain=MICROSOFT, num_heads=heads, kv_num_heads=shared, **theirs)
    found = runtime_attention.group_query_attention(*map(on_device, values), heads=heads, key_heads=shared, **ours)
    assert_same(found, expected)


def test_group_query_attention_with_packed_queries_and_sinks() -> None:
    heads, shared, size = 4, 2, 16
    values = [numbers(BATCH, 1, (heads + 2 * shared) * size), None, None, numbers(BATCH, shared, 6, size),
              numbers(BATCH, shared, 6, size, seed=1), np.array([6, 6], np.int32), np.array(7, np.int32),
              None, None, None, None, numbers(heads)]  # fmt: skip
    expected = run("GroupQueryAttention", values, 3, domain=MICROSOFT, num_heads=heads, kv_num_heads=shared)
    found = runtime_attention.group_query_attention(*map(on_device, values), heads=heads, key_heads=shared)
    assert_same(found, expected)


def test_rotary_positions_from_one_first_position() -> None:
    x, first = numbers(2, 5, 32), np.array([3], np.int64)
    cosines, sines = numbers(32, 4), numbers(32, 4, seed=1)
    theirs = run("RotaryEmbedding", [x, first, cosines, sines], domain=MICROSOFT, num_heads=4)
    places = runtime_attention.rotary_offsets(on_device(first), 2, 5, DEVICE)
    mine = transformer.rotary_embedding(on_device(x), on_device(cosines), on_device(sines), places, heads=4)
    assert_same(mine, theirs)


def test_skipped_and_embedded_normalization() -> None:
    x, skip, gamma, beta, bias = numbers(2, 5, 8), numbers(2, 5, 8, seed=1), *(numbers(8, seed=i) for i in range(3))
    names = ["y", "", "", "sum"]
    layer = run("SkipLayerNormalization", [x, skip, gamma, beta, bias], names, domain=MICROSOFT, epsilon=1e-6)
    found = normalization.skip_layer_norm(*map(on_device, (x, skip, gamma, beta, bias)), eps=1e-6)
    assert_same((found[0], found[3]), layer)
    rms = run("SkipSimplifiedLayerNormalization", [x, skip, gamma, bias], names, domain=MICROSOFT, epsilon=1e-6)
    given = normalization.skip_rms_norm(*map(on_device, (x, skip, gamma, bias)), eps=1e-6)
    assert_same((given[0], given[2]), rms)
    draw = np.random.default_rng(3)
    tokens, segments = (draw.integers(0, high, (2, 5)).astype(np.int32) for high in (9, 2))
    values = [tokens, segments, numbers(9, 8), numbers(12, 8), numbers(2, 8), gamma, beta, MASKS["keys"]]
    theirs = run("EmbedLayerNormalization", values, 3, domain=MICROSOFT, epsilon=1e-6)
    assert_same(normalization.embed_layer_norm(*map(on_device, values), eps=1e-6), theirs)


def test_gradients_of_shared_causal_heads_are_those_of_pytorch() -> None:
    device = Autodiff(NdArray())
    arrays = [numbers(2, 4, 5, 8), numbers(2, 2, 5, 8, seed=1), numbers(2, 2, 5, 8, seed=2)]
    leaves = [burn.tensor(each.astype(np.float64), device=device).require_grad() for each in arrays]
    grads = transformer.attention(*leaves, is_causal=True)[0].sum().backward()
    theirs = [torch.tensor(each.astype(np.float64), requires_grad=True) for each in arrays]
    torch.nn.functional.scaled_dot_product_attention(*theirs, is_causal=True, enable_gqa=True).sum().backward()
    for leaf, expected in zip(leaves, theirs, strict=True):
        assert expected.grad is not None
        np.testing.assert_allclose(np.asarray(leaf.grad(grads)), expected.grad.numpy(), rtol=1e-8, atol=1e-10)


def test_what_attention_cannot_make_sense_of_is_refused() -> None:
    x = on_device(numbers(2, 5, 12))
    with pytest.raises(ShapeError, match="the number of heads"):
        transformer.attention(x, x, x)
    with pytest.raises(ArgumentError, match="both past_key and past_value"):
        transformer.attention(x, x, x, past_key=x, heads=3, key_heads=3)
    with pytest.raises(ArgumentError, match="scores must be None"):
        transformer.attention(x, x, x, heads=3, key_heads=3, scores=4)
    with pytest.raises(ShapeError, match="4 heads of queries cannot share 3"):
        transformer.attention(x, x, x, heads=4, key_heads=3)


def test_attention_of_halves_is_rounded_after_every_step_as_the_standard_writes_it() -> None:
    rng = np.random.default_rng(4)
    q, k, v = (rng.random((2, 3, length, 8)).astype(np.float16) for length in (4, 6, 6))
    root = np.float16(8**-0.25)
    scores = (q * root) @ (k * root).swapaxes(-1, -2)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    expected = (powers / powers.sum(-1, keepdims=True)) @ v
    assert expected.dtype == np.float16
    given = [burn.tensor(each, device=burn.NdArray(), dtype=burn.f16) for each in (q, k, v)]
    np.testing.assert_array_equal(np.array(transformer.attention(*given)[0].tolist(), np.float16), expected)
