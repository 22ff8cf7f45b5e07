"""One function while it is written: its names, its lines, and the expressions of its values.

A line keeps its comment apart, so that two functions can be compared by what they do, and so that a comment that does
not fit is the first thing to go.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from burn.classes import dataclass
from burn.dim import Dim
from burn_import.functions import MODULES
from burn_import.onnx.code.expression import Expression, Form
from burn_import.onnx.code.fields import Fields
from burn_import.onnx.code.layout import WIDTH, lay_out_statement
from burn_import.onnx.code.names import RESERVED, Names
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.types import ElementType, TensorType

if TYPE_CHECKING:
    from burn_import.onnx.code.classes import Classes

INDENT = 4


@dataclass(frozen=True, slots=True)
class Line:
    """A line of source, and what a comment says about it."""

    code: str
    comment: str = ""

    def text(self) -> str:
        """Both, or the code alone where both are too long."""
        if not self.comment or len(self.code) + len(self.comment) + 4 > WIDTH:
            return self.code
        return f"{self.code}  # {self.comment}"


class Frame:
    """The state of one function. `lines` is its body, `faults` what could not be written and why."""

    def __init__(self, graph: Graph, fields: Fields, classes: Classes) -> None:
        self.graph = graph
        self.fields = fields
        self.classes = classes
        self.names = Names()
        self.lines: list[Line] = []
        self.indent = 2 * INDENT
        self.faults: list[tuple[Node, str]] = []
        self.imports: dict[str, set[str]] = {}  # names by the module they come from
        self.values: dict[Value, Expression] = {}
        self.sizes: dict[str, tuple[Expression, int]] = {}  # where a named size can be read
        self.parameters: list[tuple[Value, str]] = []
        self.current: Node | None = None  # what is being written
        self.layers: dict[Node, str] = {}  # the fields of nodes that are layers
        self.declared: set[str] = set()  # variables whose type is written, for what is returned

    def bind(self, value: Value, expression: Expression) -> None:
        """Remember the expression of a value, and the sizes that can be read from it."""
        self.values[value] = expression
        shape = value.tensor.shape
        if shape is not None and expression.simple and expression.form is Form.tensor:
            for axis, size in enumerate(shape):
                if isinstance(size, Dim) and size.name is not None:
                    self.sizes.setdefault(size.name, (expression, axis))

    def statement(self, text: str, comment: str = "") -> None:
        lines = lay_out_statement(text, self.indent)
        self.lines += [Line(line) for line in lines[:-1]]
        self.lines.append(Line(lines[-1], comment if len(lines) == 1 else ""))

    def returned(self, results: Sequence[Expression]) -> str:
        """The return statement. A lone tensor has its type written: calls of layers do not tell theirs."""
        names = [result.text for result in results]
        if len(results) != 1 or results[0].form is not Form.tensor:
            return f"return {', '.join(names)}" if names else "return ()"
        known = self.declared | {name for value, name in self.parameters if self.values[value].form is Form.tensor}
        written = (*names, *(line.code for line in self.lines))
        untyped = any(self.values[value].form is Form.other for value, _ in self.parameters)
        untyped = untyped or any("self." in text for text in written)
        if names[0] in known or not untyped:
            return f"return {names[0]}"
        name = self.names.fresh("result")
        self.statement(f"{name}: Tensor = {names[0]}")
        return f"return {name}"

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
        """What is written inside stands below `header`; sizes that it learns are forgotten behind it."""
        self.statement(header)
        self.indent += INDENT
        before = len(self.lines)
        sizes = dict(self.sizes)
        yield
        if len(self.lines) == before:
            self.statement("pass")
        self.indent -= INDENT
        names = {name for _, name in self.parameters}
        self.sizes = {symbol: at for symbol, at in self.sizes.items() if symbol in sizes or at[0].text in names}

    def function(self, module: str, name: str) -> Expression:
        return self.imported(package_of(module), module).attribute(name)

    def imported(self, module: str, name: str) -> Expression:
        assert name in RESERVED, f"{name} must be in names.RESERVED"
        self.imports.setdefault(module, set()).add(name)
        return Expression.name(name)


def argument_names(graph: Graph, names: Names | None = None) -> list[str]:
    """What the arguments of a graph's function are called."""
    taken = Names() if names is None else names
    return [taken.fresh(value.name, "x") for value in graph.inputs]


def package_of(module: str) -> str:
    """The package of a module that generated source may call: the framework's where it has the module."""
    return "burn_import.functions" if module in MODULES else "burn.tensor"


def is_text(value: Value) -> bool:
    """Whether a value is a tensor of strings, which is an array of NumPy's here."""
    return value.tensor.dtype is ElementType.string


def form_of(value: Value) -> Form:
    """How an argument of this type arrives."""
    return Form.tensor if isinstance(value.type, TensorType) and not is_text(value) else Form.other
