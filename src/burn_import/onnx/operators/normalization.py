"""Normalisations: layers where their scales and shifts are constants, else the functions."""

from __future__ import annotations

from typing import Any

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.code.fields import Source
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


def _epsilon(op: Operation) -> dict[str, Any]:
    value = op.attribute("epsilon")
    return {} if value == 1e-5 else {"epsilon": value}


def _learnt(op: Operation, *indices: int) -> bool:
    """Whether these inputs are constants of the element type of the first one."""
    values = [op.node.input(index) for index in indices]
    return all(
        value is not None and value.constant is not None and value.constant.dtype is op.dtype(0) for value in values
    )


@operator("BatchNormalization")
def batch_norm(op: Operation) -> Expression | list[Expression | None]:
    """In mode "infer" unless the file itself trains; `model.train()` lets the statistics move again."""
    training = op.flag("training_mode")
    outputs = any(op.wanted(index) for index in (1, 2))
    if _learnt(op, 1, 2, 3, 4) and not outputs:
        constant = op.value(1).constant
        assert constant is not None
        names = ("gamma", "beta", "running_mean", "running_var")
        weights: dict[str, Source] = {name: op.weight(index) for index, name in enumerate(names, 1)}
        momentum = round(1.0 - op.attribute("momentum"), 7)
        keywords = _epsilon(op) | ({} if momentum == 0.1 else {"momentum": momentum})
        mode = None if training else "infer"
        return op.layer("BatchNorm", constant.shape[0], weights=weights, mode=mode, **keywords)(op.x)
    inputs = [op.tensor(index) for index in range(5)]
    if training:
        function = op.function("normalization", "batch_norm_step")
        return op.unpack(function(*inputs, op.attribute("epsilon"), op.attribute("momentum")), 3)
    result = op.function("module", "batch_norm")(*inputs, op.attribute("epsilon"))
    return result if op.dtype(1) is op.dtype(0) else result.method("cast", op.dtype(0))


@operator("LayerNormalization")
def layer_norm(op: Operation) -> Expression | list[Expression | None]:
    axis, rank = op.axis(default=-1), op.known_rank()
    outputs = any(op.wanted(index) for index in (1, 2))
    scale = op.value(1).constant
    last = axis == -1 or (rank is not None and axis == rank - 1)
    if _learnt(op, 1) and (not op.has(2) or _learnt(op, 2)) and not outputs and last:
        assert scale is not None
        shape = op.shape()
        size = None if shape is None else shape[-1]
        if len(scale.shape) == 1 and size in (None, scale.shape[0]):
            weights: dict[str, Source] = {"gamma": op.weight(1)}
            keywords = _epsilon(op)
            if op.has(2):
                weights["beta"] = op.weight(2)
            else:
                keywords["bias"] = False
            return op.layer("LayerNorm", scale.shape[0], weights=weights, **keywords)(op.x)
    function = op.function("normalization", "layer_norm")
    three = function(op.x, op.tensor(1), op.optional(2), axis, op.attribute("epsilon"))
    return op.unpack(three, 3)


@operator("InstanceNormalization")
def instance_norm(op: Operation) -> Expression:
    if _learnt(op, 1, 2):
        constant = op.value(1).constant
        assert constant is not None
        weights: dict[str, Source] = {"gamma": op.weight(1), "beta": op.weight(2)}
        return op.layer("InstanceNorm", constant.shape[0], weights=weights, **_epsilon(op))(op.x)
    return op.function("module", "instance_norm")(op.x, op.tensor(1), op.tensor(2), op.attribute("epsilon"))


@operator("GroupNormalization")
def group_norm(op: Operation) -> Expression:
    groups = op.attribute("num_groups")
    if _learnt(op, 1, 2):
        constant = op.value(1).constant
        assert constant is not None
        weights: dict[str, Source] = {"gamma": op.weight(1), "beta": op.weight(2)}
        return op.layer("GroupNorm", groups, constant.shape[0], weights=weights, **_epsilon(op))(op.x)
    return op.function("module", "group_norm")(op.x, groups, op.tensor(1), op.tensor(2), op.attribute("epsilon"))
