"""Names for fields and variables, out of what a file offers.

Exporters name weights after the modules they come from (`layer1.0.conv1.weight`) and nodes after the scopes they
were traced in (`/layer1/layer1.0/conv1/Conv`); both give the name of the layer. Names that a tool made up, such as
`onnx::MatMul_123`, say nothing and are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from burn_import.onnx.ir.graph import Graph, Node, Value
from burn_import.onnx.writer.names import snake

_AUTOMATIC = re.compile(r"^(onnx::.*|\d+|.*_output_\d+|val_\d+|t\d*|.*::.*|.*/.*|node_.*|tmp.*|_.*)$")
LAST_WORDS = {"weight", "bias", "kernel", "gamma", "beta", "running_mean", "running_var", "weights", "scale", "w", "b"}


def node_hint(node: Node, kind: str, weights: Sequence[Value] = ()) -> str:
    """The name of the layer that a node is, by its weights or by its own name."""
    for value in (*weights, *node.inputs):
        if value is not None and value.constant is not None:
            words = value.name.split(".")
            if len(words) > 1 and words[-1].lower() in LAST_WORDS:
                return _named("_".join(words[:-1]), kind)
    scopes = scope_of(node)
    if scopes:
        return _named("_".join(scopes), kind)
    if node.name and not _AUTOMATIC.match(node.name):
        return node.name
    return kind


def _named(path: str, kind: str) -> str:
    """A path that begins with a number says too little alone."""
    return f"{kind}_{path}" if path[:1].isdigit() else path


def scope_of(node: Node) -> list[str]:
    """The scopes of a node name such as `/layer1/layer1.0/conv1/Conv`: layer1.0 and conv1."""
    if not node.name.startswith("/"):
        return []
    scopes: list[str] = []
    for part in node.name.split("/")[1:-1]:
        if scopes and (part == scopes[-1] or part.startswith(scopes[-1] + ".")):
            scopes.pop()
        scopes.append(part)
    return scopes


def constant_hint(value: Value) -> str:
    """The name of a parameter or table."""
    if _AUTOMATIC.match(value.name) or not snake(value.name):
        return "weight" if value.tensor.dtype is not None and value.tensor.dtype.is_float else "table"
    return value.name


def relative(hint: str, scope: tuple[str, ...]) -> str:
    """A name without the scope of the class it stands in."""
    name, prefix = snake(hint, longest=None), snake("_".join(scope), longest=None)
    if prefix and name.startswith(f"{prefix}_"):
        return name[len(prefix) + 1 :]
    return hint


def value_hint(value: Value, *, plain: bool = False) -> str:
    """The name of a variable; `plain` ones come from the operator alone."""
    if plain:
        return value.node.op_type if value.node is not None else "value"
    for user, index in value.uses:
        if isinstance(user, Graph):
            return user.output_names[index] if not _AUTOMATIC.match(user.output_names[index]) else "result"
    if not _AUTOMATIC.match(value.name) and len(snake(value.name)) <= 24 and snake(value.name):
        return value.name
    return value.node.op_type if value.node is not None else "value"
