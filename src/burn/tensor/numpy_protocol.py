"""NumPy's functions on tensors: `np.sin(x)`, `array + x`, `np.mean(x, axis=0)`.

Where there is a row, the result is a tensor on the device of the operands, shaped as NumPy shapes it. Everything else
NumPy computes itself from the values on the host, and its result is NumPy's own. The module is imported at the first
such call.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from burn.errors import ArgumentError
from burn.ops import joining
from burn.ops.dispatch import NUMBERS, from_array
from burn.shape import as_ints
from burn.tensor.methods.familiar import where
from burn.tensor.tensor import Tensor

Function = Callable[..., Any]


class _Elsewhere(Exception):
    """These arguments have no row."""


def _floats(row: Function) -> Function:
    """A row for floats; of ints NumPy gives something else."""

    def call(x: Any, *others: Any) -> Any:
        if not x.dtype.is_float:
            raise _Elsewhere
        return row(x, *others)

    return call


UFUNCS: dict[Any, Function] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.true_divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.fmod: lambda x, y: Tensor.fmod(x, y),
    np.power: operator.pow, np.float_power: lambda x, y: x.double() ** y, np.matmul: operator.matmul,
    np.arctan2: lambda x, y: Tensor.atan2(x, y), np.hypot: lambda x, y: Tensor.hypot(x, y),
    np.maximum: lambda x, y: Tensor.max_pair(x, y), np.minimum: lambda x, y: Tensor.min_pair(x, y),
    np.negative: operator.neg, np.positive: operator.pos, np.absolute: abs, np.fabs: lambda x: abs(x.float()),
    np.sign: Tensor.sign, np.rint: Tensor.round, np.floor: Tensor.floor, np.ceil: Tensor.ceil, np.trunc: Tensor.trunc,
    np.exp: Tensor.exp, np.exp2: Tensor.exp2, np.expm1: Tensor.expm1, np.log: Tensor.log, np.log1p: Tensor.log1p,
    np.log2: Tensor.log2, np.log10: Tensor.log10, np.sqrt: Tensor.sqrt, np.square: Tensor.square,
    np.reciprocal: _floats(Tensor.recip), np.sin: Tensor.sin, np.cos: Tensor.cos, np.tan: Tensor.tan,
    np.sinh: Tensor.sinh, np.cosh: Tensor.cosh, np.tanh: Tensor.tanh, np.arcsin: Tensor.asin, np.arccos: Tensor.acos,
    np.arctan: Tensor.atan, np.arcsinh: Tensor.asinh, np.arccosh: Tensor.acosh, np.arctanh: Tensor.atanh,
    np.deg2rad: Tensor.deg2rad, np.radians: Tensor.deg2rad, np.rad2deg: Tensor.rad2deg, np.degrees: Tensor.rad2deg,
    np.isnan: _floats(Tensor.is_nan), np.isinf: _floats(Tensor.is_inf), np.isfinite: _floats(Tensor.is_finite),
    np.equal: lambda x, y: Tensor.equal(x, y), np.not_equal: lambda x, y: Tensor.not_equal(x, y),
    np.less: lambda x, y: Tensor.lower(x, y), np.less_equal: lambda x, y: Tensor.lower_equal(x, y),
    np.greater: lambda x, y: Tensor.greater(x, y), np.greater_equal: lambda x, y: Tensor.greater_equal(x, y),
    np.logical_not: Tensor.logical_not, np.logical_and: Tensor.logical_and, np.logical_or: Tensor.logical_or,
    np.logical_xor: Tensor.logical_xor, np.bitwise_and: operator.and_, np.bitwise_or: operator.or_,
    np.bitwise_xor: operator.xor, np.invert: operator.invert, np.left_shift: operator.lshift,
    np.right_shift: operator.rshift,
}  # fmt: skip


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`ufunc(*inputs)`, one of which is a tensor."""
    if any(isinstance(each, Tensor) for each in kwargs.get("out") or ()):
        raise ArgumentError(
            f"{ufunc.__name__}: a tensor never changes, so it cannot be `out`; bind the result to a name"
        )
    row = UFUNCS.get(ufunc)
    if row is not None and method == "__call__" and not kwargs:
        try:
            return row(*_on_device(ufunc.__name__, inputs))
        except _Elsewhere:
            pass
    arrays = tuple(_on_host(each) for each in inputs)
    return getattr(ufunc, method)(*arrays, **{name: _on_host(each) for name, each in kwargs.items()})


