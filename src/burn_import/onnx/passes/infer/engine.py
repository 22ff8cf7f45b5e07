"""The walk of inference: node by node in order, types of inputs to types of outputs.

For each node the standard's type variables give element types, a rule (see `context.RULES`) gives shapes and
contents, and where no rule knows an operator the types that the file declares are taken: element type and rank only,
because exporters write sizes of one example as if they were all. Sizes that nobody knows get names, so that the rest
of the graph can still be related to them: `?mask.0` is size 0 of value `mask`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from burn.dim import Dim, TooComplex
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir import schemas
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.types import (
    ElementType,
    OptionalType,
    SequenceType,
    Shape,
    Size,
    SparseTensorType,
    TensorType,
    Type,
)
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import RULES, Inference

Lifter = Callable[[Node], bool]


class Engine:
    """Infers a whole model; `lifter`, if given, sees every node before its rule does."""

    def __init__(self, model: Model, lifter: Lifter | None = None) -> None:
        self.model = model
        self.lifter = lifter
        self.changed = False
        self.created: list[str] = []  # names of sizes, in the order they were given

    def run(self) -> None:
        graph = self.model.graph
        for value in graph.inputs:
            self._name_input(value)
        self.graph(graph)

    def _name_input(self, value: Value) -> None:
        declared = value.type
        if isinstance(declared, SparseTensorType):
            declared = TensorType(declared.dtype, declared.shape)
        if isinstance(declared, TensorType) and declared.shape is not None:
            shape = tuple(
                Dim(f"{value.name}.{axis}") if size is None else size for axis, size in enumerate(declared.shape)
            )
            declared = declared.with_shape(shape)
        if declared != value.type:
            self.changed = True
            value.type = declared

    def graph(self, graph: Graph) -> None:
        """Every node of a graph, in order."""
        node = graph.first
        while node is not None:
            if self.lifter is not None:
                previous = node.previous
                if self.lifter(node):
                    # what came in before the node has its turn first
                    node = graph.first if previous is None else previous.next
                    continue
            self.node(node)
            node = node.next

    def body(self, graph: Graph, inputs: Sequence[Type | None]) -> list[Type | None]:
        """The types of a body's outputs, given those of its inputs; sizes that only the body knows are left out."""
        mark = len(self.created)
        for value, type_ in zip(graph.inputs, inputs):
            value.content = None
            known = type_
            if known is None or (isinstance(known, TensorType) and known.dtype is None):
                known = _only_rank(value.declared) if known is None else _with_dtype(known, value.declared)
            value.type = known
            self._name_unknown(value)
        self.graph(graph)
        local = set(self.created[mark:])
        return [self._without(value.type, local) for value in graph.outputs]

    def node(self, node: Node) -> None:
        """The types of one node's outputs."""
        inference = Inference(self, node)
        self._types_by_schema(inference)
        found = RULES.get((node.domain, node.op_type))
        if found is not None:
            try:
                found(inference)
            except OnnxError:
                raise
            except Exception as error:
                # shapes that no run could accept: the node keeps what is known, and the model runs into it or not
                if not isinstance(error, TooComplex):
                    self._note(f"{node!r}: its inputs do not fit the operator ({type(error).__name__}: {error})")
        else:
            for graph in node.subgraphs.values():
                self.body(graph, [None] * len(graph.inputs))
        for value, type_, content in zip(node.outputs, inference.types, inference.contents):
            known = _complete(type_, value.declared)
            old, old_content = value.type, value.content
            value.type, value.content = known, content
            self._name_unknown(value)
            if value.type != old or (content is None) != (old_content is None):
                self.changed = True

    def _note(self, text: str) -> None:
        if text not in self.model.notes:
            self.model.notes.append(text)

    def _name_unknown(self, value: Value) -> None:
        """Give a name to each size that is not known."""
        type_ = value.type
        if isinstance(type_, TensorType) and type_.shape is not None and None in type_.shape:
            shape: list[Size] = []
            for axis, size in enumerate(type_.shape):
                if size is None:
                    name = f"?{value.name}.{axis}"
                    self.created.append(name)
                    size = Dim(name)
                shape.append(size)
            value.type = type_.with_shape(tuple(shape))

    def _without(self, type_: Type | None, local: set[str]) -> Type | None:
        if isinstance(type_, TensorType) and type_.shape is not None:
            return type_.with_shape(
                tuple(None if local.intersection(sizes.symbols(size)) else size for size in type_.shape)
            )
        if isinstance(type_, SequenceType):
            return SequenceType(self._without(type_.element, local))
        if isinstance(type_, OptionalType):
            return OptionalType(self._without(type_.element, local))
        return type_

    def _types_by_schema(self, inference: Inference) -> None:
        """Element types from the type variables of the newest version of the operator."""
        node = inference.node
        schema = schemas.schema(node.domain, node.op_type, node.version)
        if schema is None:
            return
        bound: dict[str, Type | None] = {}
        for index, value in enumerate(node.inputs):
            if value is None or value.type is None:
                continue
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            if formal.type not in bound or _dtype(bound[formal.type]) is None:
                bound[formal.type] = value.type
        for index in range(len(node.outputs)):
            formal = schema.outputs[min(index, len(schema.outputs) - 1)]
            if formal.type in bound:
                source = bound[formal.type]
                inference.types[index] = TensorType(source.dtype, None) if isinstance(source, TensorType) else source
            else:
                inference.types[index] = _fixed_type(formal.type)


def _dtype(type_: Type | None) -> ElementType | None:
    return type_.dtype if isinstance(type_, TensorType) else None


_FIXED = {
    "float": ElementType.f32, "double": ElementType.f64, "float16": ElementType.f16, "int64": ElementType.i64,
    "int32": ElementType.i32, "uint8": ElementType.u8, "int8": ElementType.i8, "bool": ElementType.bool_,
    "string": ElementType.string,
}  # fmt: skip


def _fixed_type(text: str) -> Type | None:
    """The type that a schema writes out: `tensor(int64)`."""
    if text.startswith("tensor(") and text.endswith(")"):
        return TensorType(_FIXED.get(text[7:-1]), None)
    if text == "seq(map(string, float))" or text.startswith("seq("):
        return SequenceType(None)
    return None


def _only_rank(declared: Type | None) -> Type | None:
    """A declared type without its sizes."""
    if isinstance(declared, TensorType):
        return TensorType(declared.dtype, None if declared.shape is None else (None,) * len(declared.shape))
    if isinstance(declared, SequenceType):
        return SequenceType(_only_rank(declared.element))
    if isinstance(declared, OptionalType):
        return OptionalType(_only_rank(declared.element))
    return declared


def _with_dtype(known: TensorType, declared: Type | None) -> Type:
    return TensorType(_dtype(declared), known.shape)


def _complete(known: Type | None, declared: Type | None) -> Type | None:
    """What a rule found, with what the file declares in the gaps."""
    declared = _only_rank(declared)
    if known is None or declared is None or not isinstance(known, TensorType):
        return declared if known is None else known
    if not isinstance(declared, TensorType):
        return known if known.dtype is not None else declared
    shape: Shape | None = known.shape if known.shape is not None else declared.shape
    return TensorType(known.dtype if known.dtype is not None else declared.dtype, shape)
