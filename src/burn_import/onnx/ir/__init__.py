"""The graph that the importer works on: models, graphs, nodes, values, types and sizes; its laws and its text."""

from burn.dim import Dim
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Reference, Value
from burn_import.onnx.ir.model import Function, Model
from burn_import.onnx.ir.numbers import Numbers
from burn_import.onnx.ir.printer import graph_to_text, node_to_text, to_text
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
from burn_import.onnx.ir.verifier import verify

__all__ = [
    "Attribute", "Constant", "Dim", "ElementType", "Function", "Graph", "MapType", "Model", "Node", "Numbers",
    "OpaqueType", "OptionalType", "Reference", "SequenceType", "Shape", "Size", "SparseTensorType", "TensorType",
    "Type", "Value", "graph_to_text", "node_to_text", "to_text", "verify",
]  # fmt: skip
