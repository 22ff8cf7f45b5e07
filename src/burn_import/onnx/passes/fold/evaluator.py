"""A small NumPy evaluator of standard operators, for folding constants.

It has what stands between constants in real files: arithmetic, comparisons, movement, reductions, casts, products.
Results keep the element type that the standard says. What is not here is simply not folded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.types import ElementType

Array: TypeAlias = np.ndarray[Any, Any]
Evaluator: TypeAlias = Callable[[Node, Sequence[Any]], Any]

EVALUATORS: dict[str, Evaluator] = {}


def evaluates(*names: str) -> Callable[[Evaluator], Evaluator]:
    """Register the evaluator of some operators."""

    def register(function: Evaluator) -> Evaluator:
        for name in names:
            assert name not in EVALUATORS, name
            EVALUATORS[name] = function
        return function

    return register


def evaluate(node: Node, arrays: Sequence[Array | None]) -> list[Array] | None:
    """The outputs of a node on arrays; None when there is no evaluator, or it declines."""
    function = EVALUATORS.get(node.op_type) if not node.domain else None
    if function is None:
        return None
    with np.errstate(all="ignore"):
        found = function(node, arrays)
    if found is None:
        return None
    return [np.asarray(each) for each in found] if isinstance(found, list) else [np.asarray(found)]


def _is_narrow(dtype: np.dtype[Any]) -> bool:
    """A floating type that NumPy computes in itself only by way of float32."""
    return dtype.kind == "V" or dtype.name in ("bfloat16", "float16") or dtype.name.startswith("float8")


def in_float(function: Callable[..., Any]) -> Evaluator:
    """A float function: half precision is computed in float32 and rounded once."""

    def run(node: Node, arrays: Sequence[Any]) -> Any:
        dtype = arrays[0].dtype
        if _is_narrow(dtype):
            return function(*(each.astype(np.float32) for each in arrays)).astype(dtype)
        return np.asarray(function(*arrays)).astype(dtype, copy=False)

    return run


_UNARY: dict[str, Callable[..., Any]] = {
    "Abs": np.abs, "Neg": np.negative, "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt, "Exp": np.exp,
    "Log": np.log, "Sin": np.sin, "Cos": np.cos, "Tan": np.tan, "Asin": np.arcsin, "Acos": np.arccos,
    "Atan": np.arctan, "Sinh": np.sinh, "Cosh": np.cosh, "Tanh": np.tanh, "Asinh": np.arcsinh, "Acosh": np.arccosh,
    "Atanh": np.arctanh, "Sign": np.sign, "Round": np.rint, "Reciprocal": lambda x: 1 / x,
    "Relu": lambda x: np.maximum(x, 0), "Sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "Softplus": lambda x: np.logaddexp(x, 0), "Softsign": lambda x: x / (1 + np.abs(x)),
}  # fmt: skip
_BINARY: dict[str, Callable[..., Any]] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "MatMul": np.matmul,
}  # fmt: skip
_COMPARE: dict[str, Callable[..., Any]] = {
    "Equal": np.equal, "Less": np.less, "LessOrEqual": np.less_equal, "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal, "And": np.logical_and, "Or": np.logical_or, "Xor": np.logical_xor,
    "Not": np.logical_not, "IsNaN": np.isnan,
}  # fmt: skip
_BITS: dict[str, Callable[..., Any]] = {
    "BitwiseAnd": np.bitwise_and, "BitwiseOr": np.bitwise_or, "BitwiseXor": np.bitwise_xor, "BitwiseNot": np.invert,
}  # fmt: skip
for _name, _function in {**_UNARY, **_BINARY}.items():
    EVALUATORS[_name] = in_float(_function)


def _directly(function: Callable[..., Any]) -> Evaluator:
    return lambda node, arrays: function(*arrays)


for _name, _function in {**_COMPARE, **_BITS}.items():
    EVALUATORS[_name] = _directly(_function)


@evaluates("Div")
def divide(node: Node, arrays: Sequence[Array]) -> Any:
    x, y = arrays
    if x.dtype.kind in "iu":
        if (y == 0).any():
            return None
        quotient = np.abs(x) // np.abs(y)
        return np.where((x < 0) == (y < 0), quotient, -quotient).astype(x.dtype) if x.dtype.kind == "i" else x // y
    return in_float(np.divide)(node, arrays)


@evaluates("Mod")
def modulo(node: Node, arrays: Sequence[Array]) -> Any:
    x, y = arrays
    if x.dtype.kind in "iu" and (y == 0).any():
        return None
    return (np.fmod if node.attributes.get("fmod") else np.mod)(x, y)


@evaluates("Pow")
def power(node: Node, arrays: Sequence[Array]) -> Any:
    x, y = arrays
    if x.dtype.kind in "iu":
        return np.power(x.astype(np.float64), y.astype(np.float64)).astype(x.dtype)
    return in_float(np.power)(node, [x, y.astype(x.dtype)])


@evaluates("Max", "Min", "Sum", "Mean")
def variadic(node: Node, arrays: Sequence[Array]) -> Any:
    function = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add, "Mean": np.add}[node.op_type]
    total = arrays[0]
    for each in arrays[1:]:
        total = function(total, each)
    return total / total.dtype.type(len(arrays)) if node.op_type == "Mean" else total


@evaluates("Clip")
def clip(node: Node, arrays: Sequence[Any]) -> Any:
    x = arrays[0]
    low = arrays[1] if len(arrays) > 1 else None
    high = arrays[2] if len(arrays) > 2 else None
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


@evaluates("Where")
def where(node: Node, arrays: Sequence[Array]) -> Any:
    return np.where(arrays[0], arrays[1], arrays[2])


@evaluates("Cast")
def cast(node: Node, arrays: Sequence[Array]) -> Any:
    return cast_array(arrays[0], ElementType(node.attributes["to"]))


@evaluates("CastLike")
def cast_like(node: Node, arrays: Sequence[Array]) -> Any:
    return cast_array(arrays[0], ElementType.from_numpy(arrays[1].dtype))


def cast_array(x: Array, target: ElementType) -> Array | None:
    """An ordinary cast; strings, 8-bit floats and smaller types are left to the model."""
    ordinary = "biufc"
    known = x.dtype.kind in ordinary or x.dtype.name == "bfloat16"
    wanted = target.numpy.kind in ordinary or target is ElementType.bf16
    if not known or not wanted:
        return None
    if x.dtype.kind == "f" and target.is_int and not np.isfinite(x).all():
        return None
    return x.astype(target.numpy)


@evaluates("Identity")
def identity(node: Node, arrays: Sequence[Array]) -> Any:
    return arrays[0]


# -- movement


@evaluates("Reshape")
def reshape(node: Node, arrays: Sequence[Array]) -> Any:
    x, target = arrays[0], arrays[1].tolist()
    if not node.attributes.get("allowzero", 0):
        target = [x.shape[axis] if size == 0 else size for axis, size in enumerate(target)]
    return x.reshape(target)


@evaluates("Flatten")
def flatten(node: Node, arrays: Sequence[Array]) -> Any:
    x = arrays[0]
    axis = node.attributes.get("axis", 1)
    axis = axis + x.ndim if axis < 0 else axis
    return x.reshape(int(np.prod(x.shape[:axis], dtype=np.int64)), -1)


@evaluates("Transpose")
def transpose(node: Node, arrays: Sequence[Array]) -> Any:
    return np.transpose(arrays[0], node.attributes.get("perm"))


@evaluates("Unsqueeze")
def unsqueeze(node: Node, arrays: Sequence[Array]) -> Any:
    return np.expand_dims(arrays[0], tuple(arrays[1].tolist()))


@evaluates("Squeeze")
def squeeze(node: Node, arrays: Sequence[Any]) -> Any:
    axes = arrays[1] if len(arrays) > 1 else None
    return np.squeeze(arrays[0], None if axes is None else tuple(axes.tolist()))


@evaluates("Concat")
def concat(node: Node, arrays: Sequence[Array]) -> Any:
    return np.concatenate(arrays, axis=node.attributes["axis"])


@evaluates("Split")
def split(node: Node, arrays: Sequence[Any]) -> Any:
    x = arrays[0]
    axis = node.attributes.get("axis", 0)
    if len(arrays) > 1 and arrays[1] is not None:
        lengths = arrays[1].tolist()
    else:
        parts = node.attributes["num_outputs"]
        each = -(-x.shape[axis] // parts)
        lengths = [each] * (parts - 1)
        lengths.append(x.shape[axis] - sum(lengths))
    return list(np.split(x, np.cumsum(lengths)[:-1], axis=axis))


@evaluates("Slice")
def slice_of(node: Node, arrays: Sequence[Any]) -> Any:
    x, starts, ends = arrays[0], arrays[1].tolist(), arrays[2].tolist()
    axes = arrays[3].tolist() if len(arrays) > 3 and arrays[3] is not None else list(range(len(starts)))
    steps = arrays[4].tolist() if len(arrays) > 4 and arrays[4] is not None else [1] * len(starts)
    index: list[slice] = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        last = None if step < 0 and end < -x.shape[axis] else end
        index[axis] = slice(start, last, step)
    return x[tuple(index)]


@evaluates("Gather")
def gather(node: Node, arrays: Sequence[Array]) -> Any:
    return np.take(arrays[0], arrays[1], axis=node.attributes.get("axis", 0))


@evaluates("GatherElements")
def gather_elements(node: Node, arrays: Sequence[Array]) -> Any:
    return np.take_along_axis(arrays[0], arrays[1], axis=node.attributes.get("axis", 0))


@evaluates("Expand")
def expand(node: Node, arrays: Sequence[Array]) -> Any:
    return np.broadcast_to(arrays[0], np.broadcast_shapes(arrays[0].shape, tuple(arrays[1].tolist())))


@evaluates("Tile")
def tile(node: Node, arrays: Sequence[Array]) -> Any:
    return np.tile(arrays[0], arrays[1].tolist())


@evaluates("Pad")
def pad(node: Node, arrays: Sequence[Any]) -> Any:
    x, pads = arrays[0], arrays[1].tolist()
    if node.attributes.get("mode", "constant") != "constant" or len(arrays) > 3 or min(pads, default=0) < 0:
        return None
    value = arrays[2] if len(arrays) > 2 and arrays[2] is not None else np.zeros((), x.dtype)
    return np.pad(x, list(zip(pads[: x.ndim], pads[x.ndim :])), constant_values=value)


@evaluates("Shape")
def shape_of(node: Node, arrays: Sequence[Array]) -> Any:
    part = slice(node.attributes.get("start", 0), node.attributes.get("end"))
    return np.array(arrays[0].shape[part], dtype=np.int64)


@evaluates("Size")
def size_of(node: Node, arrays: Sequence[Array]) -> Any:
    return np.int64(arrays[0].size)


@evaluates("ConstantOfShape")
def constant_of_shape(node: Node, arrays: Sequence[Array]) -> Any:
    value = node.attributes.get("value")
    fill = value.array.reshape(-1)[0] if value is not None else np.float32(0)
    return np.full(arrays[0].tolist(), fill)


@evaluates("Range")
def range_of(node: Node, arrays: Sequence[Array]) -> Any:
    start, limit, step = (each.item() for each in arrays)
    count = max(0, int(np.ceil((limit - start) / step)))
    return (start + np.arange(count) * step).astype(arrays[0].dtype)


@evaluates("Trilu")
def triangle(node: Node, arrays: Sequence[Any]) -> Any:
    k = int(arrays[1].item()) if len(arrays) > 1 and arrays[1] is not None else 0
    return (np.triu if node.attributes.get("upper", 1) else np.tril)(arrays[0], k)


@evaluates("EyeLike")
def eye_like(node: Node, arrays: Sequence[Array]) -> Any:
    code = node.attributes.get("dtype")
    dtype = ElementType(code).numpy if code else arrays[0].dtype
    rows, columns = arrays[0].shape
    return np.eye(rows, columns, k=node.attributes.get("k", 0)).astype(dtype)


@evaluates("OneHot")
def one_hot(node: Node, arrays: Sequence[Array]) -> Any:
    indices, depth, values = arrays[0].astype(np.int64), int(arrays[1].reshape(-1)[0]), arrays[2]
    hot = np.where(indices < 0, indices + depth, indices)[..., None] == np.arange(depth)
    axis = node.attributes.get("axis", -1)
    return np.where(np.moveaxis(hot, -1, axis), values[1], values[0])


@evaluates("NonZero")
def non_zero(node: Node, arrays: Sequence[Array]) -> Any:
    if arrays[0].ndim == 0:
        return None
    return np.array(np.nonzero(arrays[0]), dtype=np.int64)


@evaluates("CumSum")
def cumulative_sum(node: Node, arrays: Sequence[Array]) -> Any:
    if node.attributes.get("exclusive") or node.attributes.get("reverse"):
        return None
    return np.cumsum(arrays[0], axis=int(arrays[1].item()), dtype=arrays[0].dtype)


@evaluates("ScatterElements")
def scatter_elements(node: Node, arrays: Sequence[Array]) -> Any:
    if node.attributes.get("reduction", "none") != "none":
        return None
    result = arrays[0].copy()
    np.put_along_axis(result, arrays[1], arrays[2], axis=node.attributes.get("axis", 0))
    return result


@evaluates("ScatterND")
def scatter_nd(node: Node, arrays: Sequence[Array]) -> Any:
    if node.attributes.get("reduction", "none") != "none":
        return None
    result = arrays[0].copy()
    result[tuple(np.moveaxis(arrays[1], -1, 0))] = arrays[2]
    return result


# -- reductions and products

_REDUCE: dict[str, Callable[..., Any]] = {
    "ReduceSum": np.sum, "ReduceProd": np.prod, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceMean": np.mean,
}  # fmt: skip


@evaluates(*_REDUCE)
def reduction(node: Node, arrays: Sequence[Any]) -> Any:
    x = arrays[0]
    axes = tuple(arrays[1].tolist()) if len(arrays) > 1 and arrays[1] is not None else ()
    if not axes and node.attributes.get("noop_with_empty_axes", 0):
        return x
    if x.dtype.kind == "b" or _is_narrow(x.dtype):
        return None
    keep = bool(node.attributes.get("keepdims", 1))
    if node.op_type == "ReduceMean" and x.dtype.kind in "iu":
        return None
    return np.asarray(_REDUCE[node.op_type](x, axis=axes or None, keepdims=keep)).astype(x.dtype)


@evaluates("ArgMax", "ArgMin")
def position(node: Node, arrays: Sequence[Array]) -> Any:
    if node.attributes.get("select_last_index", 0):
        return None
    axis = node.attributes.get("axis", 0)
    found = (np.argmax if node.op_type == "ArgMax" else np.argmin)(arrays[0], axis=axis)
    return np.expand_dims(found, axis) if node.attributes.get("keepdims", 1) else found


@evaluates("Gemm")
def gemm(node: Node, arrays: Sequence[Any]) -> Any:
    a, b = arrays[0], arrays[1]
    if _is_narrow(a.dtype):
        return None
    a = a.T if node.attributes.get("transA", 0) else a
    b = b.T if node.attributes.get("transB", 0) else b
    result = node.attributes.get("alpha", 1.0) * (a @ b)
    if len(arrays) > 2 and arrays[2] is not None:
        result = result + node.attributes.get("beta", 1.0) * arrays[2]
    return result.astype(a.dtype)
