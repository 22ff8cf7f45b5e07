"""Losses, and the steps of optimisers that training graphs hold."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

TRAINING = "ai.onnx.preview.training"


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def likelihood(op: Operation) -> Expression | list[Expression | None]:
    inputs = (op.x, op.tensor(1), op.optional(2), op.attribute("ignore_index"), op.attribute("reduction"))
    if op.node.op_type == "NegativeLogLikelihoodLoss":
        return written(op, "loss", "negative_log_likelihood", *inputs)
    return several(op, written(op, "loss", "softmax_cross_entropy", *inputs), 2)


def _steps(op: Operation, name: str, states: int, **settings: Any) -> list[Expression | None]:
    """One call a parameter: inputs are the rate, the time, then all parameters, all gradients, all of each state."""
    count = (op.count - 2) // (2 + states)
    rate, time = op.tensor(0), op.tensor(1)
    kinds: list[list[Expression | None]] = [[] for _ in range(1 + states)]
    for index in range(count):
        inputs = [op.tensor(2 + group * count + index) for group in range(2 + states)]
        found = op.assign("step", written(op, "optimisation", name, rate, time, *inputs, **settings))
        for place, kind in enumerate(kinds):
            kind.append(found.item(place))
    return [each for kind in kinds for each in kind]


@operator("Adagrad", domain=TRAINING)
def adagrad(op: Operation) -> list[Expression | None]:
    regularization = op.attribute("norm_coefficient", 0.0)
    eps, decay = op.attribute("epsilon", 1e-6), op.attribute("decay_factor", 0.0)
    return _steps(op, "adagrad", 1, decay=decay, eps=eps, regularization=regularization)


@operator("Momentum", domain=TRAINING)
def momentum(op: Operation) -> list[Expression | None]:
    nesterov, regularization = op.attribute("mode") == "nesterov", op.attribute("norm_coefficient", 0.0)
    alpha, beta = op.attribute("alpha"), op.attribute("beta")
    return _steps(op, "momentum", 1, alpha=alpha, beta=beta, nesterov=nesterov, regularization=regularization)


@operator("Adam", domain=TRAINING)
def adam(op: Operation) -> list[Expression | None]:
    return _steps(
        op, "adam", 2, alpha=op.attribute("alpha", 0.9), beta=op.attribute("beta", 0.999),
        eps=op.attribute("epsilon", 1e-6), regularization=op.attribute("norm_coefficient", 0.0),
        decay=op.attribute("norm_coefficient_post", 0.0),
    )  # fmt: skip


@operator("Gradient", "GradientOf", domain=TRAINING)
def gradient(op: Operation) -> list[Expression | None]:
    """What is differentiated becomes a function; the inputs behind `xs` are only its arguments."""
    inputs = [op.tensor(index) for index in range(op.count)]
    objective = op.closure("body", "objective", [value.name for value in op.attribute("body").inputs])
    found = op.function("optimisation", "gradients")(objective, *inputs)
    return op.unpack(found, op.count)
