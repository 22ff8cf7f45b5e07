"""TypeProto as a `Type`."""

from __future__ import annotations

from burn.dim import Dim
from burn_import.onnx.ir.types import (
    ElementType,
    MapType,
    OpaqueType,
    OptionalType,
    SequenceType,
    Shape,
    Size,
    SparseTensorType,
    TensorType,
    Type,
)
from burn_import.onnx.reader.tensors import element_type
from burn_import.onnx.reader.wire import Message

# names that exporters write for "unknown", more than once for sizes that differ
NAMELESS = frozenset({"", "?", "-1", "None", "none", "unk", "unknown", "dynamic", "Any"})


def read_type(proto: Message | None) -> Type | None:
    """The type; None where the file leaves it out."""
    if proto is None:
        return None
    if proto.tensor_type is not None:
        return TensorType(_element(proto.tensor_type.elem_type), _shape(proto.tensor_type.shape))
    if proto.sparse_tensor_type is not None:
        return SparseTensorType(_element(proto.sparse_tensor_type.elem_type), _shape(proto.sparse_tensor_type.shape))
    if proto.sequence_type is not None:
        return SequenceType(read_type(proto.sequence_type.elem_type))
    if proto.optional_type is not None:
        return OptionalType(read_type(proto.optional_type.elem_type))
    if proto.map_type is not None:
        return MapType(element_type(proto.map_type.key_type), read_type(proto.map_type.value_type))
    if proto.opaque_type is not None:
        return OpaqueType(proto.opaque_type.domain, proto.opaque_type.name)
    return None


def _element(code: int) -> ElementType | None:
    return element_type(code) if code else None


def _shape(proto: Message | None) -> Shape | None:
    return None if proto is None else tuple(_size(each) for each in proto.dim)


def _size(proto: Message) -> Size:
    if proto.dim_value is not None:
        # exporters write -1 for a size they do not know
        return proto.dim_value if proto.dim_value >= 0 else None
    return None if proto.dim_param in NAMELESS else Dim(proto.dim_param)