def _on_device(operation: str, inputs: Sequence[Any]) -> list[Any]:
    """The operands with arrays as tensors beside the first tensor; numbers stay numbers."""
    first = next(each for each in inputs if isinstance(each, Tensor))
    found = []
    for position, each in enumerate(inputs):
        if isinstance(each, np.ndarray) or (position == 0 and not isinstance(each, Tensor | int | float)):
            array = np.asarray(each)
            if isinstance(each, NUMBERS):
                each = each.item() if isinstance(each, np.generic) else each
            elif array.dtype.kind in "biuf" or array.dtype.kind == "V":
                each = _tensor(array, first.device)
            else:
                raise _Elsewhere
        elif not isinstance(each, Tensor | int | float | np.generic):
            raise _Elsewhere
        found.append(each)
    return found


def _tensor(array: Any, device: Any) -> Any:
    return from_array("array", array, device)


def _on_host(value: Any) -> Any:
    """`value` with NumPy arrays in the place of tensors."""
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, list | tuple) and any(isinstance(each, Tensor | list | tuple) for each in value):
        return type(value)(map(_on_host, value)) if type(value) in (list, tuple) else value
    return value


# Functions: the signature is NumPy's as far as there is a row; other arguments make NumPy compute


def _over(x: Any, axis: Any) -> tuple[int, ...]:
    return tuple(range(len(x.shape))) if axis is None else as_ints("axis", "axis", axis)


