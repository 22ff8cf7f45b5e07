"""Recurrent layers against PyTorch: results, states, gradients, and what only we have."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn import Cpu, NdArray, Tensor, nn
from burn.errors import ArgumentError, ShapeError
from burn.nn import LstmState, RnnState
from tests.nn.parts import adopted, linear_parts, rows, same
from tests.nn.peers import every_device, fields, floats, numbers

LSTM_GATES = {"input_gate": 0, "forget_gate": 1, "cell_gate": 2, "output_gate": 3}
GRU_GATES = {"reset_gate": 0, "update_gate": 1, "new_gate": 2}
PLAIN = {"gate": 0}


def gate_parts(gates, bias, prefix="", ending=""):
    """Where torch keeps each gate of ours: parts of one matrix for the input and of one for the hidden state."""
    found = {}
    for gate, index in gates.items():
        for ours, peer in (("input_transform", "ih"), ("hidden_transform", "hh")):
            part = rows(f"{{kind}}_{peer}_l0{ending}", index, len(gates))
            found |= linear_parts(f"{prefix}{gate}.{ours}", part, bias)
    return found


def both_parts(gates, bias):
    return gate_parts(gates, bias, "forward.") | gate_parts(gates, bias, "reverse.", "_reverse")


def peer(kind, *args, **settings):
    torch.manual_seed(0)
    return getattr(torch.nn, kind)(*args, **settings).double()


LENGTHS = [1, 6]
"""One step, where each gate is asked for itself, and several."""


@every_device
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [True, False])
def test_an_lstm_is_that_of_pytorch(device, length, bias, batch_first):
    ours = nn.LstmConfig(3, 5, bias).with_batch_first(batch_first).init(device)
    x = floats(2, length, 3) if batch_first else floats(length, 2, 3)

    def run(module, x, hidden, cell):
        output, state = module(x, LstmState(cell, hidden))
        return [output, state.hidden, state.cell]

    def peer_run(module, x, hidden, cell):
        output, (hidden, cell) = module(x, (hidden[None], cell[None]))
        return [output, hidden[0], cell[0]]

    theirs = peer("LSTM", 3, 5, bias=bias, batch_first=batch_first)
    states = floats(2, 5, seed=1), floats(2, 5, seed=2)
    same(ours, theirs, gate_parts(LSTM_GATES, bias), run, peer_run, x, *states, device=device)


@every_device
@pytest.mark.parametrize("length", [1, 6])
def test_a_gru_is_that_of_pytorch(device, length):
    for bias in (True, False):
        ours, theirs = nn.GruConfig(4, 3, bias).init(device), peer("GRU", 4, 3, bias=bias, batch_first=True)
        same(
            ours, theirs, gate_parts(GRU_GATES, bias),
            lambda module, x, state: [module(x, state)], lambda module, x, state: [module(x, state[None])[0]],
            floats(2, length, 4), floats(2, 3, seed=1), device=device,
        )  # fmt: skip


@every_device
@pytest.mark.parametrize("length", [1, 6])
@pytest.mark.parametrize("batch_first", [True, False])
def test_a_plain_recurrent_layer_is_that_of_pytorch(device, length, batch_first):
    for bias in (True, False):
        ours = nn.RnnConfig(4, 3, bias).with_batch_first(batch_first).init(device)
        theirs = peer("RNN", 4, 3, bias=bias, batch_first=batch_first)
        x = floats(2, length, 4) if batch_first else floats(length, 2, 4)

        def run(module, x, state):
            output, last = module(x, RnnState(state))
            return [output, last.hidden]

        def peer_run(module, x, state):
            output, last = module(x, state[None])
            return [output, last[0]]

        same(ours, theirs, gate_parts(PLAIN, bias), run, peer_run, x, floats(2, 3, seed=1), device=device)


@every_device
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_both_directions_are_those_of_pytorch(device, batch_first, kind):
    config = {"LSTM": nn.BiLstmConfig, "GRU": nn.BiGruConfig, "RNN": nn.BiRnnConfig}[kind]
    ours = config(3, 4, True).with_batch_first(batch_first).init(device)
    theirs = peer(kind, 3, 4, batch_first=batch_first, bidirectional=True)
    x = floats(2, 5, 3) if batch_first else floats(5, 2, 3)
    hidden, cell = floats(2, 2, 4, seed=1), floats(2, 2, 4, seed=2)

    def run(module, x, hidden, cell):
        if kind == "LSTM":
            output, state = module(x, LstmState(cell, hidden))
            return [output, state.hidden, state.cell]
        output, state = module(x, RnnState(hidden) if kind == "RNN" else hidden)
        return [output, state.hidden if kind == "RNN" else state, cell]

    def peer_run(module, x, hidden, cell):
        if kind == "LSTM":
            output, (hidden, cell) = module(x, (hidden, cell))
            return [output, hidden, cell]
        return [*module(x, hidden), cell]

    gates = {"LSTM": LSTM_GATES, "GRU": GRU_GATES, "RNN": PLAIN}[kind]
    ours = same(ours, theirs, both_parts(gates, True), run, peer_run, x, hidden, cell, device=device)
    start = ours.forward(Tensor.from_data(x, device))[0]
    np.testing.assert_allclose(numbers(start), theirs(torch.from_numpy(x))[0].detach().numpy(), rtol=1e-8, atol=1e-10)


@every_device
@pytest.mark.parametrize("length", [1, 6])
def test_reverse_reads_from_the_end(device, length):
    x = floats(2, length, 3)
    for config in (nn.LstmConfig(3, 4, True), nn.RnnConfig(3, 4, True)):
        forward = config.init(device)
        backward = config.with_reverse(True).init(device).load_record(forward.into_record())
        ahead, last = forward(Tensor.from_data(x[:, ::-1].copy(), device))
        behind, first = backward(Tensor.from_data(x, device))
        np.testing.assert_allclose(numbers(ahead)[:, ::-1], numbers(behind), rtol=1e-12)
        np.testing.assert_allclose(numbers(last.hidden), numbers(first.hidden), rtol=1e-12)


def by_hand(x, layer, activations, clip=None, coupled=False):
    """An LSTM in NumPy, one gate after the other."""
    sigma, squash, show = activations
    cell = hidden = np.zeros((x.shape[0], layer.d_hidden))

    def gate(one, x):
        parts = one.input_transform, one.hidden_transform
        return sum(v @ numbers(p.weight) + numbers(p.bias) for p, v in zip(parts, (x, hidden), strict=True))

    for t in range(x.shape[1]):
        taken, given = sigma(gate(layer.input_gate, x[:, t])), sigma(gate(layer.output_gate, x[:, t]))
        kept = 1 - taken if coupled else sigma(gate(layer.forget_gate, x[:, t]))
        cell = kept * cell + taken * squash(gate(layer.cell_gate, x[:, t]))
        cell = cell if clip is None else np.clip(cell, -clip, clip)
        hidden = given * show(cell)
    return cell, hidden


@every_device
@pytest.mark.parametrize("length", [1, 6])
def test_an_lstm_takes_other_activations_a_clip_and_coupled_gates(device, length):
    def sigmoid(x):
        return 1 / (1 + np.exp(-x))

    def relu(x):
        return np.maximum(x, 0)

    x, kinds = floats(2, length, 3), nn.ActivationConfig
    base = nn.LstmConfig(3, 4, True)
    for config, activations, clip, coupled in (
        (base.with_clip(0.1), (sigmoid, np.tanh, np.tanh), 0.1, False),
        (base.with_input_forget(True), (sigmoid, np.tanh, np.tanh), None, True),
        (
            base.with_gate_activation(kinds.Tanh).with_cell_activation(kinds.Relu).with_hidden_activation(kinds.Relu),
            (np.tanh, relu, relu), None, False,
        ),
    ):  # fmt: skip
        layer = config.init(device)
        _, state = layer(Tensor.from_data(x, device))
        cell, hidden = by_hand(x, layer, activations, clip, coupled)
        np.testing.assert_allclose(numbers(state.cell), cell, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(numbers(state.hidden), hidden, rtol=1e-9, atol=1e-12)


@every_device
@pytest.mark.parametrize("length", [1, 6])
def test_a_gru_may_reset_before_the_product(device, length):
    layer = nn.GruConfig(3, 4, True).with_reset_after(False).with_clip(0.5).init(device)
    x, hidden = floats(2, length, 3), np.zeros((2, 4))

    def side(transform, x):
        return x @ numbers(transform.weight) + numbers(transform.bias)

    def both(gate, x, hidden):
        return side(gate.input_transform, x) + side(gate.hidden_transform, hidden)

    for t in range(length):
        z, r = (1 / (1 + np.exp(-both(gate, x[:, t], hidden))) for gate in (layer.update_gate, layer.reset_gate))
        hidden = np.clip((1 - z) * np.tanh(both(layer.new_gate, x[:, t], r * hidden)) + z * hidden, -0.5, 0.5)
    np.testing.assert_allclose(numbers(layer(Tensor.from_data(x, device)))[:, -1], hidden, rtol=1e-9, atol=1e-12)


def test_a_gate_adds_its_two_sides():
    device = NdArray()
    gate = nn.GateController(2, 3, True, nn.Initializer.Ones, device)
    found = gate.gate_product(Tensor.ones([1, 2], device), Tensor.ones([1, 3], device))
    assert found.to_data().to_vec() == [7.0, 7.0, 7.0]


def test_a_sequence_can_be_read_in_pieces():
    device = NdArray()
    layer, x = nn.LstmConfig(3, 4, True).init(device), Tensor.from_data(floats(2, 9, 3), device)
    whole, _ = layer(x)
    pieces, state = [], None
    for piece in x.split(4, 1):
        output, state = layer(piece, state)
        pieces.append(output)
    assert Tensor.cat(pieces, 1).all_close(whole, rtol=1e-5, atol=1e-6)


def test_states_can_be_taken_apart_and_stacked():
    device = NdArray()
    state = LstmState(Tensor.ones([2, 3], device), Tensor.zeros([2, 3], device))
    assert state.shape == (2, 3)
    assert state.device is device
    assert LstmState.initial([2, 3], device).cell.sum().into_scalar() == 0
    both = LstmState.stack([state, state], 0)
    assert both.shape == (2, 2, 3)
    assert both.slice([0]).squeeze_dim(0).shape == (2, 3)
    assert [each.shape[0] for each in both.chunk(2, 0)] == [1, 1]
    assert state.unsqueeze_dim(1).shape == (2, 1, 3)
    cell, hidden = state.map_state(lambda x: x + 1).unpack()
    assert cell.to_data().to_vec()[0] == 2
    assert hidden.to_data().to_vec()[0] == 1
    with pytest.raises(ShapeError, match=r"LstmState: cell \(2, 3\) and hidden \(3, 3\) must have the same shape"):
        LstmState(Tensor.ones([2, 3], device), Tensor.ones([3, 3], device))


def test_a_captured_step_gives_what_the_eager_one_gives():
    device = Cpu().autodiff()
    layer = nn.LstmConfig(3, 8, True).init(device)
    x = Tensor.from_data(floats(2, 6, 3).astype(np.float32), Cpu())
    state = LstmState.initial([2, 8], Cpu())

    def step(layer, x, state):
        output, state = layer(x, state)
        grads = (output * output).mean().backward()
        return output.inner(), state.map_state(lambda t: t.inner()), [p.grad(grads) for p in layer.parameters()]

    captured = burn.compile(step)
    for _ in range(3):
        expected, found = step(layer, x, state), captured(layer, x, state)
        assert found[0].all_close(expected[0], rtol=1e-5, atol=1e-6)
        assert found[1].cell.all_close(expected[1].cell, rtol=1e-5, atol=1e-6)
        for mine, wanted in zip(found[2], expected[2], strict=True):
            assert mine.all_close(wanted, rtol=1e-4, atol=1e-6)
        state = found[1]
    assert captured.explain().startswith("captured:")


def test_records_have_the_fields_of_burn():
    device = NdArray()
    lstm = nn.LstmConfig(2, 3, True).init(device)
    assert fields(lstm) == ["input_gate", "forget_gate", "output_gate", "cell_gate", "d_hidden"]
    assert fields(lstm.input_gate) == ["input_transform", "hidden_transform"]
    assert fields(nn.BiLstmConfig(2, 3, True).init(device)) == ["forward", "reverse", "d_hidden"]
    assert fields(nn.GruConfig(2, 3, True).init(device)) == [
        "update_gate", "reset_gate", "new_gate", "d_hidden", "reset_after",
    ]  # fmt: skip


def test_layers_of_both_directions_keep_their_names_and_modes():
    device = NdArray().autodiff()
    layer = nn.BiLstmConfig(2, 3, True).init(device)
    assert next(layer.named_parameters())[0] == "forward.input_gate.input_transform.weight"
    served = layer.valid()
    x = Tensor.from_data(floats(1, 4, 2), NdArray())
    assert served(x)[0].all_close(layer(x)[0].inner(), rtol=1e-6, atol=1e-7)
    other = nn.BiLstmConfig(2, 3, True).init(device).load_record(layer.into_record())
    assert other(x)[0].inner().all_close(layer(x)[0].inner(), rtol=1e-6, atol=1e-7)
    assert layer.directions[1] is layer.reverse


def test_layers_print_on_one_line():
    device = NdArray()
    assert str(nn.LstmConfig(2, 3, True).init(device)) == "Lstm {d_input: 2, d_hidden: 3, bias: true, params: 84}"
    assert (
        str(nn.BiLstmConfig(2, 3, False).init(device)) == "BiLstm {d_input: 2, d_hidden: 3, bias: false, params: 120}"
    )
    assert str(nn.GruConfig(2, 3, True).init(device)) == (
        "Gru {d_input: 2, d_hidden: 3, bias: true, reset_after: true, params: 63}"
    )


def test_settings_are_the_defaults_of_burn():
    config = nn.LstmConfig(2, 3, True)
    assert config.initializer == nn.Initializer.XavierNormal(1.0)
    assert config.batch_first
    assert not config.reverse
    assert nn.GruConfig(2, 3, True).reset_after
    assert nn.LstmConfig.from_json(config.to_json()) == config


def test_faults_are_refused_together():
    device = NdArray()
    for config in (nn.LstmConfig, nn.GruConfig, nn.RnnConfig, nn.BiLstmConfig, nn.BiGruConfig, nn.BiRnnConfig):
        message = "d_input must be 1 or more, got 0; d_hidden must be 1 or more, got -1; clip must be positive, got 0.0"
        with pytest.raises(ArgumentError, match=f"{config.__name__}: {message}"):
            config(0, -1, True).with_clip(0.0).init(device)
    layer = nn.LstmConfig(2, 3, True).init(device)
    with pytest.raises(ShapeError, match=r"Lstm: the input must have the shape \(batch, length, d_input\), got"):
        layer(Tensor.ones([2, 2], device))
    with pytest.raises(ShapeError, match="1 or more steps"):
        layer(Tensor.ones([2, 0, 2], device))
    with pytest.raises(ShapeError, match=r"the initial state must have the shape \(2, 3\), got \(1, 3\)"):
        layer(Tensor.ones([2, 5, 2], device), LstmState.initial([1, 3], device))
    with pytest.raises(ShapeError, match=r"BiGru: the initial state must have the shape \(2, 4, 3\)"):
        nn.BiGruConfig(2, 3, True).init(device)(Tensor.ones([4, 5, 2], device), Tensor.ones([4, 3], device))


def test_an_adopted_layer_runs_in_single_precision():
    theirs = torch.nn.LSTM(3, 5, batch_first=True)
    x = floats(2, 9, 3).astype(np.float32)
    for device in (NdArray(), burn.LibTorch("cpu"), Cpu()):
        ours = adopted(nn.LstmConfig(3, 5, True).init(device), theirs, gate_parts(LSTM_GATES, True))
        found, _ = ours(Tensor.from_data(x, device))
        np.testing.assert_allclose(numbers(found), theirs(torch.from_numpy(x))[0].detach().numpy(), atol=2e-6)
