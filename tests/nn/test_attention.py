"""Attention against PyTorch: weights, contexts, gradients, masks and caches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from burn import Cpu, NdArray, Tensor, f64, nn
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.nn import MhaCache, MhaInput
from tests.nn.parts import linear_parts, rows, same, whole
from tests.nn.peers import every_device, fields, floats, numbers


def attention_parts(ours="", peer="", biases=(True, True, True, True)):
    """Where torch keeps the layers of our attention: query, key and value in one matrix."""
    found = {}
    for index, name in enumerate(("query", "key", "value")):
        found |= linear_parts(f"{ours}{name}", rows(f"{peer}in_proj_{{kind}}", index, 3), biases[index])
    return found | linear_parts(f"{ours}output", whole(f"{peer}out_proj.{{kind}}"), biases[3])


def hidden_pairs(batch, queries, keys, seed=0):
    """A mask that leaves each query at least one key."""
    mask = np.random.default_rng([seed, batch, queries, keys]).random((batch, queries, keys)) < 0.4
    mask[..., 0] = False
    return mask


def hidden_keys(batch, keys):
    """The last keys of each batch but the first are padding."""
    return np.arange(keys)[None] >= keys - np.arange(batch)[:, None]


def asked(query, key, value, pad, attn, device):
    given = MhaInput(query, key, value)
    given = given if pad is None else given.mask_pad(Tensor.from_data(pad, device))
    return given if attn is None else given.mask_attn(Tensor.from_data(attn, device))


@every_device
@pytest.mark.parametrize("masks", ["none", "pad", "attn", "both"])
@pytest.mark.parametrize("bias", [True, False])
def test_multi_head_attention_is_that_of_pytorch(device, masks, bias):
    batch, queries, keys, d_model, heads = 3, 4, 5, 6, 2
    config = nn.MultiHeadAttentionConfig(d_model, heads, dropout=0.0)
    if not bias:
        config = config.with_query_bias(False).with_key_bias(False).with_value_bias(False).with_output_bias(False)
    torch.manual_seed(0)
    theirs = torch.nn.MultiheadAttention(d_model, heads, bias=bias, batch_first=True).double()
    pad = hidden_keys(batch, keys) if masks in ("pad", "both") else None
    attn = hidden_pairs(batch, queries, keys) if masks in ("attn", "both") else None

    def run(module, query, key, value):
        output = module(asked(query, key, value, pad, attn, device))
        return [output.context, output.weights]

    def peer_run(module, query, key, value):
        output = module(
            query, key, value,
            key_padding_mask=None if pad is None else torch.from_numpy(pad),
            attn_mask=None if attn is None else torch.from_numpy(np.repeat(attn, heads, 0)),
            average_attn_weights=False,
        )  # fmt: skip
        return [*output]

    arrays = floats(batch, queries, d_model), floats(batch, keys, d_model, seed=1), floats(batch, keys, d_model, seed=2)
    ours = config.init(device)
    ours = same(ours, theirs, attention_parts(biases=(bias,) * 4), run, peer_run, *arrays, device=device)
    given = asked(*(Tensor.from_data(each, device) for each in arrays), pad, attn, device)
    np.testing.assert_allclose(numbers(ours.context(given)), numbers(ours(given).context), rtol=1e-10, atol=1e-12)


@every_device
def test_a_query_without_keys_attends_to_all_of_them_or_quietly_to_none(device):
    x = Tensor.from_data(floats(1, 3, 4), device)
    everything = Tensor.from_data(np.ones((1, 3), bool), device)
    loud = nn.MultiHeadAttentionConfig(4, 2, dropout=0.0).init(device)
    given = MhaInput.self_attn(x).mask_pad(everything)
    np.testing.assert_allclose(numbers(loud(given).weights), 1 / 3, rtol=1e-12)
    quiet = nn.MultiHeadAttentionConfig(4, 2, dropout=0.0, quiet_softmax=True).init(device)
    assert np.abs(numbers(quiet(given).weights)).max() == 0.0
    shares = numbers(quiet(MhaInput.self_attn(x)).weights).sum(-1)
    assert ((shares > 0) & (shares < 1)).all()


def test_dropout_falls_on_the_weights_after_the_softmax():
    device = NdArray(float=f64).autodiff()
    x = Tensor.from_data(floats(2, 8, 4), device)
    attention = nn.MultiHeadAttentionConfig(4, 2, dropout=0.5).init(device)
    weights = numbers(attention(MhaInput.self_attn(x)).weights)
    exact = numbers(attention.mode("infer")(MhaInput.self_attn(x)).weights)
    kept = weights != 0.0
    assert 0.3 < kept.mean() < 0.7
    np.testing.assert_allclose(weights[kept], 2 * exact[kept], rtol=1e-12)
    np.testing.assert_allclose(exact.sum(-1), 1.0, rtol=1e-12)
    served = attention.valid()
    plain = Tensor.from_data(floats(2, 8, 4), NdArray(float=f64))
    np.testing.assert_allclose(numbers(served(MhaInput.self_attn(plain)).weights), exact, rtol=1e-12)
    again = attention.context(MhaInput.self_attn(x))
    assert not np.allclose(numbers(again), numbers(attention.context(MhaInput.self_attn(x))))


@every_device
@pytest.mark.parametrize("first", [1, 3])
def test_attention_with_a_cache_is_attention_without(device, first):
    attention = nn.MultiHeadAttentionConfig(6, 2, dropout=0.0).init(device)
    x, length = Tensor.from_data(floats(2, 7, 6), device), 7
    mask = nn.generate_autoregressive_mask(2, length, device)
    whole = attention(MhaInput.self_attn(x).mask_attn(mask)).context
    cache = MhaCache.autoregressive()
    for known in [*range(first, length - 2), length]:
        part = x.narrow(1, 0, known)
        rows = nn.generate_autoregressive_mask(2, known, device)
        found = attention.forward_cache(MhaInput.self_attn(part).mask_attn(rows), cache)
        np.testing.assert_allclose(numbers(found.context), numbers(whole)[:, :known], rtol=1e-9, atol=1e-11)
    assert tuple(found.weights.shape) == (2, 2, 3, 7)  # only the last three positions were new
    with pytest.raises(ArgumentError, match="7 positions are remembered and the sequence has 7"):
        attention.forward_cache(MhaInput.self_attn(x), cache)


@every_device
def test_attention_to_a_memory_keeps_its_keys(device):
    attention = nn.MultiHeadAttentionConfig(6, 3, dropout=0.0).init(device)
    x, memory = Tensor.from_data(floats(2, 5, 6), device), Tensor.from_data(floats(2, 4, 6, seed=1), device)
    pad = Tensor.from_data(hidden_keys(2, 4), device)
    whole = attention(MhaInput(x, memory, memory).mask_pad(pad)).context
    cache = MhaCache.autoregressive_cross_attention()
    for known in range(1, 6):
        part = x.narrow(1, 0, known)
        found = attention.forward_cache(MhaInput(part, memory, memory).mask_pad(pad), cache).context
    np.testing.assert_allclose(numbers(found), numbers(whole), rtol=1e-9, atol=1e-11)


@every_device
@pytest.mark.parametrize("heads_kv", [1, 2, 4])
def test_cross_attention_shares_keys_among_heads(device, heads_kv):
    batch, queries, keys, heads, size = 2, 3, 5, 4, 3
    attention = nn.CrossAttentionConfig(6, 8, heads, heads_kv, size, dropout=0.0).init(device)
    x, context, mask = floats(batch, queries, 6), floats(batch, keys, 8, seed=1), hidden_keys(batch, keys)

    def split(layer, x, heads):
        y = x @ torch.tensor(numbers(layer.weight)) + torch.tensor(numbers(layer.bias))
        return y.reshape(batch, -1, heads, size).transpose(1, 2)

    peer_x, peer_context = torch.from_numpy(x), torch.from_numpy(context)
    q = split(attention.query, peer_x, heads)
    k, v = (split(layer, peer_context, heads_kv) for layer in (attention.key, attention.value))
    expected = torch.nn.functional.scaled_dot_product_attention(
        q, k, v, attn_mask=~torch.from_numpy(mask)[:, None, None], enable_gqa=True
    )
    expected = expected.transpose(1, 2).reshape(batch, queries, heads * size).numpy()
    expected = expected @ numbers(attention.output.weight) + numbers(attention.output.bias)

    hidden = Tensor.from_data(mask, device)
    ours = attention(Tensor.from_data(x, device), Tensor.from_data(context, device), hidden)
    np.testing.assert_allclose(numbers(ours), expected, rtol=1e-9, atol=1e-11)
    cache = nn.CrossAttentionCache()
    for position in range(queries):
        row = Tensor.from_data(x[:, position : position + 1], device)
        found = attention.forward_cache(row, Tensor.from_data(context, device), hidden, cache)
        np.testing.assert_allclose(numbers(found), expected[:, position : position + 1], rtol=1e-9, atol=1e-11)


def test_cross_attention_passes_gradients_to_everything():
    device = NdArray(float=f64).autodiff()
    attention = nn.CrossAttentionConfig(4, 6, 4, 2, 2, dropout=0.0).init(device)
    x, context = (Tensor.from_data(floats(2, 3, size), device).require_grad() for size in (4, 6))
    grads = (attention(x, context) ** 2).sum().backward()
    for each in (x, context, *(param for _, param in attention.named_parameters())):
        assert np.isfinite(numbers(each.grad(grads))).all()
    assert np.abs(numbers(context.grad(grads))).max() > 0


def test_an_autoregressive_mask_hides_what_lies_ahead():
    for device in (NdArray(), Cpu()):
        mask = nn.generate_autoregressive_mask(2, 3, device)
        wanted = [[False, True, True], [False, False, True], [False, False, False]]
        np.testing.assert_array_equal(mask.numpy(), [wanted, wanted])


def test_a_padding_mask_brings_tokens_to_one_length():
    device, tokens = NdArray(), [[3, 3, 3], [3, 3], [3, 3, 3, 4]]
    found = nn.generate_padding_mask(0, tokens, None, device)
    np.testing.assert_array_equal(found.tensor.numpy(), [[3, 3, 3, 0], [3, 3, 0, 0], [3, 3, 3, 4]])
    np.testing.assert_array_equal(found.mask.numpy(), found.tensor.numpy() == 0)
    assert found.tensor.dtype is device.int_dtype
    for given in (3, nn.SeqLengthOption.Max(3)):
        cut = nn.generate_padding_mask(0, tokens, given, device)
        np.testing.assert_array_equal(cut.tensor.numpy(), [[3, 3, 3], [3, 3, 0], [3, 3, 3]])
    assert nn.generate_padding_mask(0, tokens, 9, device).tensor.shape == (3, 4)
    assert nn.generate_padding_mask(0, tokens, nn.SeqLengthOption.Fixed(6), device).tensor.shape == (3, 6)
    assert nn.generate_padding_mask(0, tokens, nn.SeqLengthOption.NoMax, device).tensor.shape == (3, 4)
    with pytest.raises(ArgumentError, match="0 or more, got -1"):
        nn.generate_padding_mask(0, tokens, -1, device)


def test_a_tensor_cache_computes_new_positions_or_once():
    device, calls = NdArray(), []

    def double(x):
        calls.append(x.shape[1])
        return x * 2

    x = Tensor.from_data(floats(1, 4, 2), device)
    growing, fixed = nn.TensorCache.empty(), nn.TensorCache()
    growing.forward_autoregressive(x.narrow(1, 0, 2), 1, double)
    assert growing.forward_autoregressive(x, 1, double).all_close(x * 2)
    assert calls == [2, 2]
    first = fixed.forward_full(x, double)
    assert fixed.forward_full(x * 0, double) is first
    assert calls == [2, 2, 4]


def test_records_have_the_fields_of_burn():
    attention = nn.MultiHeadAttentionConfig(4, 2).init(NdArray())
    assert fields(attention) == [
        "query", "key", "value", "output", "dropout", "activation", "d_model", "n_heads", "d_k", "min_float",
        "quiet_softmax",
    ]  # fmt: skip
    item = attention.into_record().item
    assert item["dropout"] is None
    assert item["activation"] is None
    assert item["n_heads"] is None


def test_faults_are_refused_together():
    device = NdArray()
    with pytest.raises(ArgumentError, match="d_model must be a multiple of n_heads, got 5 and 2; dropout must be betw"):
        nn.MultiHeadAttentionConfig(5, 2, dropout=1.5).init(device)
    with pytest.raises(ArgumentError, match="n_heads must be a multiple of n_heads_kv, got 3 and 2"):
        nn.CrossAttentionConfig(4, 4, 3, 2, 2).init(device)
    attention = nn.MultiHeadAttentionConfig(4, 2).init(device)
    x = Tensor.from_data(floats(2, 3, 4), device)
    with pytest.raises(ShapeError, match=r"mask_pad must have the shape \(batch, keys\) = \(2, 3\), got \(2, 4\)"):
        attention(MhaInput.self_attn(x).mask_pad(Tensor.zeros([2, 4], device).bool()))
    with pytest.raises(DTypeError, match="mask_attn must be a bool tensor"):
        attention(MhaInput.self_attn(x).mask_attn(Tensor.zeros([2, 3, 3], device)))
    with pytest.raises(ShapeError, match=r"must be \(batch, length, d_model\)"):
        attention(MhaInput.self_attn(x.narrow(0, 0, 1).squeeze_dim(0)))
