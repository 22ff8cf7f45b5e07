"""Operators of the first operator sets that the standard has dropped since, written with today's.

They were experimental, so no schema is left; files of 2017 and 2018 have them.
"""

from __future__ import annotations

import numpy as np

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.lift.registry import Edit, canonical


@canonical("Affine")
def affine(node: Node, edit: Edit) -> None:
    x = node.input(0)
    assert x is not None
    scaled = edit.emit("Mul", [x, edit.like(node.attributes.get("alpha", 1.0), x)])
    node.replace_by(edit.emit("Add", [scaled, edit.like(node.attributes.get("beta", 0.0), x)]))


@canonical("Scale")
def scale(node: Node, edit: Edit) -> None:
    x = node.input(0)
    assert x is not None
    node.replace_by(edit.emit("Mul", [x, edit.like(node.attributes.get("scale", 1.0), x)]))


@canonical("ScaledTanh")
def scaled_tanh(node: Node, edit: Edit) -> None:
    x = node.input(0)
    assert x is not None
    inner = edit.emit("Tanh", [edit.emit("Mul", [x, edit.like(node.attributes.get("beta", 1.0), x)])])
    node.replace_by(edit.emit("Mul", [inner, edit.like(node.attributes.get("alpha", 1.0), x)]))


@canonical("ParametricSoftplus")
def parametric_softplus(node: Node, edit: Edit) -> None:
    x = node.input(0)
    assert x is not None
    inner = edit.emit("Softplus", [edit.emit("Mul", [x, edit.like(node.attributes.get("beta", 1.0), x)])])
    node.replace_by(edit.emit("Mul", [inner, edit.like(node.attributes.get("alpha", 1.0), x)]))


@canonical("ImageScaler")
def image_scaler(node: Node, edit: Edit) -> None:
    """Images times a number, plus one number a channel."""
    x = node.input(0)
    assert x is not None
    dtype = x.tensor.dtype or ElementType.f32
    bias = np.asarray(node.attributes.get("bias", (0.0,)), np.float32).reshape(1, -1, 1, 1)
    scaled = edit.emit("Mul", [x, edit.like(node.attributes.get("scale", 1.0), x)])
    node.replace_by(edit.emit("Add", [scaled, edit.constant(bias, dtype)]))


@canonical("Crop")
def crop(node: Node, edit: Edit) -> None:
    """Images without a border (left, top, right, bottom), or a window of a given size from its corner."""
    x = node.input(0)
    assert x is not None
    left, top, right, bottom = node.attributes.get("border", (0, 0, 0, 0))
    scale_of = node.attributes.get("scale", ())
    huge = np.iinfo(np.int64).max
    if scale_of:
        ends = [top + scale_of[0], left + scale_of[1]]
    else:
        ends = [-bottom if bottom else huge, -right if right else huge]
    inputs = [x, edit.constant([top, left]), edit.constant(ends), edit.constant([2, 3])]
    node.replace_by(edit.emit("Slice", inputs))


@canonical("GivenTensorFill")
def given_tensor_fill(node: Node, edit: Edit) -> None:
    shape = node.attributes.get("shape", ())
    values = np.asarray(node.attributes.get("values", ()), np.float32)
    if node.input(0) is not None or values.size != int(np.prod(shape)):
        edit.fault("takes its shape from an input, or has another number of values than its shape needs")
        return
    edit.graph.make_constant(node.output, Constant.of(values.reshape(shape)))
    node.remove()


@canonical("ConstantFill")
def constant_fill(node: Node, edit: Edit) -> None:
    dtype = ElementType(node.attributes.get("dtype", 1))
    value = Constant.of(np.asarray([node.attributes.get("value", 0.0)], dtype.numpy))
    given = node.input(0)
    extra = node.attributes.get("extra_shape", ())
    if given is None:
        shape = edit.constant([*node.attributes.get("shape", ()), *extra])
    else:
        shape = given if node.attributes.get("input_as_shape", 0) else edit.emit("Shape", [given])
        if extra:
            shape = edit.emit("Concat", [shape, edit.constant(extra)], axis=0)
    node.replace_by(edit.emit("ConstantOfShape", [shape], value=value))
