"""Graphs of nodes and values, and the surgery passes do on them.

A `Value` is defined once: by a node, as a graph input, or as a constant. It knows its definition and every use, and
so does surgery: `value.replace_by(other)` moves all uses, `graph.insert(node, before=other)` and `node.remove()`
keep the list of nodes. Nodes of a body (of If, Loop or Scan) use values of the graphs around it directly: such a
capture is an ordinary input that happens to be defined outside.

    relu = graph.insert(Node("Relu", [x]), after=convolution)
    convolution.outputs[0].replace_by(relu.outputs[0], unless=relu)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from burn.classes import dataclass
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.names import Names
from burn_import.onnx.ir.types import TensorType, Type

if TYPE_CHECKING:
    import numpy as np

# int, float, str, bytes, Constant, Graph, Type, Reference, a tuple of one of them, or Numbers
Attribute: TypeAlias = Any


@dataclass(frozen=True, slots=True)
class Reference:
    """In the body of a function: the attribute `name` of the node that calls it."""

    name: str
    kind: str


class Value:
    """One value of a graph.

    `type` is what is known about it; `content` is filled by inference for small integer tensors whose elements are
    numbers or sizes: an object array of `int | float | Dim | None`.
    """

    __slots__ = ("name", "type", "declared", "constant", "content", "node", "index", "graph", "_uses")

    def __init__(self, name: str, type: Type | None = None, constant: Constant | None = None) -> None:
        self.name = name
        self.type: Type | None = type if constant is None else constant.type
        self.declared: Type | None = type
        self.constant = constant
        self.content: np.ndarray[Any, Any] | None = None
        self.node: Node | None = None
        self.index = 0
        self.graph: Graph | None = None  # of an input or a constant; a node's output asks its node
        self._uses: dict[tuple[Node | Graph, int], None] = {}

    @property
    def uses(self) -> tuple[tuple[Node | Graph, int], ...]:
        """Where the value is used: (node, position among its inputs), or (graph, position among its outputs)."""
        return tuple(self._uses)

    @property
    def users(self) -> tuple[Node, ...]:
        """The nodes that use the value, each once."""
        return tuple(dict.fromkeys(user for user, _ in self._uses if isinstance(user, Node)))

    @property
    def is_output(self) -> bool:
        """Whether a graph, or the body of a node, gives the value as a result."""
        return any(isinstance(user, Graph) for user, _ in self._uses)

    @property
    def is_used(self) -> bool:
        return bool(self._uses)

    @property
    def is_constant(self) -> bool:
        return self.constant is not None

    @property
    def is_input(self) -> bool:
        return self.node is None and self.constant is None

    @property
    def owner(self) -> Graph | None:
        """The graph in which the value is defined."""
        return self.graph if self.node is None else self.node.graph

    @property
    def tensor(self) -> TensorType:
        """The type as a tensor's; one of which nothing is known where it is none."""
        return self.type if isinstance(self.type, TensorType) else TensorType(None, None)

    def replace_by(self, other: Value, *, unless: Node | None = None) -> None:
        """Let everything that uses this value use `other`, except the node `unless`."""
        for user, index in list(self._uses):
            if user is unless:
                continue
            if isinstance(user, Node):
                user.set_input(index, other)
            else:
                user.set_output(index, other)

    def __repr__(self) -> str:
        return f"%{self.name}: {'?' if self.type is None else self.type}"


