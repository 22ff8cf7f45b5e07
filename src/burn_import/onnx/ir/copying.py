"""Copies of nodes and graphs, with values mapped to others."""

from __future__ import annotations

from collections.abc import Callable

from burn_import.onnx.ir.graph import Attribute, Graph, Node, Value

Bind = Callable[[Attribute], Attribute]


def copy_nodes(
    source: Graph,
    target: Graph,
    values: dict[Value, Value | None],
    *,
    before: Node | None = None,
    bind: Bind = lambda attribute: attribute,
) -> None:
    """Copy constants and nodes of `source` into `target`. `values` maps what is already there and gains the rest.

    `bind` sees every attribute; one that it turns into None is left out.
    """
    for old in source.constants:
        assert old.constant is not None
        values[old] = target.add_constant(old.constant, old.name)
    for node in source:
        copy_node(node, target, values, before=before, bind=bind)


def copy_node(
    node: Node,
    target: Graph,
    values: dict[Value, Value | None],
    *,
    before: Node | None = None,
    bind: Bind = lambda attribute: attribute,
) -> Node:
    """Copy one node into `target`; `values` gains its outputs."""
    made = Node(
        node.op_type,
        [None if value is None else values.get(value, value) for value in node.inputs],
        [target.names.fresh(value.name) for value in node.outputs],
        domain=node.domain,
        version=node.version,
        name=node.name,
        overload=node.overload,
    )
    made.scope, made.kinds = node.scope, node.kinds
    for old, new in zip(node.outputs, made.outputs):
        new.type, new.declared, new.content = old.type, old.declared, old.content
        values[old] = new
    for name, attribute in node.attributes.items():
        value = _copy_attribute(bind(attribute), target, values, bind)
        if value is not None:
            made.attributes[name] = value
    return target.insert(made, before=before)


def copy_graph(
    source: Graph, names_of: Graph, values: dict[Value, Value | None], bind: Bind = lambda attribute: attribute
) -> Graph:
    """A copy of a body, sharing the name supply of `names_of`; captured values are mapped or kept."""
    made = Graph(source.name, names_of.names)
    for old in source.inputs:
        new = made.add_input(made.names.fresh(old.name), old.type)
        new.declared = old.declared
        values[old] = new
    copy_nodes(source, made, values, bind=bind)
    for value, declared, name in zip(source.outputs, source.declared_outputs, source.output_names):
        mapped = values.get(value, value)
        assert mapped is not None
        made.add_output(mapped, declared, name)
    return made


def _copy_attribute(attribute: Attribute, target: Graph, values: dict[Value, Value | None], bind: Bind) -> Attribute:
    if isinstance(attribute, Graph):
        return copy_graph(attribute, target, values, bind)
    if isinstance(attribute, tuple) and attribute and isinstance(attribute[0], Graph):
        return tuple(copy_graph(each, target, values, bind) for each in attribute)
    return attribute
