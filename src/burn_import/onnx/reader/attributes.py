"""AttributeProto as a Python value.

Numbers and strings become Python's, lists become tuples (long lists of numbers `Numbers`), tensors `Constant`, graphs
`Graph`, types `Type`. Inside a function an attribute may refer to one of the call: a `Reference`.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_import.onnx.ir.graph import Attribute, Reference
from burn_import.onnx.ir.names import Names
from burn_import.onnx.ir.numbers import LONG, Numbers
from burn_import.onnx.reader.tensors import TensorFault
from burn_import.onnx.reader.types import read_type
from burn_import.onnx.reader.wire import Message, WireError

if TYPE_CHECKING:
    from burn_import.onnx.reader.build import _Builder

# number of the kind -> (name, field)
KINDS = {
    1: ("FLOAT", "f"), 2: ("INT", "i"), 3: ("STRING", "s"), 4: ("TENSOR", "t"), 5: ("GRAPH", "g"),
    6: ("FLOATS", "floats"), 7: ("INTS", "ints"), 8: ("STRINGS", "strings"), 9: ("TENSORS", "tensors"),
    10: ("GRAPHS", "graphs"), 11: ("SPARSE_TENSOR", "sparse_tensor"), 12: ("SPARSE_TENSORS", "sparse_tensors"),
    13: ("TYPE_PROTO", "tp"), 14: ("TYPE_PROTOS", "type_protos"),
}  # fmt: skip


class AttributeFault(ValueError):
    """Why an attribute cannot be read; the message continues `attribute 'a' of ...: `."""


def attribute(proto: Message, builder: _Builder, scope: Any, names: Names, where: str) -> tuple[str, Attribute]:
    """The kind and value of an attribute."""
    filled = [
        (kind, field)
        for kind, field in KINDS.values()
        if getattr(proto, field) is not None and getattr(proto, field) != ()
    ]
    if proto.type:
        if proto.type not in KINDS:
            raise AttributeFault(f"kind {proto.type} is not one that ONNX defines")
        kind, field = KINDS[proto.type]
        if proto.ref_attr_name:
            return kind, Reference(proto.ref_attr_name, kind)
        others = [each for _, each in filled if each != field]
        if others:
            raise AttributeFault(f"is of kind {kind}, and its value is in {', '.join(others)}")
    else:  # files from before attributes had a kind
        if len(filled) != 1:
            raise AttributeFault(f"has no kind and {len(filled)} values; one is needed")
        kind, field = filled[0]
    try:
        return kind, _value(kind, getattr(proto, field), builder, scope, names, where)
    except (TensorFault, WireError) as fault:
        raise AttributeFault(str(fault)) from None


def _value(kind: str, value: Any, builder: _Builder, scope: Any, names: Names, where: str) -> Attribute:
    if kind in ("FLOAT", "INT"):  # a writer may leave a zero out
        return value if value is not None else (0.0 if kind == "FLOAT" else 0)
    if kind == "STRING":
        return _text(value) if value is not None else ""
    if kind in ("FLOATS", "INTS"):
        return _numbers(value.array()) if value is not None else ()
    if kind == "STRINGS":
        return tuple(_text(each) for each in value)
    if kind.endswith("S"):
        return tuple(_value(kind[:-1], each, builder, scope, names, where) for each in value)
    if value is None:
        raise AttributeFault(f"is of kind {kind} and has no value")
    if kind == "TENSOR":
        return builder.tensor(value)
    if kind == "SPARSE_TENSOR":
        return builder.sparse_tensor(value)
    if kind == "GRAPH":
        return builder.body(value, scope, names, where)
    return read_type(value)


def _numbers(array: np.ndarray[Any, Any]) -> tuple[Any, ...] | Numbers:
    return tuple(array.tolist()) if len(array) < LONG else Numbers(np.array(array))


@lru_cache(maxsize=1024)  # a tree names the comparison of each of its nodes
def _decoded(data: bytes) -> str | bytes:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data


def _text(data: memoryview | bytes) -> str | bytes:
    """Strings are UTF-8 by the standard; what is not stays bytes."""
    return _decoded(bytes(data))
