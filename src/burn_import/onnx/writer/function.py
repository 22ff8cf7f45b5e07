"""The body of `forward`: node by node in order, each written by its row.

A value is written where it is used when that is one place near by and short, else it gets a variable. Integers that
shapes are made of are not computed at all where inference knows them: `[batch, length, 12, 64]` is written from the
sizes of the inputs. Every variable is assigned once, except those that a loop carries.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from burn_import.onnx.ir.dim import Dim
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.ir.types import ElementType, TensorType
from burn_import.onnx.operators import rows
from burn_import.onnx.operators.operation import Operation, Unsupported
from burn_import.onnx.passes.infer.context import content_of
from burn_import.onnx.writer.expression import Argument, Expression, Form, call, first, literal
from burn_import.onnx.writer.fields import LITERAL, Array, Fields, Source, Weight
from burn_import.onnx.writer.hints import constant_hint, node_hint, relative, value_hint
from burn_import.onnx.writer.layout import WIDTH, lay_out_statement
from burn_import.onnx.writer.names import RESERVED, Names, snake
from burn_import.onnx.writer.regions import Region, regions
from burn_import.onnx.writer.sizes import element_expression, shape_comment

if TYPE_CHECKING:
    from burn_import.onnx.writer.classes import Classes

INLINE = 48  # characters of an expression that may stand inside another one
INDENT = 4
_WORD = re.compile(r"[A-Za-z_]\w*")
ARITHMETIC = frozenset(each for each in ElementType if each.burn is not None and each.burn.is_arithmetic)


class FunctionWriter:
    """Writes one function. `lines` is its body, `faults` what could not be written and why.

    The function of a region begins without parameters: what it needs from outside becomes one when it is first asked
    for, and the call site passes it.
    """

    def __init__(
        self,
        graph: Graph,
        fields: Fields,
        classes: Classes,
        parent: FunctionWriter | None = None,
        region: Region | None = None,
    ) -> None:
        self.graph = graph
        self.fields = fields
        self.classes = classes
        self.parent = parent
        self.scope = () if region is None else region.scope
        self.inside: frozenset[Node] = frozenset() if region is None else frozenset(region.nodes())
        self.passed: dict[str, Expression] = {}  # of a region: what the call gives for each parameter
        self.names = Names()
        self.lines: list[str] = []
        self.indent = 2 * INDENT
        self.faults: list[tuple[Node, str]] = []
        self.imports: dict[str, set[str]] = {}  # names by the module they come from
        self.values: dict[Value, Expression] = {}
        self.done: set[Node] = set()
        self.sizes: dict[str, tuple[Expression, int]] = {}  # where a named size can be read
        self.symbols: dict[str, str] = {}  # variables of the sizes that the function begins with
        self.parameters: list[tuple[Value, str]] = []
        self.plain: list[str] = []  # of a region: parameters that are sizes
        for value in graph.inputs if parent is None else ():
            name = self.names.fresh(value.name, "x")
            self.parameters.append((value, name))
            form = Form.tensor if isinstance(value.type, TensorType) and not _is_text(value) else Form.other
            self._bind(value, Expression.name(name, form))

    @property
    def arguments(self) -> dict[str, Expression]:
        """What the call of a region gives for each parameter, tensors first."""
        return dict(sorted(self.passed.items(), key=lambda each: each[0] in self.plain))

    def run(self) -> list[Expression]:
        """Write every node, and give the results of the function."""
        self._items(regions(self.graph))
        return [self._result(value) for value in self.graph.outputs]

    def _result(self, value: Value) -> Expression:
        if isinstance(value.type, TensorType) and not _is_text(value):
            return self.tensor(value)
        return self.raw(value)

    # -- nodes

    def _items(self, items: Sequence[Node | Region]) -> None:
        for item in items:
            if isinstance(item, Region):
                self._region(item)
            else:
                self._nodes([item])

    def _nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node in self.done or self._is_known(node):
                continue
            try:
                self._node(node)
            except Unsupported as reason:
                self.faults.append((node, str(reason)))
                for value in node.outputs:
                    self.values[value] = Expression.name(self.names.fresh("unsupported"))

    # -- regions

    def _region(self, region: Region) -> None:
        """Write a region as a class, and call it here."""
        nodes = region.nodes()
        inner = FunctionWriter(self.graph, Fields(), self.classes, self, region)
        inner.done = self.done
        for node in nodes:
            if not self._is_known(node):
                for value in node.inputs:
                    if value is not None and (value.node is None or value.node not in inner.inside):
                        inner.lookup(value)  # a parameter, in the order of use
        inner._items(region.items)
        results: list[Value] = []
        for node in nodes:
            for value in node.outputs:
                if value in inner.values and any(user not in inner.inside for user, _ in value.uses):
                    results.append(value)
        self.faults += inner.faults
        given = [inner.raw(value) for value in results]
        if not results:
            return
        name = self.classes.add(inner, results, given)
        words = region.scope[len(self.scope) :]
        made = call(Expression.name(name), Expression.name("device"))
        weights = inner.fields.weights()
        block = self.fields.layer("_".join(words), name, made, weights, shared=False)
        called = call(block, *inner.arguments.values())
        if len(results) == 1:
            variable = self.names.fresh(words[-1])
            self._write_assignment(variable, called, results[0])
            self._bind(results[0], Expression.name(variable, given[0].form))
            return
        variables = [self.names.fresh(value_hint(value, plain=True)) for value in results]
        self.statement(f"{', '.join(variables)} = {called.text}")
        for variable, value, expression in zip(variables, results, given):
            self._bind(value, Expression.name(variable, expression.form))

    def _from_outside(self, value: Value) -> Expression | None:
        """In a region: a value of the function around it, as a parameter."""
        if self.parent is None or value.constant is not None:
            return None
        self.parent._settle(value)
        try:
            outer = self.parent.raw(value)
        except Unsupported:
            return None
        name = self.names.fresh("x")
        self.parameters.append((value, name))
        self.passed[name] = outer
        self._bind(value, Expression.name(name, outer.form))
        return self.values[value]

    def lookup(self, value: Value) -> Expression | None:
        """The expression of a value that was written before, here or around here."""
        known = self.values.get(value)
        if known is None and self.parent is not None and self.parent.lookup(value) is not None:
            return self._from_outside(value)
        return known

    def _is_known(self, node: Node) -> bool:
        """Whether every result that is used can be written from sizes, so that nothing has to be computed."""
        for value in node.outputs:
            if not value.is_used:
                continue
            dtype, rank = value.tensor.dtype, value.tensor.rank
            if dtype not in (ElementType.i64, ElementType.i32) or rank is None or rank > 1:
                return False
            found = self.each(value)
            if found is None:
                return False
        return True

    def _node(self, node: Node) -> None:
        row = rows()[node.domain, node.op_type]
        if node.subgraphs:
            for value in node.captures():
                self._settle(value)
        op = Operation(self, node)
        written = row.write(op)
        results = [written] if isinstance(written, Expression) else list(written or ())
        target = node if op.absorbed is None else op.absorbed
        if op.absorbed is not None:
            self.done.add(op.absorbed)
        for value, result in zip(target.outputs, results):
            if result is not None and value.is_used and value not in self.values:
                self._give(value, result, row.impure or bool(node.subgraphs))

    def _give(self, value: Value, result: Expression, settled: bool) -> None:
        """Remember the expression of a value, in a variable unless it may stand where it is used."""
        graph = value.node.graph if value.node is not None else None
        uses = [user for user, _ in value.uses if self._is_here(user, graph)]
        inline = (
            not settled
            and len(uses) <= 1
            and all(isinstance(user, Node) and user.graph is graph and not user.subgraphs for user in uses)
            and (len(uses) == 1) == (len(value.uses) == len(uses))
            and len(result.text) <= INLINE
        )
        if result.simple or inline:
            self._bind(value, result)
            return
        name = self.names.fresh(self._hint(value))
        self._write_assignment(name, result, value)
        self._bind(value, Expression.name(name, result.form))

    def _is_here(self, user: Node | Graph, graph: Graph | None) -> bool:
        """Whether a use is in this function. What only others use goes straight into the return statement."""
        return self.parent is None or not isinstance(user, Node) or user.graph is not graph or user in self.inside

    def _hint(self, value: Value) -> str:
        """A name for the variable; in regions the same for every repetition."""
        return value_hint(value, plain=self.parent is not None)

    def _settle(self, value: Value) -> None:
        """Give a value a variable, if its expression is still waiting to be used."""
        known = self.values.get(value)
        if known is not None and not known.simple:
            name = self.names.fresh(self._hint(value))
            self._write_assignment(name, known, value)
            self._bind(value, Expression.name(name, known.form))

    def _bind(self, value: Value, expression: Expression) -> None:
        self.values[value] = expression
        shape = value.tensor.shape
        if shape is not None and expression.simple and expression.form is Form.tensor:
            for axis, size in enumerate(shape):
                if isinstance(size, Dim) and size.name is not None:
                    self.sizes.setdefault(size.name, (expression, axis))

    # -- statements

    def statement(self, text: str) -> None:
        self.lines += lay_out_statement(text, self.indent)

    def _write_assignment(self, name: str, result: Expression, value: Value | None) -> None:
        text = f"{name} = {result.text}"
        if value is not None and result.form is Form.tensor:
            comment = shape_comment(value.tensor.shape, self.spell)
            if comment and self.indent + len(text) + len(comment) + 4 <= WIDTH:
                self.lines.append(f"{' ' * self.indent}{text}  # {comment}")
                return
        self.statement(text)

    def assign(self, hint: str, value: Expression) -> Expression:
        name = self.names.fresh(hint)
        self._write_assignment(name, value, None)
        return Expression.name(name, value.form)

    def unpack(self, node: Node, value: Expression, count: int) -> list[Expression | None]:
        names: list[str] = []
        results: list[Expression | None] = []
        for each in node.outputs[:count]:
            if each.is_used:
                names.append(self.names.fresh(self._hint(each)))
                results.append(Expression.name(names[-1]))
            else:
                names.append("_")
                results.append(None)
        names += ["_"] * (count - len(names))
        self.statement(f"{', '.join(names)}{',' if count == 1 else ''} = {value.text}")
        return results

    @contextmanager
    def block(self, header: str) -> Iterator[None]:
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

    def body(self, graph: Graph, inputs: Sequence[Expression | None]) -> list[Expression]:
        for value, given in zip(graph.inputs, inputs):
            if given is not None:
                self._bind(value, given)
        self._nodes(list(graph))
        return [self._result(value) for value in graph.outputs]

    # -- sizes

    def spell(self, symbol: str) -> str:
        """How comments name a size."""
        return self.symbols.get(symbol) or self._symbol_hint(symbol)

    def _symbol_hint(self, symbol: str) -> str:
        place = self.sizes.get(symbol)
        automatic = place is not None and any(
            symbol == f"{value.name}.{axis}" for value, _ in self.parameters for axis in range(value.tensor.rank or 0)
        )
        if automatic and place is not None and place[1] == 0:
            return "batch"
        return snake(symbol) or "size"

    def _resolve(self, symbol: str) -> Expression | None:
        known = self.symbols.get(symbol)
        if known is not None:
            return Expression.name(known, Form.number)
        place = self.sizes.get(symbol)
        if place is None:
            outer = None if self.parent is None else self.parent._resolve(symbol)
            if outer is None:
                return None
            self.symbols[symbol] = self.names.fresh(self._symbol_hint(symbol), "size")
            self.plain.append(self.symbols[symbol])
            self.passed[self.symbols[symbol]] = outer
            return Expression.name(self.symbols[symbol], Form.number)
        source, axis = place
        if any(source.text == name for _, name in self.parameters):
            self.symbols[symbol] = self.names.fresh(self._symbol_hint(symbol), "size")
            return Expression.name(self.symbols[symbol], Form.number)
        return source.attribute("shape").item(axis).number()

    def prologue(self) -> list[str]:
        """The lines that read the named sizes from the inputs: `batch, length = tokens.shape`."""
        lines: list[str] = []
        mentioned = self._mentioned()
        for value, name in self.parameters:
            wanted: dict[int, str] = {}
            for symbol, variable in self.symbols.items():
                if variable in self.plain or variable not in mentioned:
                    continue
                source, axis = self.sizes[symbol]
                if source.text == name:
                    wanted[axis] = variable
            rank = value.tensor.rank or 0
            if sorted(wanted) == list(range(len(wanted))) and len(wanted) > 1:
                names = ", ".join(wanted[axis] for axis in sorted(wanted))
                lines.append(f"{names} = {name}.shape" + ("" if len(wanted) == rank else f"[:{len(wanted)}]"))
            else:
                lines += [f"{wanted[axis]} = {name}.shape[{axis}]" for axis in sorted(wanted)]
        return [" " * 2 * INDENT + line for line in lines]

    def _mentioned(self) -> set[str]:
        """Every word of the body."""
        return set(_WORD.findall("\n".join(self.lines)))

    def finish(self, text: str) -> None:
        """End a region with its return statement, and give up parameters that nothing reads."""
        self.statement(text)
        mentioned = self._mentioned() | set(_WORD.findall("\n".join(self.prologue())))
        self.parameters = [(value, name) for value, name in self.parameters if name in mentioned]
        self.plain = [name for name in self.plain if name in mentioned]
        self.passed = {name: given for name, given in self.passed.items() if name in mentioned}

    def size(self, value: Value, axis: int) -> Expression:
        shape = value.tensor.shape
        if shape is not None:
            found = element_expression(shape[axis], self._resolve)
            if found is not None:
                return found
        return self.tensor(value).attribute("shape").item(axis).number()

    def elements(self, value: Value) -> list[Any] | None:
        """What inference knows about the elements of a value."""
        content = content_of(value)
        return None if content is None else list(content.reshape(-1).tolist())

    # -- operands

    def raw(self, value: Value) -> Expression:
        known = self.lookup(value)
        if known is not None:
            return known
        if value.constant is not None and value.constant.dtype is ElementType.string:
            return self._text(value.constant.array)
        return self.tensor(value)

    def _text(self, array: Array) -> Expression:
        self.imports.setdefault("numpy", set())
        made = call(Expression("np.array"), _listed(array), dtype=Expression("object"))
        return made.other()

    def tensor(self, value: Value) -> Expression:
        known = self.lookup(value)
        if known is not None and known.form in (Form.tensor, Form.other):
            return known
        if value.constant is not None:
            return self._constant(value)
        dtype = value.tensor.dtype
        if dtype is None:
            raise Unsupported(f"the element type of {value.name!r} is not known")
        content = known
        if content is None:
            each = self.each(value)
            if each is None:
                raise Unsupported(f"{value.name!r} has no expression")
            content = each[0] if value.tensor.rank == 0 else literal(list(each))
        return self.new(content, dtype)

    def new(self, content: Argument, dtype: ElementType) -> Expression:
        """A tensor of Python numbers; a captured call keeps it as a part of the program."""
        return call(self.imported("burn.ops.constants", "constant"), content, dtype, self.device)

    def operand(self, value: Value, beside: Value) -> Expression:
        constant, rank, other = value.constant, value.tensor.rank, beside.tensor.rank
        if (
            constant is not None
            and constant.size == 1
            and rank is not None
            and beside.constant is None
            and (rank == 0 or (other is not None and rank <= other))
            and constant.dtype in ARITHMETIC
            and beside.tensor.dtype is constant.dtype
            and self._is_plain_tensor(beside)
        ):
            return first(constant.array)
        if value.constant is None and rank == 0 and self._is_plain_tensor(beside):
            known = self.lookup(value)
            if known is not None and known.form is Form.number:
                return known
            if known is None:
                each = self.each(value)
                if each is not None:
                    return each[0]
        return self.tensor(value)

    def _is_plain_tensor(self, value: Value) -> bool:
        known = self.lookup(value)
        return known is not None and known.form is Form.tensor

    def number(self, value: Value) -> Expression:
        found = self.each(value)
        if found is not None and len(found) == 1:
            return found[0]
        known = self.lookup(value)
        if known is not None and known.form is Form.number:
            return known
        if known is not None and known.form is Form.numbers:
            return known.item(0).number()
        if value.constant is not None and value.constant.size == 1:
            return first(value.constant.array)
        return self.tensor(value).method("item").number()

    def numbers(self, value: Value) -> Expression:
        found = self.each(value)
        if found is not None:
            return literal(list(found))
        known = self.lookup(value)
        if known is not None and known.form is Form.numbers:
            return known
        return self.tensor(value).method("tolist").numbers()

    def each(self, value: Value) -> list[Expression] | None:
        """One expression for each element of a value of rank 0 or 1; None when one of them is not known."""
        elements = self.elements(value)
        if elements is None or (value.tensor.rank or 0) > 1:
            return None
        found: list[Expression] = []
        for element in elements:
            one = element_expression(element, self._resolve)
            if one is None:
                return None
            found.append(one)
        return found

    @property
    def device(self) -> Expression:
        for value, name in self.parameters:
            if self.values[value].form is Form.tensor:
                return Expression.name(name).attribute("device")
        if self.parent is not None:
            if "device" not in self.plain:
                self.passed["device"] = self.parent.device
                self.plain.append("device")
            return Expression.name("device", Form.other)
        for each in self.fields.entries:
            if each.annotation in ("Param", "Tensor"):
                return Expression(f"self.{each.name}.device", simple=True)
        return self.fields.anchor().attribute("device")

    def function(self, module: str, name: str) -> Expression:
        return self.imported("burn.tensor", module).attribute(name)

    def imported(self, module: str, name: str) -> Expression:
        assert name in RESERVED, f"{name} must be in names.RESERVED"
        self.imports.setdefault(module, set()).add(name)
        return Expression.name(name)

    # -- fields

    def constant_hint(self, value: Value) -> str:
        return relative(constant_hint(value), self.scope)

    def _constant(self, value: Value) -> Expression:
        constant = value.constant
        assert constant is not None
        if constant.dtype is ElementType.string:
            return self._text(constant.array)
        if constant.dtype.burn is None:
            raise Unsupported(f"a constant of {constant.dtype}")
        small = constant.size <= (1 if constant.dtype.is_float else LITERAL)
        if small and constant.dtype in ARITHMETIC and constant.size:
            return self.fields.constant(self.constant_hint(value), constant.array)
        return self.fields.parameter(self.constant_hint(value), Weight(value))

    def table(self, hint: str, array: Array) -> Expression:
        if array.size and array.size <= LITERAL and array.dtype.kind in "biuf":
            return self.fields.constant(hint, array)
        return self.fields.parameter(hint, np.ascontiguousarray(array).reshape(array.shape))

    def layer(
        self,
        op: Operation,
        kind: str,
        settings: Sequence[Argument],
        keywords: dict[str, Argument],
        weights: dict[str, Source],
        mode: str | None,
    ) -> Expression:
        package, _, name = kind.rpartition(".")
        prefix = Expression.name("nn") if not package else Expression.name("nn").attribute(package)
        config = prefix.attribute(f"{name}Config")(*settings, **keywords)
        made = config.method("init", Expression.name("device")) if weights else config.method("init")
        dtypes = {_weight_dtype(each) for each in weights.values()} - {ElementType.f32}
        if dtypes:
            made = made.method("cast", sorted(dtypes, key=lambda each: each.value)[0])
        if mode is not None:
            made = made.method("mode", mode)
        annotation = prefix.attribute(name).text
        values = [each.value for each in weights.values() if isinstance(each, Weight)]
        hint = relative(node_hint(op.node, name, values), self.scope)
        return self.fields.layer(hint or name, annotation, made, weights, shared=bool(weights))


def _weight_dtype(source: Source) -> ElementType:
    if isinstance(source, Weight):
        assert source.value.constant is not None
        return source.value.constant.dtype
    return ElementType.from_numpy(source.dtype)


def _is_text(value: Value) -> bool:
    return value.tensor.dtype is ElementType.string


def _listed(array: Array) -> Any:
    return literal(str(array[()])) if array.ndim == 0 else [_listed(each) for each in array]
