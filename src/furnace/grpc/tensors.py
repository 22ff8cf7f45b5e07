"""Tensors of gRPC messages to arrays and back: raw bytes, or typed fields."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from furnace import datatypes
from furnace.datatypes import Array
from furnace.errors import BadRequest
from furnace.grpc.messages import MESSAGES

_FIELDS = {
    "BOOL": "bool_contents", "INT8": "int_contents", "INT16": "int_contents", "INT32": "int_contents",
    "INT64": "int64_contents", "UINT8": "uint_contents", "UINT16": "uint_contents", "UINT32": "uint_contents",
    "UINT64": "uint64_contents", "FP32": "fp32_contents", "FP64": "fp64_contents", "BYTES": "bytes_contents",
}  # fmt: skip
"""Where elements of a type stand when they do not travel raw; FP16 and BF16 always do."""


def read_inputs(request: Any) -> dict[str, Array]:
    """The arrays of a ModelInferRequest by name."""
    raw = request.raw_input_contents
    if raw and len(raw) != len(request.inputs):
        raise BadRequest(f"raw_input_contents has {len(raw)} entries for {len(request.inputs)} inputs; give one each")
    arrays: dict[str, Array] = {}
    for place, tensor in enumerate(request.inputs):
        if tensor.name in arrays:
            raise BadRequest(f"input {tensor.name!r} is given twice")
        if tensor.datatype not in datatypes.NAMES:
            raise BadRequest(
                f"input {tensor.name!r}: there is no datatype {tensor.datatype!r}; "
                f"there are {', '.join(datatypes.NAMES)}"
            )
        shape = tuple(tensor.shape)
        if any(size < 0 for size in shape):
            raise BadRequest(f"input {tensor.name!r}: shape {list(shape)} has a size below 0")
        if raw:
            if tensor.HasField("contents"):
                raise BadRequest(f"input {tensor.name!r}: give contents or raw_input_contents, not both")
            arrays[tensor.name] = _from_raw(tensor, raw[place], shape)
        else:
            arrays[tensor.name] = _from_contents(tensor, shape)
    return arrays


def _from_raw(tensor: Any, data: bytes, shape: tuple[int, ...]) -> Array:
    try:
        return datatypes.from_bytes(data, tensor.datatype, shape)
    except ValueError as error:
        raise BadRequest(f"input {tensor.name!r}: {error}") from None


def _from_contents(tensor: Any, shape: tuple[int, ...]) -> Array:
    field = _FIELDS.get(tensor.datatype)
    if field is None:
        raise BadRequest(f"input {tensor.name!r}: {tensor.datatype} travels in raw_input_contents only")
    filled = [each.name for each, _ in tensor.contents.ListFields() if each.name != field]
    if filled:
        raise BadRequest(f"input {tensor.name!r}: {tensor.datatype} stands in {field}, found {', '.join(filled)}")
    values = getattr(tensor.contents, field)
    if len(values) != math.prod(shape):
        raise BadRequest(
            f"input {tensor.name!r}: shape {list(shape)} is {math.prod(shape)} elements, {field} has {len(values)}"
        )
    if tensor.datatype == "BYTES":
        return _texts(values).reshape(shape)
    dtype = datatypes.numpy_type(tensor.datatype)
    wide = np.array(values)
    if dtype.kind in "iu" and wide.size and not _in_range(wide, dtype):
        limits = np.iinfo(dtype)
        raise BadRequest(f"input {tensor.name!r}: a number is outside {limits.min} to {limits.max}, the range of "
                         f"{tensor.datatype}")  # fmt: skip
    return wide.astype(dtype).reshape(shape)


def _in_range(values: Array, dtype: np.dtype[Any]) -> bool:
    limits = np.iinfo(dtype)
    return limits.min <= int(values.min()) and int(values.max()) <= limits.max


def _texts(values: Any) -> Array:
    elements = np.empty(len(values), object)
    for place, each in enumerate(values):
        try:
            elements[place] = each.decode()
        except UnicodeDecodeError:
            elements[place] = each
    return elements


def write_outputs(response: Any, outputs: list[tuple[str, Array]], *, raw: bool) -> None:
    """Put arrays into a ModelInferResponse: raw when the request was, or when a type has no field."""
    raw = raw or any(datatypes.wire_name(array.dtype) not in _FIELDS for _, array in outputs)
    for name, array in outputs:
        datatype = datatypes.wire_name(array.dtype)
        tensor = response.outputs.add(name=name, datatype=datatype, shape=array.shape)
        if raw:
            response.raw_output_contents.append(bytes(datatypes.to_bytes(array)))
            continue
        values: Any = array.reshape(-1).tolist()
        if datatype == "BYTES":
            values = [each if isinstance(each, bytes) else str(each).encode() for each in values]
        tensor.contents.CopyFrom(MESSAGES["InferTensorContents"](**{_FIELDS[datatype]: values}))


def parameters(given: Any) -> dict[str, Any]:
    """Parameters by name, as JSON would give them."""
    found: dict[str, Any] = {}
    for name, parameter in given.items():
        choice = parameter.WhichOneof("parameter_choice")
        if choice is not None:
            found[name] = getattr(parameter, choice)
    return found
