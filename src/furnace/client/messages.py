"""Requests and answers of the Open Inference Protocol as clients write and read them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import orjson

from burn.errors import BurnError
from furnace import datatypes
from furnace.datatypes import Array
from furnace.protocols import binary


class ServerError(BurnError):
    """What the server answered in the place of a result: `status`, `code` and `details`.

    >>> import furnace
    >>> inputs = [furnace.TensorSpec("x", "FP32", ("batch", 4))]
    >>> with furnace.TestServer(nn.Linear(4, 2), inputs=inputs) as server:
    ...     try:
    ...         server.client().infer({"x": np.ones((3, 5), np.float32)})
    ...     except furnace.ServerError as error:
    ...         print(error.status, error.code)
    400 INVALID_INPUT
    """

    def __init__(self, status: int, message: str, code: str = "", details: Any = None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.code = code
        self.details = details


def infer_request(
    inputs: Mapping[str, Any], outputs: Sequence[str] | None, binary_data: bool, timeout: float | None
) -> tuple[bytes, dict[str, str]]:
    """The body and headers of a request for arrays by name."""
    described, tensors = [], []
    for name, value in inputs.items():
        array = _array(value)
        entry: dict[str, Any] = {"name": name, "shape": list(array.shape), "datatype": datatypes.wire_name(array.dtype)}
        if binary_data or array.dtype.kind == "V":
            data = datatypes.to_bytes(array)
            entry["parameters"] = {"binary_data_size": len(data)}
            tensors.append(array)
        else:
            entry["data"] = array.reshape(-1).tolist()
        described.append(entry)
    request: dict[str, Any] = {"inputs": described, "parameters": {"binary_data_output": binary_data}}
    if outputs is not None:
        request["outputs"] = [{"name": name} for name in outputs]
    if timeout is not None:
        request["parameters"]["timeout"] = int(timeout * 1e6)
    if not tensors:
        return orjson.dumps(request), {"content-type": "application/json"}
    body, headers = binary.joined(request, tensors)
    return body, {**headers, "content-type": "application/octet-stream"}


def infer_response(body: bytes, header: str | None) -> dict[str, Array]:
    """The outputs by name."""
    text, rest = (body, memoryview(b"")) if header is None else binary.split(body, header)
    reader = binary.Reader(rest)
    found: dict[str, Array] = {}
    for output in orjson.loads(text)["outputs"]:
        name, shape = output["name"], tuple(output["shape"])
        size = output.get("parameters", {}).get("binary_data_size")
        if size is not None:
            found[name] = datatypes.from_bytes(reader.take(size, name), output["datatype"], shape)
        else:
            found[name] = np.array(output["data"], datatypes.numpy_type(output["datatype"])).reshape(shape)
    return found


def check(status: int, body: bytes) -> None:
    """Raise what the server says is wrong."""
    if status < 400:
        return
    try:
        fault = orjson.loads(body)
        raise ServerError(status, str(fault.get("error")), str(fault.get("code", "")), fault.get("details"))
    except (orjson.JSONDecodeError, AttributeError):
        raise ServerError(status, body[:200].decode("utf-8", "replace")) from None


def _array(value: Any) -> Array:
    if hasattr(value, "numpy") and not isinstance(value, np.ndarray):
        value = value.numpy()
    array = np.asarray(value)
    return array.astype(object) if array.dtype.kind in "US" else array
