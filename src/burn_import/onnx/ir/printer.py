"""A model as text: one line a node, bodies indented, types behind the results. For people, logs and snapshots.

model opset 17, 3 values known
graph main(%x: f32[batch, 784]) -> (%y: f32[batch, 10])
  %w: f32[784, 10] constant
  %h: f32[batch, 10] = Gemm.13(%x, %w, transB=0)
"""

from __future__ import annotations

from collections.abc import Iterator

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Attribute, Graph, Node, Reference, Value
from burn_import.onnx.ir.model import Model
from burn_import.onnx.ir.numbers import Numbers

SHOWN = 8  # elements of a list or constant


def to_text(model: Model) -> str:
    """The whole model."""
    opsets = ", ".join(f"{domain or 'ai.onnx'} {version}" for domain, version in model.opset_imports.items())
    lines = [f"model of {model.producer_name or 'unknown producer'}, opset {opsets}"]
    lines += graph_lines(model.graph, "graph")
    for function in model.functions.values():
        lines += graph_lines(function.body, f"function {function.domain}.")
    return "\n".join(lines) + "\n"


def graph_to_text(graph: Graph) -> str:
    return "\n".join(graph_lines(graph, "graph")) + "\n"


def graph_lines(graph: Graph, title: str, indent: str = "") -> Iterator[str]:
    inputs = ", ".join(_typed(value) for value in graph.inputs)
    outputs = ", ".join(
        f"%{value.name}" if value.name == name else f"{name}=%{value.name}"
        for value, name in zip(graph.outputs, graph.output_names)
    )
    space = "" if title.endswith(".") else " "
    yield f"{indent}{title}{space}{graph.name}({inputs}) -> ({outputs})"
    for value in graph.constants:
        assert value.constant is not None
        yield f"{indent}  %{value.name} = constant {_constant(value.constant)}"
    for node in graph:
        yield f"{indent}  {node_to_text(node)}"
        for name, body in node.subgraphs.items():
            yield from graph_lines(body, f"{name}:", indent + "    ")


def node_to_text(node: Node) -> str:
    """One node on one line; bodies are named only."""
    outputs = ", ".join(_typed(value) for value in node.outputs)
    arguments = ["-" if value is None else f"%{value.name}" for value in node.inputs]
    arguments += [f"{name}={_attribute(value)}" for name, value in sorted(node.attributes.items())]
    return f"{outputs} = {node.operator}.{node.version}({', '.join(arguments)})"


def _typed(value: Value) -> str:
    known = "" if value.content is None else f" = {_content(value)}"
    return f"%{value.name}: {'?' if value.type is None else value.type}{known}"


def _content(value: Value) -> str:
    assert value.content is not None
    elements = value.content.reshape(-1).tolist()
    shown = ", ".join("?" if each is None else str(each) for each in elements[:SHOWN])
    more = ", ..." if len(elements) > SHOWN else ""
    return f"[{shown}{more}]" if value.content.ndim else shown


def _constant(constant: Constant) -> str:
    if constant.size > SHOWN:
        return f"{constant.type} ..."
    return f"{constant.type} {constant.array.tolist()}"


def _attribute(value: Attribute) -> str:
    if isinstance(value, Constant):
        return f"<{_constant(value)}>"
    if isinstance(value, Graph):
        return "{...}"
    if isinstance(value, Reference):
        return f"@{value.name}"
    if isinstance(value, tuple | Numbers):
        shown = ", ".join(_attribute(each) for each in value[:SHOWN])
        return f"[{shown}{', ...' if len(value) > SHOWN else ''}]"
    if isinstance(value, str | bytes | int | float):
        return repr(value)
    return str(value)