class Node:
    """One operation. `inputs` has None where an optional input is absent; an optional output that nobody asked for
    is a value without uses."""

    __slots__ = (
        "op_type", "domain", "version", "name", "overload", "scope", "kinds", "attributes", "graph", "_inputs",
        "_outputs", "_previous", "_next",
    )  # fmt: skip

    def __init__(
        self,
        op_type: str,
        inputs: Sequence[Value | None] = (),
        outputs: int | Sequence[str | Value] = 1,
        attributes: Mapping[str, Attribute] | None = None,
        *,
        domain: str = "",
        version: int = 0,
        name: str = "",
        overload: str = "",
    ) -> None:
        self.op_type = op_type
        self.domain = domain
        self.version = version
        self.name = name
        self.overload = overload
        self.scope: tuple[str, ...] = ()  # the modules that it was traced in, outermost first, where the file tells
        self.kinds: tuple[str, ...] = ()  # the classes of those modules
        self.attributes: dict[str, Attribute] = dict(attributes or {})
        self.graph: Graph | None = None
        self._previous: Node | None = None
        self._next: Node | None = None
        self._inputs: list[Value | None] = []
        self._outputs: list[Value] = []
        for value in inputs:
            self.append_input(value)
        names: Sequence[str | Value] = [""] * outputs if isinstance(outputs, int) else outputs
        for each in names:
            self._append_output(each if isinstance(each, Value) else Value(each))

    @property
    def inputs(self) -> tuple[Value | None, ...]:
        return tuple(self._inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        return tuple(self._outputs)

    @property
    def output(self) -> Value:
        """The first output."""
        return self._outputs[0]

    def input(self, index: int) -> Value | None:
        """The input at `index`; None when absent or beyond the last."""
        return self._inputs[index] if index < len(self._inputs) else None

    def attribute(self, name: str, default: Attribute = None) -> Attribute:
        return self.attributes.get(name, default)

    def set_input(self, index: int, value: Value | None) -> None:
        """Put `value` at `index`, filling up with absent inputs where the list is shorter."""
        while len(self._inputs) <= index:
            self._inputs.append(None)
        old = self._inputs[index]
        if old is not None:
            del old._uses[self, index]
        self._inputs[index] = value
        if value is not None:
            value._uses[self, index] = None

    def append_input(self, value: Value | None) -> None:
        self.set_input(len(self._inputs), value)

    def set_inputs(self, values: Sequence[Value | None]) -> None:
        """Replace all inputs; absent ones at the end are dropped."""
        for index in range(len(self._inputs)):
            self.set_input(index, None)
        self._inputs.clear()
        last = max((index for index, value in enumerate(values) if value is not None), default=-1)
        for value in values[: last + 1]:
            self.append_input(value)

    def _append_output(self, value: Value) -> None:
        value.node, value.index = self, len(self._outputs)
        self._outputs.append(value)

    def append_output(self, name: str = "") -> Value:
        """One more output."""
        value = Value(name)
        self._append_output(value)
        if self.graph is not None:
            value.name = self.graph.names.fresh(name or self.op_type.lower())
        return value

    def drop_outputs(self, count: int) -> None:
        """Keep the first `count` outputs; the others must be unused."""
        for value in self._outputs[count:]:
            assert not value.is_used, value
            value.node = None
        del self._outputs[count:]

    @property
    def subgraphs(self) -> dict[str, Graph]:
        """The bodies of this node by attribute name (`name.0`, `name.1` for lists)."""
        found: dict[str, Graph] = {}
        for name, value in self.attributes.items():
            kind = value.__class__
            if kind is Graph:
                found[name] = value
            elif kind is tuple and value and value[0].__class__ is Graph:
                found.update({f"{name}.{index}": each for index, each in enumerate(value)})
        return found

    def captures(self) -> tuple[Value, ...]:
        """The values that bodies of this node take from the graphs around it, in order of first use."""
        found: dict[Value, None] = {}
        for graph in self.subgraphs.values():
            inside = graph.defined()
            for value in graph.used():
                if value not in inside:
                    found[value] = None
        return tuple(found)

    def remove(self) -> None:
        """Take the node out of its graph. Its outputs must be unused."""
        assert not any(value.is_used for value in self._outputs), f"{self} is still used"
        if self.graph is not None:
            self.graph._unlink(self)
        self.detach()

    def detach(self) -> None:
        """Give up every use, those inside bodies too."""
        for index in range(len(self._inputs)):
            self.set_input(index, None)
        for graph in self.subgraphs.values():
            graph.clear()

    def replace_by(self, *values: Value) -> None:
        """Let `values` take the place of the outputs, and remove the node."""
        for old, new in zip(self._outputs, values):
            old.replace_by(new)
        self.remove()

    @property
    def previous(self) -> Node | None:
        """The node before this one."""
        return self._previous

    @property
    def next(self) -> Node | None:
        """The node after this one."""
        return self._next

    @property
    def operator(self) -> str:
        """The operator as people write it: `Relu`, `com.microsoft.Gelu`."""
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type

    def __repr__(self) -> str:
        outputs = ", ".join(f"%{value.name}" for value in self._outputs)
        inputs = ", ".join("-" if value is None else f"%{value.name}" for value in self._inputs)
        return f"{outputs} = {self.operator}({inputs})"


class Graph:
    """Nodes in order of execution, between inputs and outputs, over constants.

    Iterating a graph is safe while nodes are inserted or removed around the current one.
    """

    __slots__ = ("name", "names", "_inputs", "_outputs", "constants", "overridable", "_first", "_last", "_count",
                 "declared_outputs", "output_names")  # fmt: skip

    def __init__(self, name: str = "", names: Names | None = None) -> None:
        self.name = name
        self.names = names if names is not None else Names()
        self._inputs: list[Value] = []
        self._outputs: list[Value] = []
        self.constants: dict[Value, None] = {}  # an ordered set
        self.overridable: list[
            Value
        ] = []  # constants that the file also offers as inputs, with the constant as default
        self.declared_outputs: list[Type | None] = []
        self.output_names: list[str] = []  # as the file has them; values may be replaced by others
        self._first: Node | None = None
        self._last: Node | None = None
        self._count = 0

    # -- reading

    @property
    def inputs(self) -> tuple[Value, ...]:
        return tuple(self._inputs)

    @property
    def outputs(self) -> tuple[Value, ...]:
        return tuple(self._outputs)

    def __iter__(self) -> Iterator[Node]:
        node = self._first
        while node is not None:
            following = node._next
            yield node
            # the current node may have been removed, with some of those behind it, or new ones inserted
            node = node._next if node.graph is self else following
            while node is not None and node.graph is not self:
                node = node._next

    def __reversed__(self) -> Iterator[Node]:
        node = self._last
        while node is not None:
            following = node._previous
            yield node
            node = node._previous if node.graph is self else following
            while node is not None and node.graph is not self:
                node = node._previous

    def __len__(self) -> int:
        return self._count

    @property
    def first(self) -> Node | None:
        """The node that runs first."""
        return self._first

    @property
    def nodes(self) -> tuple[Node, ...]:
        return tuple(self)

    def walk(self) -> Iterator[Node]:
        """Every node, those of bodies after the node that has them."""
        for node in self:
            yield node
            for graph in node.subgraphs.values():
                yield from graph.walk()

    def graphs(self) -> Iterator[Graph]:
        """This graph and every body in it."""
        yield self
        for node in self:
            for graph in node.subgraphs.values():
                yield from graph.graphs()

    def defined(self) -> set[Value]:
        """Every value defined in this graph or in a body in it."""
        found: set[Value] = set()
        for graph in self.graphs():
            found.update(graph._inputs)
            found.update(graph.constants)
            for node in graph:
                found.update(node._outputs)
        return found

    def used(self) -> Iterator[Value]:
        """Every value used in this graph or in a body in it."""
        for node in self:
            for value in node._inputs:
                if value is not None:
                    yield value
            for graph in node.subgraphs.values():
                yield from graph.used()
        yield from self._outputs

    # -- building

    def add_input(self, name: str, type: Type | None = None) -> Value:
        value = Value(self.names.take(name), type)
        value.graph, value.index = self, len(self._inputs)
        self._inputs.append(value)
        return value

    def remove_input(self, value: Value) -> None:
        self._inputs.remove(value)
        for index, each in enumerate(self._inputs):
            each.index = index
        value.graph = None

    def add_constant(self, constant: Constant, name: str = "constant") -> Value:
        """A value that holds `constant`, under `name` or a free name made from it."""
        value = Value(self.names.fresh(name), constant=constant)
        value.graph = self
        self.constants[value] = None
        return value

    def make_constant(self, value: Value, constant: Constant) -> Value:
        """A constant that takes over the name and every use of `value`, whose node is to be removed."""
        made = Value(value.name, constant=constant)
        made.graph = self
        self.constants[made] = None
        value.replace_by(made)
        return made

    def remove_constant(self, value: Value) -> None:
        assert not value.is_used, value
        del self.constants[value]
        value.graph = None

    def append(self, node: Node) -> Node:
        return self.insert(node)

    def insert(self, node: Node, *, before: Node | None = None, after: Node | None = None) -> Node:
        """Put `node` before or after another one, or at the end. Outputs without a name get one."""
        assert node.graph is None, f"{node} is in a graph already"
        previous = after if after is not None else (before._previous if before is not None else self._last)
        following = previous._next if previous is not None else self._first
        node._previous, node._next, node.graph = previous, following, self
        if previous is None:
            self._first = node
        else:
            previous._next = node
        if following is None:
            self._last = node
        else:
            following._previous = node
        self._count += 1
        for value in node._outputs:
            if not value.name:
                value.name = self.names.fresh(node.op_type.lower())
        return node

    def _unlink(self, node: Node) -> None:
        assert node.graph is self
        if node._previous is None:
            self._first = node._next
        else:
            node._previous._next = node._next
        if node._next is None:
            self._last = node._previous
        else:
            node._next._previous = node._previous
        node.graph = None
        self._count -= 1

    def reorder(self, nodes: Iterable[Node]) -> None:
        """Put the nodes of this graph into another order."""
        ordered = list(nodes)
        assert len(ordered) == self._count
        assert all(node.graph is self for node in ordered)
        previous: Node | None = None
        for node in ordered:
            node._previous = previous
            if previous is not None:
                previous._next = node
            previous = node
        if previous is not None:
            previous._next = None
        self._first, self._last = (ordered[0], previous) if ordered else (None, None)

    def add_output(self, value: Value, declared: Type | None = None, name: str = "") -> None:
        """One more result, known to callers as `name`; the value's own name by default."""
        self._outputs.append(value)
        self.declared_outputs.append(declared)
        self.output_names.append(name or value.name)
        value._uses[self, len(self._outputs) - 1] = None

    def set_output(self, index: int, value: Value) -> None:
        del self._outputs[index]._uses[self, index]
        self._outputs[index] = value
        value._uses[self, index] = None

    def set_outputs(self, values: Sequence[Value]) -> None:
        """Replace all outputs."""
        for index, value in enumerate(self._outputs):
            del value._uses[self, index]
        self._outputs.clear()
        self.declared_outputs.clear()
        self.output_names.clear()
        for value in values:
            self.add_output(value)

    def clear(self) -> None:
        """Give up every use inside, so that values of outer graphs forget this one."""
        for node in self:
            node.detach()
        self.set_outputs(())

    def __repr__(self) -> str:
        return f"Graph({self.name!r}, {len(self._inputs)} inputs, {self._count} nodes, {len(self._outputs)} outputs)"