def _reduction(method: str) -> Function:
    def reduce(a: Any, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
        x = a if dtype is None else a.cast(dtype)
        if not x.shape:
            return x.reshape((1,)).sum().reshape(()) if method == "sum" and x.dtype.is_bool else x
        return getattr(x, method)(_over(x, axis), keepdim=bool(keepdims))

    return reduce


def _mean(a: Any, axis: Any = None, *, dtype: Any = None, keepdims: bool = False) -> Any:
    x = a.cast(dtype) if dtype is not None else a.float()
    return x.mean(_over(x, axis), keepdim=bool(keepdims)) if x.shape else x


def _spread(method: str) -> Function:
    def spread(a: Any, axis: Any = None, *, ddof: float = 0, keepdims: bool = False) -> Any:
        x = a.float()
        if not x.shape:
            raise _Elsewhere
        return getattr(x, method)(dim=_over(x, axis), correction=ddof, keepdim=bool(keepdims))

    return spread


def _position(method: str) -> Function:
    def position(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if axis is None:
            if keepdims or not a.shape:
                raise _Elsewhere
            return getattr(a, method)().reshape(())
        return getattr(a, method)(dim=axis, keepdim=bool(keepdims))

    return position


def _running(method: str) -> Function:
    def running(a: Any, axis: Any = None) -> Any:
        x = a.int() if a.dtype.is_bool else a
        return getattr(x.reshape((-1,)), method)(0) if axis is None else getattr(x, method)(axis)

    return running


def _joined(row: Function) -> Function:
    def join(arrays: Any, axis: Any = 0) -> Any:
        if axis is None:
            raise _Elsewhere
        return row(_on_device("concatenate", list(arrays)), axis)

    return join


def _where(condition: Any, x: Any, y: Any) -> Any:
    first = next(each for each in (condition, x, y) if isinstance(each, Tensor))
    mask = condition if isinstance(condition, Tensor) else _tensor(np.asarray(condition), first.device)
    return where(mask.bool(), x, y)


def _clip(a: Any, a_min: Any = None, a_max: Any = None) -> Any:
    if a_min is None and a_max is None:
        return a
    return a.clamp(a_min, a_max)


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.T if axes is None else a.permute(axes)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if ord is not None and (axis is None or not isinstance(axis, int)):
        raise _Elsewhere  # the norm of a matrix
    return x.norm(2.0 if ord is None else ord, dim=_over(x, axis), keepdim=bool(keepdims))


def _close(a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    first, second = _on_device("isclose", (a, b))
    return first.is_close(second, rtol=rtol, atol=atol)


def _flip(m: Any, axis: Any = None) -> Any:
    return m.flip(_over(m, axis))


FUNCTIONS: dict[Any, Function] = {
    np.sum: _reduction("sum"), np.prod: _reduction("prod"), np.mean: _mean, np.max: _reduction("amax"),
    np.amax: _reduction("amax"), np.min: _reduction("amin"), np.amin: _reduction("amin"), np.any: _reduction("any"),
    np.all: _reduction("all"), np.std: _spread("std"), np.var: _spread("var"), np.argmax: _position("argmax"),
    np.argmin: _position("argmin"), np.cumsum: _running("cumsum"), np.cumprod: _running("cumprod"),
    np.concatenate: _joined(joining.cat), np.stack: _joined(joining.stack), np.where: _where, np.clip: _clip,
    np.transpose: _transpose, np.linalg.norm: _norm, np.isclose: _close, np.flip: _flip,
    np.allclose: lambda a, b, rtol=1e-5, atol=1e-8: bool(_close(a, b, rtol, atol).all()),
    np.reshape: lambda a, shape: a.reshape(shape), np.ravel: lambda a: a.ravel(),
    np.squeeze: lambda a, axis=None: a.squeeze(axis) if axis is None else a.squeeze_dims(axis),
    np.expand_dims: lambda a, axis: a.unsqueeze_dims(axis), np.broadcast_to: lambda array, shape: array.expand(shape),
    np.swapaxes: lambda a, axis1, axis2: a.swap_dims(axis1, axis2),
    np.moveaxis: lambda a, source, destination: a.movedim(source, destination),
    np.tile: lambda A, reps: A.tile(reps), np.roll: lambda a, shift, axis: a.roll(shift, axis),
    np.sort: lambda a, axis=-1: a.sort(axis), np.argsort: lambda a, axis=-1: a.argsort(axis),
    np.tril: lambda m, k=0: m.tril(k), np.triu: lambda m, k=0: m.triu(k),
    np.round: lambda a, decimals=0: round(a, decimals),
    np.zeros_like: lambda a, dtype=None: a.zeros_like(dtype=dtype),
    np.ones_like: lambda a, dtype=None: a.ones_like(dtype=dtype),
    np.full_like: lambda a, fill_value, dtype=None: a.full_like(fill_value, dtype=dtype),
    np.shape: lambda a: tuple(a.shape), np.ndim: lambda a: len(a.shape),
    np.size: lambda a, axis=None: a.numel() if axis is None else a.size(axis), np.copy: lambda a: a,
}  # fmt: skip

_SIGNATURES = {function: inspect.signature(row) for function, row in FUNCTIONS.items()}


def array_function(function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`function(*args)`, where one of the arguments is a tensor."""
    if not all(issubclass(each, Tensor | np.ndarray) for each in types):
        return NotImplemented
    row = FUNCTIONS.get(function)
    if row is not None:
        try:
            if _fits(function, args, kwargs):
                return row(*args, **kwargs)
        except _Elsewhere:
            pass
    if any(isinstance(each, Tensor) for each in _flat(kwargs.get("out"))):
        raise ArgumentError(
            f"{function.__name__}: a tensor never changes, so it cannot be `out`; bind the result to a name"
        )
    return function(*map(_on_host, args), **{name: _on_host(each) for name, each in kwargs.items()})


def _fits(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether there is a row for these arguments."""
    try:
        _SIGNATURES[function].bind(*args, **kwargs)
    except TypeError:
        return False
    return function in _JOINING or (bool(args) and isinstance(args[0], Tensor))


def _flat(value: Any) -> Iterator[Any]:
    return iter(value if isinstance(value, tuple) else (value,))


_JOINING = {np.concatenate, np.stack, np.where, np.isclose, np.allclose}
