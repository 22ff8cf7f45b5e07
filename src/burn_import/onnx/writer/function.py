"""The body of `forward`: node by node in order, each written by its row.

A value is written where it is used when that is one place near by and short, else it gets a variable. Integers that
shapes are made of are not computed at all where inference knows them: `[batch, length, 12, 64]` is written from the
sizes of the inputs. Every variable is assigned once, except those that a loop carries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from burn_import.onnx.code.expression import Expression, Form, call
from burn_import.onnx.code.fields import Fields
from burn_import.onnx.code.frame import argument_names, form_of
from burn_import.onnx.code.hints import moved_from, value_hint
from burn_import.onnx.code.sizes import shape_comment
from burn_import.onnx.code.symbols import WORD
from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.operators import rows
from burn_import.onnx.operators.operation import Operation, Unsupported
from burn_import.onnx.operators.text_movement import TextMovement, moves_text
from burn_import.onnx.writer.operands import Operands
from burn_import.onnx.writer.regions import Region, learnt_numbers, regions, shared_values

if TYPE_CHECKING:
    from burn_import.onnx.code.classes import Classes

INLINE = 60  # characters of an expression that may stand inside another one
RETURNED = 92  # of one that may stand behind `return`
TOGETHER = 72  # of all that stand inside one


class FunctionWriter(Operands):
    """Writes one function.

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
        super().__init__(graph, fields, classes, parent)
        self.parent = parent
        self.scope = () if region is None else region.scope
        self.inside: frozenset[Node] = frozenset() if region is None else frozenset(region.nodes())
        self.plain_fields = region is not None and region.is_structural
        self.done: set[Node] = set()
        self.shared: frozenset[Value] = frozenset()  # what several regions use
        names = argument_names(graph, self.names) if parent is None else []
        for value, name in zip(graph.inputs, names):
            self.parameters.append((value, name))
            self.bind(value, Expression.name(name, form_of(value)))
        if parent is None:
            self.name_sizes()

    @property
    def arguments(self) -> dict[str, Expression]:
        """What the call of a region gives for each parameter, tensors first."""
        return dict(sorted(self.passed.items(), key=lambda each: each[0] in self.plain))

    def run(self, *, split: bool = True) -> list[Expression]:
        """Write every node, and give the results of the function; with `split`, parts of it as classes."""
        items = regions(self.graph) if split else list(self.graph)
        self.shared = shared_values(items)
        self.classes.learnt = learnt_numbers(items)
        self._items(items)
        return [self.result(value) for value in self.graph.outputs]

    # -- nodes

    def _items(self, items: Sequence[Node | Region]) -> None:
        for item in items:
            if isinstance(item, Region):
                self._region(item)
            else:
                self._nodes([item])

    def _nodes(self, nodes: Iterable[Node]) -> None:
        for node in nodes:
            if node in self.done or self.is_known(node):
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
            if not self.is_known(node):
                for value in node.inputs:
                    if value is not None and (value.node is None or value.node not in inner.inside):
                        inner.lookup(value)  # a parameter, in the order of use
        inner._items(region.items)
        results: list[Value] = []
        for node in nodes:
            for value in node.outputs:
                if all(user in inner.inside for user, _ in value.uses):
                    continue
                if value not in inner.values and self.each(value) is None and inner.each(value) is not None:
                    inner.values[value] = inner.tensor(value)  # made of sizes that are named in the region alone
                if value in inner.values:
                    results.append(value)
        self.faults += inner.faults
        given = [inner.raw(value) for value in results]
        if not results:
            return
        inner.finish(inner.returned(given))
        block = self.fields.block(region.name, self.classes.add(inner, region.hint, results), inner.fields.weights())
        called = call(block, *inner.arguments.values())
        if len(results) == 1:
            variable = self.names.fresh(region.name)
            self._write_assignment(variable, called, results[0])
            self.bind(results[0], Expression.name(variable, given[0].form))
            return
        variables = [self.names.fresh(value_hint(value, plain=True)) for value in results]
        self.statement(f"{', '.join(variables)} = {called.text}")
        for variable, value, expression in zip(variables, results, given):
            self.bind(value, Expression.name(variable, expression.form))

    def holds(self, node: Node) -> bool:
        """Whether a node is written in this function, so that another one may take it over."""
        return self.parent is None or node in self.inside or node.graph is not self.graph

    def _from_outside(self, value: Value) -> Expression | None:
        """In a region: a value of the function around it, as a parameter.

        What several regions use has one name in all of them; anything else is `x`, so that regions read the same.
        """
        if self.parent is None or value.constant is not None:
            return None
        self.parent._settle(value)
        try:
            outer = self.parent.raw(value)
        except Unsupported:
            return None
        if self.parent.parent is None and value in self.parent.shared and outer.text.isidentifier():
            self.classes.shared.setdefault(value, outer.text)
        name = self.names.fresh(self.classes.shared.get(value, "x"))
        self.parameters.append((value, name))
        self.passed[name] = outer
        self.bind(value, Expression.name(name, outer.form))
        return self.values[value]

    def lookup(self, value: Value) -> Expression | None:
        """The expression of a value that was written before, here or around here."""
        known = self.values.get(value)
        if known is None and self.parent is not None and self.parent.lookup(value) is not None:
            return self._from_outside(value)
        return known

    def _node(self, node: Node) -> None:
        row = rows()[node.domain, node.op_type]
        if node.subgraphs:
            for value in node.captures():
                self._settle(value)
        self._settle_many(node)
        self.current = node
        op = TextMovement(self, node) if moves_text(node) else Operation(self, node)
        written = row.write(op)
        results = [written] if isinstance(written, Expression) else list(written or ())
        if isinstance(op, TextMovement):
            results = [None if each is None else op.picked(index, each) for index, each in enumerate(results)]
        target = node if op.absorbed is None else op.absorbed
        if op.absorbed is not None:
            self.done.add(op.absorbed)
            if node in self.layers:
                self.layers[op.absorbed] = self.layers[node]
        for value, result in zip(target.outputs, results):
            if result is not None and value.is_used and value not in self.values:
                self._give(value, result, row.impure or bool(node.subgraphs))

    def _settle_many(self, node: Node) -> None:
        """Give variables to operands whose expressions would make a line of this node that nobody can read."""
        waiting = {value: self.values[value] for value in node.inputs if value is not None and value in self.values}
        texts = {value: len(each.text) for value, each in waiting.items() if not each.simple}
        while len(texts) > 1 and sum(texts.values()) > TOGETHER:
            longest = max(texts, key=lambda value: texts[value])
            del texts[longest]
            self._settle(longest)

    def _give(self, value: Value, result: Expression, settled: bool) -> None:
        """Remember the expression of a value, in a variable unless it may stand where it is used."""
        graph = value.node.graph if value.node is not None else None
        uses = [user for user, _ in value.uses if self._is_here(user, graph)]
        inline = (
            not settled
            and len(uses) <= 1
            and all(_may_hold(user, graph, self.graph) for user in uses)
            and (len(uses) == 1) == (len(value.uses) == len(uses))
            and len(result.text) <= (INLINE if uses else RETURNED)
        )
        if result.simple or inline:
            self.bind(value, result)
            return
        name = self.names.fresh(self._variable(value))
        self._write_assignment(name, result, value)
        self.bind(value, Expression.name(name, result.form))

    def _is_here(self, user: Node | Graph, graph: Graph | None) -> bool:
        """Whether a use is in this function. What only others use goes straight into the return statement."""
        if self.parent is None:
            return True
        if not isinstance(user, Node):
            return user is not self.graph
        return user.graph is not graph or user in self.inside

    def _variable(self, value: Value) -> str:
        """A name for the variable; in regions the same for every repetition. Layers give theirs."""
        hint, source = value_hint(value, plain=self.parent is not None), moved_from(value)
        layer = self.layers.get(source) if source is not None else None
        return layer if layer is not None and (self.parent is not None or _is_numbered(hint, value)) else hint

    def _settle(self, value: Value) -> None:
        """Give a value a variable, if its expression is still waiting to be used."""
        known = self.values.get(value)
        if known is not None and not known.simple:
            name = self.names.fresh(self._variable(value))
            self._write_assignment(name, known, value)
            self.bind(value, Expression.name(name, known.form))

    def _write_assignment(self, name: str, result: Expression, value: Value | None) -> None:
        shown = value is not None and result.form is Form.tensor
        comment = shape_comment(value.tensor.shape, self.spell) if shown and value is not None else ""
        if shown and value is not None and self._is_lone_result(value):
            self.declared.add(name)
            self.statement(f"{name}: Tensor = {result.text}", comment)
            return
        self.statement(f"{name} = {result.text}", comment)

    def _is_lone_result(self, value: Value) -> bool:
        """Whether the function gives this value, and only this one as far as can be seen from it."""
        if self.parent is None:
            return len(self.graph.outputs) == 1 and value is self.graph.outputs[0]
        return any(user not in self.inside for user, _ in value.uses)

    def assign(self, hint: str, value: Expression) -> Expression:
        name = self.names.fresh(hint)
        self._write_assignment(name, value, None)
        return Expression.name(name, value.form)

    def unpack(self, node: Node, value: Expression, count: int) -> list[Expression | None]:
        names: list[str] = []
        results: list[Expression | None] = []
        for each in node.outputs[:count]:
            if each.is_used:
                names.append(self.names.fresh(self._variable(each)))
                results.append(Expression.name(names[-1]))
            else:
                names.append("_")
                results.append(None)
        names += ["_"] * (count - len(names))
        target = f"({names[0]},)" if count == 1 else ", ".join(names)
        self.statement(f"{target} = {value.text}")
        return results

    def apart(self, value: Expression, hints: Sequence[str | None]) -> list[Expression | None]:
        names = [None if hint is None else self.names.fresh(hint) for hint in hints]
        self.statement(f"{', '.join(name or '_' for name in names)} = {value.text}")
        return [None if name is None else Expression.name(name) for name in names]

    def closure(self, graph: Graph, hint: str, arguments: Sequence[str]) -> Expression:
        function = self.names.fresh(hint)
        names = [self.names.fresh(each) for each in arguments]
        with self.block(f"def {function}({', '.join(f'{name}: Tensor' for name in names)}) -> Tensor:"):
            results = self.body(graph, [Expression.name(name) for name in names])
            self.statement(f"return {results[0].text}")
        return Expression.name(function)

    def fresh(self, hint: str) -> str:
        return self.names.fresh(hint)

    def named(self, name: str) -> Expression:
        return Expression(name, simple=name.isidentifier())

    def body(self, graph: Graph, inputs: Sequence[Expression | None], number_first: bool = False) -> list[Expression]:
        for value, given in zip(graph.inputs, inputs):
            if given is not None:
                self.bind(value, given)
        self._nodes(list(graph))
        return [self.result(value) for value in graph.outputs]

    def finish(self, text: str) -> None:
        """End a region with its return statement, and give up parameters that nothing reads."""
        self.statement(text)
        mentioned = self.mentioned() | set(WORD.findall("\n".join(line.code for line in self.prologue())))
        self.parameters = [(value, name) for value, name in self.parameters if name in mentioned]
        self.plain = [name for name in self.plain if name in mentioned]
        self.passed = {name: given for name, given in self.passed.items() if name in mentioned}


def _may_hold(user: Node | Graph, graph: Graph | None, main: Graph) -> bool:
    """Whether an expression may wait for its use: a node beside it, or the end of the body that it stands in."""
    if isinstance(user, Node):
        return user.graph is graph and not user.subgraphs
    return user is graph and user is not main


def _is_numbered(hint: str, value: Value) -> bool:
    """Whether a hint only names the operator."""
    return hint == value_hint(value, plain=True)
