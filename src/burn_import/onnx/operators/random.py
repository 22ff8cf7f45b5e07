"""Operators that draw random numbers.

Without a seed they draw the next numbers of the device's generator, as the rest of the framework does. A seed in the
file makes each run draw the same numbers; they are those of our generator, since the standard prescribes none.
"""

from __future__ import annotations

import numpy as np

from burn_import.onnx.code.expression import Argument, Expression, binary
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


def _seed(op: Operation) -> int | None:
    """The seed as a whole number that is not negative; any other one counts by the bits it has in the file."""
    seed = op.attribute("seed")
    if seed is None:
        return None
    return int(seed) if 0 <= seed < 1 << 63 and int(seed) == seed else int(np.float32(seed).view(np.uint32))


def _drawn(op: Operation, shape: Argument, dtype: ElementType) -> Expression:
    uniform = "Uniform" in op.node.op_type
    numbers = [op.attribute(name) for name in (("low", "high") if uniform else ("mean", "scale"))]
    seed = _seed(op)
    if seed is not None:
        draw = op.imported("burn.ops.random", "random_uniform" if uniform else "random_normal")
        return draw(seed, 0, *numbers, shape, dtype, device=op.device)
    distribution = op.named("burn.Distribution").attribute("Uniform" if uniform else "Normal")(*numbers)
    return op.named("Tensor").attribute("random")(shape, distribution, op.device, dtype)


@operator("RandomUniform", "RandomNormal", impure=True)
def random(op: Operation) -> Expression:
    return _drawn(op, list(op.attribute("shape")), op.output_dtype())


@operator("RandomUniformLike", "RandomNormalLike", impure=True)
def random_like(op: Operation) -> Expression:
    shape = op.shape()
    if shape is not None and all(isinstance(size, int) for size in shape):
        return _drawn(op, list(shape), op.output_dtype())
    return _drawn(op, op.assign("x", op.x).attribute("shape"), op.output_dtype())


@operator("Bernoulli", impure=True)
def bernoulli(op: Operation) -> Expression:
    """1 with the probability that each element is."""
    seed, dtype = _seed(op), op.output_dtype()
    if seed is None:
        return op.x.method("bernoulli", dtype)
    x = op.assign("probabilities", op.x)
    draw = op.imported("burn.ops.random", "random_uniform")
    drawn = draw(seed, 0, 0.0, 1.0, x.attribute("shape"), op.dtype(), device=op.device)
    return op.cast(binary("<", drawn, x), dtype)


@operator("Multinomial", impure=True)
def multinomial(op: Operation) -> Expression:
    """Samples of classes whose log-probabilities are given, up to a constant."""
    samples = op.x.method("softmax", -1).method("categorical", op.attribute("sample_size"))
    return op.cast(samples, op.output_dtype())
