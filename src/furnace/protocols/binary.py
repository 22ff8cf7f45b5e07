"""The binary tensor data extension: a JSON header, then the bytes of the tensors that it announces."""

from __future__ import annotations

from typing import Any

import orjson

from furnace import datatypes
from furnace.datatypes import Array
from furnace.errors import BadRequest
from furnace.http.messages import Body

HEADER = "inference-header-content-length"
CONTENT_TYPE = "application/octet-stream"


def split(body: Body, header: str) -> tuple[bytes, memoryview]:
    """The JSON part of a body, and what follows it."""
    if not header.isdecimal() or len(header) > 9 or int(header) > len(body):
        raise BadRequest(f"the header {HEADER} is {header!r}, and the body has {len(body)} bytes")
    length = int(header)
    return bytes(body[:length]), memoryview(body)[length:]


class Reader:
    """Takes the bytes of one tensor after the other."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._position = 0

    def take(self, size: Any, name: str) -> memoryview:
        """The next `size` bytes."""
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise BadRequest(f"input {name!r}: binary_data_size is {size!r}, expected a number of bytes")
        left = len(self._data) - self._position
        if size > left:
            raise BadRequest(f"input {name!r}: binary_data_size is {size}, and {left} bytes are left in the body")
        begin, self._position = self._position, self._position + size
        return self._data[begin : self._position]

    def finish(self) -> None:
        """Nothing may be left."""
        left = len(self._data) - self._position
        if left:
            raise BadRequest(f"{left} bytes of the body belong to no input")


def joined(header: dict[str, Any], tensors: list[Array]) -> tuple[bytes, dict[str, str]]:
    """A body with a JSON header and the bytes of tensors, and the HTTP headers that go with it."""
    text = orjson.dumps(header, option=orjson.OPT_SERIALIZE_NUMPY)
    pieces = [text, *(datatypes.to_bytes(each) for each in tensors)]
    return b"".join(pieces), {HEADER: str(len(text))}
