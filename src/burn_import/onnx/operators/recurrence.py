"""Recurrent layers: modules where the weights are constants, else functions over weights in the standard's layout."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.recurrent_layers import Layer, absorbed, laid_out, layer_of
from burn_import.onnx.operators.registry import operator


def cells(op: Operation) -> dict[str, Any]:
    """What all recurrent operators can be told."""
    usual = {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh")}.get(op.node.op_type, ("Sigmoid", "Tanh", "Tanh"))
    directions = 2 if op.attribute("direction", "forward") == "bidirectional" else 1
    # the standard's default is for two directions, whatever the direction is
    activations = tuple(op.attribute("activations") or ())[: len(usual) * directions]
    return {
        "direction": op.attribute("direction", "forward"),
        "activations": None if activations in ((), usual * directions) else list(activations),
        "alpha": _numbers(op, "activation_alpha"),
        "beta": _numbers(op, "activation_beta"),
        "clip": op.attribute("clip"),
    }


def _numbers(op: Operation, name: str) -> list[float] | None:
    found = op.attribute(name)
    return list(found) if found else None


def _layer(op: Operation, name: str, inputs: int, results: int, **more: bool) -> Expression | list[Expression | None]:
    given = [op.x, op.tensor(1), op.tensor(2), *(op.optional(index) for index in range(3, inputs))]
    first = bool(op.attribute("layout", 0))
    return several(op, written(op, "recurrent", name, *given, **cells(op), **more, batch_first=first), results)


@operator("RNN")
def rnn(op: Operation) -> Expression | list[Expression | None]:
    return _layer(op, "rnn", 6, 2)


@operator("GRU")
def gru(op: Operation) -> Expression | list[Expression | None]:
    if not op.wanted(1) and not op.has(5):
        layer = layer_of(op)
        if layer is not None:
            called = layer.field(layer.x)
            return laid_out(op, layer, called.item(0) if layer.both else called)
    return _layer(op, "gru", 6, 2, linear_before_reset=op.flag("linear_before_reset"))


@operator("LSTM")
def lstm(op: Operation) -> Expression | list[Expression | None]:
    layer = layer_of(op) if op.has(5) == op.has(6) else None
    if layer is not None:
        return _lstm(op, layer)
    return _layer(op, "lstm", 8, 3, input_forget=op.flag("input_forget"))


def _lstm(op: Operation, layer: Layer) -> Expression | list[Expression | None]:
    """The module's results; a state has a dim for the direction in the standard, and none in a layer of one."""
    given = [layer.x]
    if op.has(5):
        hidden, cell = (op.tensor(index) for index in (5, 6))
        if not layer.both:
            hidden, cell = (each.method("squeeze_dim", 0) for each in (hidden, cell))
        given.append(op.named("nn.LstmState")(cell, hidden))
    called = layer.field(*given)
    if not op.wanted(1) and not op.wanted(2):
        return laid_out(op, layer, called.item(0))
    one, state = op.apart(called, ["lstm" if op.wanted(0) else None, "state"])
    assert state is not None
    last = [state.attribute(name) for name in ("hidden", "cell")]
    if not layer.both:
        last = [each.method("unsqueeze_dim", 0) for each in last]
    if one is None:
        return [None, *last]
    if absorbed(op, layer, one):
        return [None, *last]
    if layer.batch_first:
        one = one.method("swap_dims", 0, 1)
    if layer.both:
        return [one.method("reshape", [0, 0, 2, layer.size]).method("swap_dims", 1, 2), *last]
    return [one.method("unsqueeze_dim", 1), *last]
