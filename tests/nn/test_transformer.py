"""Transformers against PyTorch, with caches, in training, and the feed-forward module of the Book."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn import Cpu, NdArray, Tensor, nn
from burn.errors import ArgumentError
from burn.module import DisplaySettings, Module
from burn.nn import TransformerDecoderInput, TransformerEncoderInput
from burn.optim import AdamConfig
from burn.tensor import activation
from tests.nn.parts import linear_parts, same, whole
from tests.nn.peers import every_device, fields, floats, numbers
from tests.nn.test_attention import attention_parts, hidden_keys, hidden_pairs

MASKED = pytest.mark.parametrize("masked", [False, True], ids=["seen", "masked"])
NORM_FIRST = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "first"])


def common_parts(index, norms):
    """Where torch keeps the feed-forward part and the norms of our layer; `norms` is {our name: its name}."""
    ours, peer = f"layers.{index}.", f"layers.{index}."
    found = linear_parts(f"{ours}pwff.linear_inner", whole(f"{peer}linear1.{{kind}}"))
    found |= linear_parts(f"{ours}pwff.linear_outer", whole(f"{peer}linear2.{{kind}}"))
    for mine, theirs in norms.items():
        found[f"{ours}{mine}.gamma"] = ("weight", whole(f"{peer}{theirs}.{{kind}}"))
        found[f"{ours}{mine}.beta"] = ("bias", whole(f"{peer}{theirs}.{{kind}}"))
    return found


def encoder_parts(layers, norm_first):
    # PyTorch's norm1 always belongs to the attention.
    norms = {"norm_2": "norm1", "norm_1": "norm2"} if norm_first else {"norm_1": "norm1", "norm_2": "norm2"}
    found = {}
    for index in range(layers):
        found |= attention_parts(f"layers.{index}.mha.", f"layers.{index}.self_attn.")
        found |= common_parts(index, norms)
    return found


def decoder_parts(layers, norm_first):
    first = {"norm_3": "norm1", "norm_1": "norm2", "norm_2": "norm3"}
    norms = first if norm_first else {f"norm_{i}": f"norm{i}" for i in (1, 2, 3)}
    found = {}
    for index in range(layers):
        found |= attention_parts(f"layers.{index}.self_attn.", f"layers.{index}.self_attn.")
        found |= attention_parts(f"layers.{index}.cross_attn.", f"layers.{index}.multihead_attn.")
        found |= common_parts(index, norms)
    return found


def peer(kind, layers, norm_first, activation="gelu"):
    torch.manual_seed(0)
    layer = getattr(torch.nn, f"Transformer{kind}Layer")(
        8, 2, 12, dropout=0.0, activation=activation, batch_first=True, norm_first=norm_first, layer_norm_eps=1e-3
    )
    options = {"enable_nested_tensor": False} if kind == "Encoder" else {}
    stack = getattr(torch.nn, f"Transformer{kind}")(layer, layers, **options).double()
    with torch.no_grad():
        for name, param in stack.named_parameters():
            if "norm" in name or "bias" in name:
                param.add_(torch.randn(param.shape, dtype=torch.float64) * 0.2)
    return stack


@every_device
@NORM_FIRST
@MASKED
def test_an_encoder_is_that_of_pytorch(device, norm_first, masked):
    config = nn.TransformerEncoderConfig(8, 12, 2, 2, dropout=0.0, norm_first=norm_first, layer_norm_eps=1e-3)
    pad, attn = hidden_keys(3, 5), hidden_pairs(3, 5, 5)

    def run(module, x):
        given = TransformerEncoderInput(x)
        if masked:
            given = given.mask_pad(Tensor.from_data(pad, device)).mask_attn(Tensor.from_data(attn, device))
        return [module(given)]

    def peer_run(module, x):
        masks = {}
        if masked:
            masks = dict(src_key_padding_mask=torch.from_numpy(pad), mask=torch.from_numpy(np.repeat(attn, 2, 0)))
        return [module(x, **masks)]

    theirs = peer("Encoder", 2, norm_first)
    same(config.init(device), theirs, encoder_parts(2, norm_first), run, peer_run, floats(3, 5, 8), device=device)


@every_device
@NORM_FIRST
@MASKED
def test_a_decoder_is_that_of_pytorch(device, norm_first, masked):
    config = nn.TransformerDecoderConfig(8, 12, 2, 2, 0.0, norm_first, layer_norm_eps=1e-3)
    config = config.with_activation(nn.ActivationConfig.Relu)
    target_pad, target_attn = hidden_keys(3, 4), hidden_pairs(3, 4, 4)
    memory_pad, memory_attn = hidden_keys(3, 5), hidden_pairs(3, 4, 5)

    def run(module, target, memory):
        given = TransformerDecoderInput(target, memory)
        if masked:
            masks = (Tensor.from_data(each, device) for each in (target_pad, target_attn, memory_pad, memory_attn))
            one, two, three, four = masks
            given = given.target_mask_pad(one).target_mask_attn(two).memory_mask_pad(three).memory_mask_attn(four)
        return [module(given)]

    def peer_run(module, target, memory):
        masks = {}
        if masked:
            masks = dict(
                tgt_key_padding_mask=torch.from_numpy(target_pad),
                tgt_mask=torch.from_numpy(np.repeat(target_attn, 2, 0)),
                memory_key_padding_mask=torch.from_numpy(memory_pad),
                memory_mask=torch.from_numpy(np.repeat(memory_attn, 2, 0)),
            )
        return [module(target, memory, **masks)]

    theirs, parts = peer("Decoder", 2, norm_first, "relu"), decoder_parts(2, norm_first)
    arrays = floats(3, 4, 8), floats(3, 5, 8, seed=1)
    same(config.init(device), theirs, parts, run, peer_run, *arrays, device=device)


@every_device
@NORM_FIRST
@pytest.mark.parametrize("steps", [(1, 2, 3, 4), (3, 6)], ids=str)
def test_an_encoder_with_a_cache_is_one_without(device, norm_first, steps):
    encoder = nn.TransformerEncoderConfig(8, 12, 2, 2, dropout=0.1, norm_first=norm_first).init(device).valid()
    plain = device.inner()
    x, pad = Tensor.from_data(floats(2, 6, 8), plain), hidden_keys(2, 6)
    pad[:, 0] = False

    def given(length):
        mask = nn.generate_autoregressive_mask(2, length, plain)
        hidden = Tensor.from_data(np.ascontiguousarray(pad[:, :length]), plain)
        return TransformerEncoderInput(x.narrow(1, 0, length)).mask_pad(hidden).mask_attn(mask)

    cache, single = encoder.new_autoregressive_cache(), nn.TransformerEncoderLayerAutoregressiveCache()
    for length in steps:
        found = encoder.forward_autoregressive_inference(given(length), cache)
        np.testing.assert_allclose(numbers(found), numbers(encoder(given(length))), rtol=1e-8, atol=1e-10)
        one, asked = encoder.layers[0], given(length)
        found = one.forward_autoregressive_inference(asked.tensor, asked.pad, asked.attn, single)
        expected = one(asked.tensor, asked.pad, asked.attn)
        np.testing.assert_allclose(numbers(found), numbers(expected), rtol=1e-8, atol=1e-10)


@every_device
@NORM_FIRST
@pytest.mark.parametrize("steps", [(1, 2, 3, 4), (3, 6)], ids=str)
def test_a_decoder_with_a_cache_is_one_without(device, norm_first, steps):
    decoder = nn.TransformerDecoderConfig(8, 12, 2, 2, dropout=0.1, norm_first=norm_first).init(device).valid()
    plain = device.inner()
    x, memory = Tensor.from_data(floats(2, 6, 8), plain), Tensor.from_data(floats(2, 4, 8, seed=1), plain)
    pairs, hidden = hidden_pairs(2, 6, 4), Tensor.from_data(hidden_keys(2, 4), plain)

    def given(length):
        mask = nn.generate_autoregressive_mask(2, length, plain)
        rows = Tensor.from_data(np.ascontiguousarray(pairs[:, :length]), plain)
        made = TransformerDecoderInput(x.narrow(1, 0, length), memory).target_mask_attn(mask)
        return made.memory_mask_pad(hidden).memory_mask_attn(rows)

    cache, single = decoder.new_autoregressive_cache(), nn.TransformerDecoderLayerAutoregressiveCache()
    for length in steps:
        found = decoder.forward_autoregressive_inference(given(length), cache)
        np.testing.assert_allclose(numbers(found), numbers(decoder(given(length))), rtol=1e-8, atol=1e-10)
        one = decoder.layers[0]
        found = one.forward_autoregressive_inference(given(length), single).target
        np.testing.assert_allclose(numbers(found), numbers(one(given(length)).target), rtol=1e-8, atol=1e-10)


def test_text_is_generated_alike_with_a_cache_and_without():
    device, vocabulary, length = Cpu(), 11, 9

    class Writer(Module):
        tokens: nn.Embedding
        places: nn.PositionalEncoding
        body: nn.TransformerEncoder
        head: nn.Linear

        def embed(self, tokens):
            return self.places(self.tokens(tokens))

    writer = Writer(
        nn.EmbeddingConfig(vocabulary, 16).init(device),
        nn.PositionalEncodingConfig(16, max_sequence_size=32).init(device),
        nn.TransformerEncoderConfig(16, 32, 4, 2, norm_first=True).init(device),
        nn.LinearConfig(16, vocabulary).init(device),
    )

    def write(cache):
        text = Tensor.from_ints([[1], [2]], device)
        while text.shape[1] < length:
            mask = nn.generate_autoregressive_mask(2, text.shape[1], device)
            given = TransformerEncoderInput(writer.embed(text)).mask_attn(mask)
            if cache is None:
                found = writer.body(given)
            else:
                found = writer.body.forward_autoregressive_inference(given, cache)
            scores = writer.head(found.narrow(1, text.shape[1] - 1, 1))
            text = Tensor.cat([text, scores.argmax(2).reshape([2, 1])], 1)
        return text.numpy()

    np.testing.assert_array_equal(write(writer.body.new_autoregressive_cache()), write(None))


class Majority(Module):
    """Tells which of two tokens occurs more often."""

    tokens: nn.Embedding
    body: nn.TransformerEncoder
    head: nn.Linear

    def forward(self, tokens):
        return self.head(self.body(TransformerEncoderInput(self.tokens(tokens))).mean_dim(1)).squeeze_dim(1)


def test_an_encoder_learns_the_majority_of_tokens():
    device = Cpu()
    device.seed(3)
    rich = device.autodiff()
    model = Majority(
        nn.EmbeddingConfig(2, 16).init(rich),
        nn.TransformerEncoderConfig(16, 32, 2, 1, dropout=0.0).init(rich),
        nn.LinearConfig(16, 2).init(rich),
    )
    # Every sequence of seven bits: the optimum is known, a loss of 0 with every answer right.
    bits = np.array([[number >> place & 1 for place in range(7)] for number in range(128)])
    answers = (bits.sum(1) > 3).astype(int)
    tokens, targets = Tensor.from_ints(bits, device), Tensor.from_data(np.eye(2, dtype=np.float32)[answers], device)
    optim = AdamConfig(epsilon=1e-8).init()

    @burn.compile
    def train(model, optim, tokens, targets):
        loss = (activation.log_softmax(model(tokens), 1) * targets).sum() * (-1.0 / 128)
        return optim.step(1e-2, model, loss.backward()), optim, loss.inner()

    first = None
    for _ in range(120):
        model, optim, loss = train(model, optim, tokens, targets)
        first = float(loss.into_scalar()) if first is None else first
    assert first > 0.4
    assert float(loss.into_scalar()) < 1e-3
    guesses = model.valid()(tokens).argmax(1).numpy().reshape(-1)
    np.testing.assert_array_equal(guesses, answers)
    assert train.explain().startswith("captured:")


# The feed-forward module, as the README and the Book write it


class PositionWiseFeedForward(Module):
    linear_inner: nn.Linear
    linear_outer: nn.Linear
    dropout: nn.Dropout
    gelu: nn.Gelu

    def forward(self, input):
        x = self.linear_inner(input)
        x = self.gelu(x)
        x = self.dropout(x)

        return self.linear_outer(x)

    def custom_settings(self):
        return (
            DisplaySettings()
            .with_show_all_attributes(False)
            .with_new_line_after_attribute(True)
            .with_show_num_parameters(True)
            .with_indentation_size(2)
            .with_show_param_id(False)
            .optional()
        )

    def custom_content(self, content):
        return (
            content.add("linear_inner", self.linear_inner)
            .add("linear_outer", self.linear_outer)
            .add("anything", "anything_else")
            .optional()
        )


def test_the_module_of_the_readme_computes_what_ours_does_and_prints_as_it_says():
    device = NdArray()
    ours = nn.PositionWiseFeedForwardConfig(2, 3).init(device)
    theirs = PositionWiseFeedForward(
        nn.LinearConfig(2, 3).init(device), nn.LinearConfig(3, 2).init(device), nn.DropoutConfig(0.1).init(), nn.Gelu()
    ).load_record(ours.into_record())
    x = Tensor.from_data(floats(4, 5, 2), device)
    assert theirs(x).all_close(ours(x))
    assert str(theirs) == (
        "PositionWiseFeedForward {\n"
        "  linear_inner: Linear {d_input: 2, d_output: 3, bias: true, params: 9}\n"
        "  linear_outer: Linear {d_input: 3, d_output: 2, bias: true, params: 8}\n"
        "  anything: anything_else\n"
        "  params: 17\n"
        "}"
    )
    assert str(ours) == "PositionWiseFeedForward {d_model: 2, d_ff: 3, prob: 0.1, params: 17}"
    assert fields(ours) == ["linear_inner", "linear_outer", "dropout", "gelu"]
    assert ours.into_record().item["gelu"] is None


def test_records_and_displays_are_those_of_burn():
    device = NdArray()
    encoder, decoder = nn.TransformerEncoderConfig(4, 8, 2, 2), nn.TransformerDecoderConfig(4, 8, 2, 1)
    encoder, decoder = encoder.init(device), decoder.init(device)
    settings = ["layers", "d_model", "d_ff", "n_heads", "n_layers", "dropout", "norm_first", "quiet_softmax"]
    assert fields(encoder) == fields(decoder) == settings
    assert fields(encoder.layers[0]) == ["mha", "pwff", "norm_1", "norm_2", "dropout", "norm_first"]
    assert fields(decoder.layers[0]) == [
        "cross_attn", "self_attn", "pwff", "norm_1", "norm_2", "norm_3", "dropout", "norm_first",
    ]  # fmt: skip
    assert str(encoder) == (
        "TransformerEncoder {d_model: 4, d_ff: 8, n_heads: 2, n_layers: 2, dropout: 0.1, norm_first: false, "
        "quiet_softmax: false, params: 344}"
    )


def test_dropout_acts_in_training_only():
    device = NdArray().autodiff()
    encoder = nn.TransformerEncoderConfig(8, 12, 2, 1, dropout=0.5).init(device)
    x = TransformerEncoderInput(Tensor.from_data(floats(2, 3, 8), device))
    assert not np.allclose(numbers(encoder(x)), numbers(encoder(x)))
    plain = TransformerEncoderInput(Tensor.from_data(floats(2, 3, 8), NdArray()))
    assert encoder.valid()(plain).all_close(encoder.valid()(plain))
    np.testing.assert_allclose(numbers(encoder.mode("infer")(x)), numbers(encoder.valid()(plain)), rtol=1e-5)


def test_faults_are_refused_together():
    for config in (nn.TransformerEncoderConfig, nn.TransformerDecoderConfig):
        message = "d_model must be a multiple of n_heads, got 4 and 3; d_ff must be 1 or more, got 0; n_layers must"
        with pytest.raises(ArgumentError, match=f"{config.__name__}: {message}"):
            config(4, 0, 3, -1).init(NdArray())
    with pytest.raises(ArgumentError, match="d_ff must be 1 or more, got 0; dropout must be between 0 and 1, got 2.0"):
        nn.PositionWiseFeedForwardConfig(2, 0, dropout=2.0).init(NdArray())
