"""Activation functions."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.operators.calling import several, written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

PLAIN = {"Relu": "relu", "Sigmoid": "sigmoid", "Softplus": "softplus", "Mish": "mish"}
FUNCTIONS = {"HardSwish": "hard_swish", "Softsign": "softsign"}


@operator(*PLAIN)
def plain(op: Operation) -> Expression:
    return op.x.method(PLAIN[op.node.op_type])


@operator(*FUNCTIONS)
def function(op: Operation) -> Expression:
    return op.function("activation", FUNCTIONS[op.node.op_type])(op.x)


@operator("LeakyRelu")
def leaky_relu(op: Operation) -> Expression:
    return op.x.method("leaky_relu", op.attribute("alpha"))


@operator("Elu", "Celu", "ThresholdedRelu")
def with_alpha(op: Operation) -> Expression:
    name = {"Elu": "elu", "Celu": "celu", "ThresholdedRelu": "thresholded_relu"}[op.node.op_type]
    return op.function("activation", name)(op.x, op.attribute("alpha"))


@operator("HardSigmoid")
def hard_sigmoid(op: Operation) -> Expression:
    return op.function("activation", "hard_sigmoid")(op.x, op.attribute("alpha"), op.attribute("beta"))


@operator("Gelu")
def gelu(op: Operation) -> Expression:
    if op.attribute("approximate") == "tanh":
        return op.function("activation", "gelu_approximate")(op.x)
    return op.x.method("gelu")


@operator("Softmax", "LogSoftmax")
def softmax(op: Operation) -> Expression:
    return op.x.method("softmax" if op.node.op_type == "Softmax" else "log_softmax", op.axis())


@operator("Dropout")
def dropout(op: Operation) -> Expression | list[Expression | None]:
    """A layer: it does nothing until the model trains, and then its mask is its own. One that
    an input tells whether it trains is a function."""
    ratio = op.constant(1)
    if op.has(2) and op.constant(2) is None:
        return several(op, _told(op), 2)
    result = op.x
    if not op.has(1) or ratio is not None:
        prob = 0.5 if ratio is None else float(str(ratio.reshape(-1)[0]))
        mode = op.constant(2)
        training = mode is not None and bool(mode.any())
        result = op.layer("Dropout", prob, mode="train" if training and prob else None)(op.x)
    elif op.has(2) and bool(op.constant(2)):
        return several(op, _told(op), 2)
    if op.wanted(1):
        return [result, op.x.method("ones_like").method("bool")]
    return result


def _told(op: Operation) -> Expression:
    ratio: Expression | float = op.number(1) if op.has(1) else 0.5
    training = op.named("bool")(op.number(2))
    return written(op, "host", "dropout", op.x, ratio, training, op.attribute("seed"))
