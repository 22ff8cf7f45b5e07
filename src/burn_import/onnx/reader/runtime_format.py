"""Files of ONNX Runtime's own format (`.ort`): the same model in another envelope.

The envelope is FlatBuffers: tables of offsets into one buffer. Tables are read into the messages that `build` takes
from protocol buffers, so everything after this file is shared. Such files were optimised for ONNX Runtime and
have operators of its own domain, `com.microsoft`. As with the other envelope nothing is believed: offsets are
checked, and the number of tables is bounded by the size of the file, because tables can be used more than once.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from burn_import.onnx.reader.messages import SPECS
from burn_import.onnx.reader.wire import MAX_DEPTH, Message, Packed, WireError

Made = TypeVar("Made")


def is_runtime_format(data: memoryview) -> bool:
    return bytes(data[4:8]) == b"ORTM"


def parse_runtime_format(data: memoryview) -> Message:
    """The model in a file of ONNX Runtime's format, as if it came from an ONNX file."""
    reader = _Reader(data)
    try:
        session = reader.root()
        model = session.table(1)
        if model is None:
            raise WireError("the file holds no model")
        return _model(model)
    except struct.error as error:
        raise WireError(f"an offset leads out of the file ({error})") from None


class _Reader:
    def __init__(self, data: memoryview) -> None:
        self.data = data
        self.budget = len(data) // 4 + 16

    def root(self) -> _Table:
        return self.table_at(self.unsigned(0), 0)

    def table_at(self, position: int, depth: int) -> _Table:
        self.budget -= 1
        if self.budget < 0 or depth > MAX_DEPTH:
            raise WireError("tables inside tables without end")
        return _Table(self, position, depth)

    def unsigned(self, position: int) -> int:
        found: int = struct.unpack_from("<I", self.data, position)[0]
        return found

    def bytes_at(self, position: int, width: int = 1) -> memoryview:
        """A vector: its length, then its elements of `width` bytes."""
        count = self.unsigned(position)
        end = position + 4 + count * width
        if end > len(self.data):
            raise WireError(f"a vector at byte {position} claims {count} elements and leaves the file")
        return self.data[position + 4 : end]


class _Table:
    """One table; fields are numbered in the order the format declares them, and may be absent."""

    def __init__(self, reader: _Reader, position: int, depth: int) -> None:
        self.reader, self.position, self.depth = reader, position, depth
        offset: int = struct.unpack_from("<i", reader.data, position)[0]
        self.fields = position - offset
        if self.fields < 0:
            raise WireError(f"the table at byte {position} points before the file")
        self.size: int = struct.unpack_from("<H", reader.data, self.fields)[0]

    def place(self, index: int) -> int:
        """Where a field lies; 0 when it is absent."""
        slot = 4 + 2 * index
        if slot + 2 > self.size:
            return 0
        offset: int = struct.unpack_from("<H", self.reader.data, self.fields + slot)[0]
        return self.position + offset if offset else 0

    def number(self, index: int, code: str = "<q") -> Any:
        place = self.place(index)
        return struct.unpack_from(code, self.reader.data, place)[0] if place else 0

    def _target(self, index: int) -> int:
        place = self.place(index)
        return place + self.reader.unsigned(place) if place else 0

    def text(self, index: int) -> str:
        return bytes(self.raw(index) or b"").decode("utf-8", "surrogateescape")

    def raw(self, index: int, width: int = 1) -> memoryview | None:
        target = self._target(index)
        return self.reader.bytes_at(target, width) if target else None

    def table(self, index: int) -> _Table | None:
        target = self._target(index)
        return self.reader.table_at(target, self.depth + 1) if target else None

    def _targets(self, index: int) -> list[int]:
        start = self._target(index)
        if not start:
            return []
        count = len(self.reader.bytes_at(start, 4)) // 4
        places = range(start + 4, start + 4 + 4 * count, 4)
        return [place + self.reader.unsigned(place) for place in places]

    def texts(self, index: int) -> list[str]:
        return [bytes(self.reader.bytes_at(at)).decode("utf-8", "surrogateescape") for at in self._targets(index)]

    def blobs(self, index: int) -> list[memoryview]:
        return [self.reader.bytes_at(at) for at in self._targets(index)]

    def tables(self, index: int, make: Callable[[_Table], Made]) -> list[Made]:
        return [make(self.reader.table_at(at, self.depth + 1)) for at in self._targets(index)]

    def longs(self, index: int) -> Packed:
        packed = Packed("packed_int")
        data = self.raw(index, 8)
        if data is not None:
            packed.chunks.append(np.frombuffer(data, dtype="<i8"))
        return packed


