"""Numbers of JSON to arrays of a model's type and shape, and back."""

from __future__ import annotations

import contextlib
import math
from array import array
from collections.abc import Iterable
from typing import Any

import numpy as np
import orjson

from furnace import datatypes
from furnace.datatypes import Array
from furnace.errors import BadRequest
from furnace.http.messages import Body
from furnace.signature import TensorSpec

_KINDS = {"f": "fiu", "i": "iu", "u": "iu", "b": "b", "V": "fiu", "O": "U"}
_WORDS = {
    "f": "numbers",
    "i": "whole numbers",
    "u": "whole numbers",
    "b": "true or false",
    "V": "numbers",
    "O": "strings",
}


def decode(body: Body) -> Any:
    """The value of a body; BadRequest when it is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None


def decode_object(body: Body) -> dict[str, Any]:
    """The object of a body."""
    value = decode(body)
    if not isinstance(value, dict):
        raise BadRequest(f"the body is {_name(value)}, expected an object")
    return value


def to_array(value: Any, datatype: str, what: str) -> Array:
    """An array of nested lists; BadRequest when they are ragged or hold something else."""
    dtype = datatypes.numpy_type(datatype)
    kind = "V" if datatype == "BF16" else dtype.kind
    try:
        found = _doubles(value) if dtype.kind == "f" else np.asarray(value)
    except (ValueError, OverflowError, RecursionError):
        raise BadRequest(f"{what}: the lists are ragged; rows of one dim need the same length") from None
    if found.size == 0 and found.dtype.kind == "f":
        return found.astype(dtype)
    if kind == "O":
        return _strings(found, what)
    if found.dtype.kind not in _KINDS[kind]:
        raise BadRequest(f"{what}: {datatype} takes {_WORDS[kind]}, found {_first_other(value, kind)}")
    if kind in "iu":
        _check_range(found, dtype, datatype, what)
    with np.errstate(over="ignore"):
        converted = found.astype(dtype)
    if kind in "fV" and found.dtype.kind == "f" and not np.isfinite(_as_float(converted)).all():
        raise BadRequest(f"{what}: a number is too large for {datatype}")
    return converted


def _doubles(value: Any) -> Array:
    """The numbers of a flat list, three times as fast as NumPy reads them; NumPy for everything else."""
    if isinstance(value, list) and value and type(value[0]) is float:
        with contextlib.suppress(TypeError, OverflowError):
            return np.frombuffer(array("d", value), np.float64)
    return np.asarray(value)


def _as_float(array: Array) -> Array:
    return array.astype(np.float64) if array.dtype.kind == "V" else array


def shaped(array: Array, spec: TensorSpec, rows: bool) -> Array:
    """An array in the shape of an input when its elements are as many: flat lists, and lists of flat rows.

    `rows` says that the array holds several items along its first dim.
    """
    if spec.shape is None or spec.shape == array.shape:
        return array
    batch, *rest = spec.shape if spec.shape else (1,)
    if not all(isinstance(size, int) for size in rest):
        return array if array.ndim == len(spec.shape) or rows else _with_batch(array, spec)
    sizes = [size for size in rest if isinstance(size, int)]
    count = math.prod(sizes)
    if not rows:
        items = batch if isinstance(batch, int) else 1
        if array.ndim == len(spec.shape) and list(array.shape[1:]) == sizes:
            return array
        if array.size == items * count and (array.ndim == 1 or _dense(array.shape) == _dense(sizes)):
            return array.reshape((items, *sizes))
    elif array.ndim and array.size == array.shape[0] * count and list(array.shape[1:]) != sizes:
        return array.reshape((array.shape[0], *sizes))
    return array


def _dense(sizes: Iterable[int]) -> list[int]:
    """Sizes without those of 1, which people leave out: a grey picture of 28 x 28 for [1, 28, 28]."""
    return [size for size in sizes if size != 1]


def to_lists(value: Any) -> Any:
    """An output as the JSON writer takes it: contiguous arrays of numbers as they are, everything else as lists."""
    if isinstance(value, list | tuple):
        return [to_lists(each) for each in value]
    if isinstance(value, dict):
        return {str(key): to_lists(each) for key, each in value.items()}
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if not isinstance(value, np.ndarray):
        return value.item() if isinstance(value, np.generic) else value
    if value.dtype.kind in "OUS":
        return to_lists(value.tolist())
    if value.dtype.kind == "V":  # bfloat16 and smaller floats
        value = value.astype(np.float32)
    return np.ascontiguousarray(value) if value.ndim else value.item()


def _with_batch(array: Array, spec: TensorSpec) -> Array:
    assert spec.shape is not None
    return array[None] if array.ndim == len(spec.shape) - 1 else array


def _strings(found: Array, what: str) -> Array:
    if found.dtype.kind == "O" and not all(isinstance(each, str) for each in found.reshape(-1)):
        raise BadRequest(f"{what}: BYTES takes strings in lists of equal length")
    if found.dtype.kind not in "UO":
        raise BadRequest(f"{what}: BYTES takes strings, found numbers")
    return found.astype(object)


def _check_range(found: Array, dtype: np.dtype[Any], datatype: str, what: str) -> None:
    limits = np.iinfo(dtype)
    if found.size and (int(found.min()) < limits.min or int(found.max()) > limits.max):
        raise BadRequest(f"{what}: a number is outside {limits.min} to {limits.max}, the range of {datatype}")


def _first_other(value: Any, kind: str) -> str:
    while isinstance(value, list) and value:
        other = [each for each in value if isinstance(each, list)] or [each for each in value if not _fits(each, kind)]
        value = other[0] if other else value[0]
    return _name(value)


def _fits(value: Any, kind: str) -> bool:
    if kind == "b":
        return isinstance(value, bool)
    kinds = int if kind in "iu" else (int, float)
    return isinstance(value, kinds) and not isinstance(value, bool)


def _name(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    return f"the string {value[:40]!r}" if isinstance(value, str) else f"{value!r}"
