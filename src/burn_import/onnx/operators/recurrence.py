"""Recurrent layers. Weights keep the layout and the order of gates that the standard gives them."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator
from burn_import.onnx.writer.expression import Expression


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
    return _layer(op, "gru", 6, 2, linear_before_reset=op.flag("linear_before_reset"))


@operator("LSTM")
def lstm(op: Operation) -> Expression | list[Expression | None]:
    return _layer(op, "lstm", 8, 3, input_forget=op.flag("input_forget"))