def _message(kind: str, **values: Any) -> Message:
    return Message({**SPECS[kind].defaults, **values})


def _entry(table: _Table) -> Message:
    return _message("StringStringEntryProto", key=table.text(0), value=table.text(1))


def _opset(table: _Table) -> Message:
    return _message("OperatorSetIdProto", domain=table.text(0), version=table.number(1))


def _model(table: _Table) -> Message:
    graph = table.table(7)
    return _message(
        "ModelProto",
        ir_version=table.number(0),
        opset_import=table.tables(1, _opset),
        producer_name=table.text(2),
        producer_version=table.text(3),
        domain=table.text(4),
        model_version=table.number(5),
        doc_string=table.text(6),
        graph=None if graph is None else _graph(graph),
        metadata_props=table.tables(9, _entry),
    )


def _graph(table: _Table) -> Message:
    values = {info.name: info for info in table.tables(1, _value_info)}

    def named(names: list[str]) -> list[Message]:
        return [values.get(name, _message("ValueInfoProto", name=name)) for name in names]

    return _message(
        "GraphProto",
        initializer=table.tables(0, _tensor),
        value_info=list(values.values()),
        node=table.tables(2, _node),
        input=named(table.texts(5)),
        output=named(table.texts(6)),
        sparse_initializer=table.tables(7, _sparse),
    )


def _node(table: _Table) -> Message:
    return _message(
        "NodeProto",
        name=table.text(0),
        domain=table.text(2),
        op_type=table.text(5),
        input=table.texts(8),
        output=table.texts(9),
        attribute=table.tables(10, _attribute),
    )


def _attribute(table: _Table) -> Message:
    kind = table.number(2, "<i")
    values: dict[str, Any] = {"name": table.text(0), "type": kind}
    if kind == 1:
        values["f"] = table.number(3, "<f")
    elif kind == 2:
        values["i"] = table.number(4)
    elif kind == 3:
        values["s"] = table.raw(5)
    elif kind == 4:
        found = table.table(6)
        values["t"] = None if found is None else _tensor(found)
    elif kind == 5:
        found = table.table(7)
        values["g"] = None if found is None else _graph(found)
    elif kind == 6:
        values["floats"] = Packed("packed_float")
        values["floats"].chunks.append(table.raw(8, 4) or memoryview(b""))
    elif kind == 7:
        values["ints"] = table.longs(9)
    elif kind == 8:
        values["strings"] = table.blobs(10)
    elif kind == 9:
        values["tensors"] = table.tables(11, _tensor)
    elif kind == 10:
        values["graphs"] = table.tables(12, _graph)
    return _message("AttributeProto", **values)


def _tensor(table: _Table) -> Message:
    kind = table.number(3, "<i")
    values: dict[str, Any] = {"name": table.text(0), "dims": table.longs(2), "data_type": kind}
    if kind == 8:
        values["string_data"] = table.blobs(5)
    else:
        values["raw_data"] = table.raw(4) or memoryview(b"")
    return _message("TensorProto", **values)


def _sparse(table: _Table) -> Message:
    values, indices = table.table(0), table.table(1)
    return _message(
        "SparseTensorProto",
        values=None if values is None else _tensor(values),
        indices=None if indices is None else _tensor(indices),
        dims=table.longs(2),
    )


def _value_info(table: _Table) -> Message:
    found = table.table(2)
    return _message("ValueInfoProto", name=table.text(0), type=None if found is None else _type(found))


def _type(table: _Table) -> Message:
    # a union takes two fields: which of its tables it is, and the table
    kind, found = table.number(1, "<B"), table.table(2)
    if found is None:
        return _message("TypeProto")
    inner = found.table(0 if kind == 2 else 1)
    if kind == 2:
        element = None if inner is None else _type(inner)
        return _message("TypeProto", sequence_type=_message("SequenceTypeProto", elem_type=element))
    if kind == 3:
        value = None if inner is None else _type(inner)
        key = found.number(0, "<i")
        return _message("TypeProto", map_type=_message("MapTypeProto", key_type=key, value_type=value))
    shape = None if inner is None else _message("TensorShapeProto", dim=inner.tables(0, _dimension))
    return _message("TypeProto", tensor_type=_message("TensorTypeProto", elem_type=found.number(0, "<i"), shape=shape))


def _dimension(table: _Table) -> Message:
    value = table.table(0)
    kind = 0 if value is None else value.number(0, "<b")
    if value is None or kind == 0:
        return _message("Dimension")
    return (
        _message("Dimension", dim_value=value.number(1))
        if kind == 1
        else _message("Dimension", dim_param=value.text(2))
    )
