"""Recurrent layers against ONNX Runtime in all their settings, and their gradients against PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.backend import Autodiff, NdArray
from burn.errors import ArgumentError, ShapeError
from burn.tensor import recurrent
from tests.tensor.one_node import assert_same, on_device, run

STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6
GATES = {"rnn": 1, "gru": 3, "lstm": 4}
USUAL = {"rnn": ["LeakyRelu"], "gru": ["HardSigmoid", "ScaledTanh"], "lstm": ["HardSigmoid", "Affine", "Elu"]}
ALPHA = {"rnn": [0.1], "gru": [0.3, 0.9], "lstm": [0.3, 0.5, 0.7]}
BETA: dict[str, list[float]] = {"rnn": [], "gru": [0.4, 0.8], "lstm": [0.4, 0.1]}


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).uniform(-1, 1, shape).astype(np.float32)


def inputs_of(kind: str, directions: int, lengths: bool, states: bool, peepholes: bool) -> list[Any]:
    gates = GATES[kind]
    values: list[Any] = [
        numbers(STEPS, BATCH, INPUTS),
        numbers(directions, gates * HIDDEN, INPUTS, seed=1),
        numbers(directions, gates * HIDDEN, HIDDEN, seed=2),
        numbers(directions, 2 * gates * HIDDEN, seed=3),
        np.array([5, 2, 3], np.int32) if lengths else None,
        numbers(directions, BATCH, HIDDEN, seed=4) if states else None,
    ]
    if kind == "lstm":
        values.append(numbers(directions, BATCH, HIDDEN, seed=5) if states else None)
        values.append(numbers(directions, 3 * HIDDEN, seed=6) if peepholes else None)
    return values


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_a_layer_gives_what_onnx_runtime_gives_in_every_setting(kind: str, direction: str) -> None:
    directions = 2 if direction == "bidirectional" else 1
    switches = itertools.product((False, True), repeat=6)
    for lengths, states, clipped, special, functions, peepholes in switches:
        if (peepholes and kind != "lstm") or (special and kind == "rnn"):
            continue
        values = inputs_of(kind, directions, lengths, states, peepholes)
        theirs: dict[str, Any] = {"hidden_size": HIDDEN, "direction": direction}
        ours: dict[str, Any] = {"direction": direction}
        if clipped:
            theirs["clip"] = ours["clip"] = 0.3
        if special:
            name = "linear_before_reset" if kind == "gru" else "input_forget"
            theirs[name], ours[name] = 1, True
        if functions:
            names = USUAL[kind] * directions
            theirs |= {"activations": names, "activation_alpha": ALPHA[kind] * directions}
            ours |= {"activations": names, "alpha": ALPHA[kind] * directions, "beta": BETA[kind] * directions}
            if BETA[kind]:
                theirs["activation_beta"] = BETA[kind] * directions
        expected = run(kind.upper(), values, 3 if kind == "lstm" else 2, version=14, **theirs)
        assert_same(getattr(recurrent, kind)(*map(on_device, values), **ours), expected)


def test_batch_first_only_turns_the_dims() -> None:
    values = inputs_of("lstm", 2, False, True, False)
    usual = recurrent.lstm(*map(on_device, values), direction="bidirectional")
    turned = [each if i not in (0, 5, 6) else each.swapaxes(0, 1) for i, each in enumerate(values)]
    other = recurrent.lstm(*map(on_device, turned), direction="bidirectional", batch_first=True)
    np.testing.assert_allclose(np.asarray(other[0]), np.asarray(usual[0]).transpose(2, 0, 1, 3), rtol=1e-6)
    for mine, theirs in zip(other[1:], usual[1:], strict=True):
        np.testing.assert_allclose(np.asarray(mine), np.asarray(theirs).swapaxes(0, 1), rtol=1e-6)


def test_gradients_of_an_lstm_are_those_of_pytorch() -> None:
    device = Autodiff(NdArray())
    values = [numbers(STEPS, BATCH, INPUTS), *inputs_of("lstm", 1, False, False, False)[1:4]]
    leaves = [burn.tensor(each.astype(np.float64), device=device).require_grad() for each in values]
    y, _, cell = recurrent.lstm(*leaves)
    grads = (y.sum() + cell.sum()).backward()

    x, weight, recurrence, bias = (torch.tensor(each.astype(np.float64), requires_grad=True) for each in values)
    layer = torch.nn.LSTM(INPUTS, HIDDEN).double()
    order = torch.tensor([0, 2, 3, 1])  # theirs are input, forget, cell, output

    def gates(value: Any) -> Any:
        return value.reshape(4, HIDDEN, *value.shape[1:])[order].reshape(value.shape)

    parameters = {
        "weight_ih_l0": gates(weight[0]), "weight_hh_l0": gates(recurrence[0]),
        "bias_ih_l0": gates(bias[0, : 4 * HIDDEN]), "bias_hh_l0": gates(bias[0, 4 * HIDDEN :]),
    }  # fmt: skip
    out, (_, last) = torch.func.functional_call(layer, parameters, (x,))
    (out.sum() + last.sum()).backward()
    for leaf, expected in zip(leaves, (x, weight, recurrence, bias), strict=True):
        assert expected.grad is not None
        np.testing.assert_allclose(np.asarray(leaf.grad(grads)), expected.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_what_does_not_fit_is_refused_with_all_its_shapes() -> None:
    values = [on_device(each) for each in inputs_of("gru", 1, False, False, False)]
    with pytest.raises(ShapeError, match=r"gru: weight must have the shape \(1, 18, 4\).*; bias must have"):
        recurrent.gru(values[0], values[2], values[2], values[3].narrow(1, 0, 3))
    with pytest.raises(ArgumentError, match="direction must be one of forward"):
        recurrent.gru(*values, direction="sideways")
    with pytest.raises(ArgumentError, match="unknown activations"):
        recurrent.gru(*values, activations=["Sigmoid", "Cosine"])
