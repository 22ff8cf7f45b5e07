"""Names for fields and variables, out of what a file offers.

Exporters name weights after the modules they come from (`layer1.0.conv1.weight`) and nodes after the scopes they
were traced in (`/layer1/layer1.0/conv1/Conv`); both give the name of the layer. Names that a tool made up, such as
`onnx::MatMul_123`, say nothing and are not used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from burn_import.onnx.code.names import snake
from burn_import.onnx.ir.graph import Graph, Node, Value

_AUTOMATIC = re.compile(r"^(onnx::.*|\d+|.*_output_\d+|val_\d+|t\d*|.*::.*|.*/.*|node_.*|tmp.*|_.*)$")
_PATH = re.compile(r"^[A-Za-z]\w*(\.\w+)*$", re.ASCII)
LAST_WORDS = {"weight", "bias", "kernel", "gamma", "beta", "running_mean", "running_var", "weights", "scale", "w", "b"}


def is_path(name: str) -> bool:
    """Whether a name is the path of a parameter, `layer.0.gamma` or `logit_scale`, not one that a tool made up."""
    if _AUTOMATIC.match(name) or not _PATH.match(name):
        return False
    words = name.split(".")
    return (len(words) > 1 and not words[-1].isdigit()) or name.split("_")[-1].lower() in LAST_WORDS - {"w", "b"}


def node_hint(node: Node, kind: str, weights: Sequence[Value] = ()) -> str:
    """The name of the layer that a node is, by its weights or by its own name."""
    for value in (*weights, *node.inputs):
        if value is not None and value.constant is not None:
            words = value.name.split(".")
            if len(words) > 1 and words[-1].lower() in LAST_WORDS:
                return _named(".".join(words[:-1]), kind)
    scopes = scope_of(node)
    if scopes:
        return _named(".".join(scopes), kind)
    if node.name and not _AUTOMATIC.match(node.name):
        return node.name
    return kind


def _named(path: str, kind: str) -> str:
    """A path that begins with a number says too little alone."""
    return f"{kind}_{path}" if path[:1].isdigit() else path


def scope_of(node: Node) -> list[str]:
    """The scopes of a node: those its file tells, or those of a name such as `/layer1/layer1.0/conv1/Conv`, which
    are layer1.0 and conv1."""
    if node.scope:
        return list(node.scope)
    if not node.name.startswith("/"):
        return []
    return nested(node.name.split("/")[1:-1])


def nested(paths: Sequence[str]) -> list[str]:
    """Scopes without those that the next one repeats: layer1, layer1.0 is layer1.0 alone."""
    scopes: list[str] = []
    for part in paths:
        if scopes and (part == scopes[-1] or part.startswith(scopes[-1] + ".")):
            scopes.pop()
        scopes.append(part)
    return scopes


_QUANTIZED = ("DequantizeLinear", "QuantizeLinear")
_ROLES = {1: "weight", 2: "bias"}
_WEIGHTED = {"Conv", "ConvTranspose", "Gemm", "MatMul"}


def only_user(node: Node) -> Node | None:
    """The node of the same graph that alone uses what a node without bodies gives."""
    users = [user for value in node.outputs for user, _ in value.uses]
    if node.subgraphs or len(users) != 1 or not isinstance(users[0], Node) or users[0].graph is not node.graph:
        return None
    return users[0]


def is_prepared_weight(value: Value) -> bool:
    """Whether a value is a weight that the file keeps in steps of a scale."""
    node = value.node
    return (
        node is not None
        and node.op_type == "DequantizeLinear"
        and all(each is None or each.constant is not None for each in node.inputs)
    )


def _role(value: Value) -> str:
    """What a weight of a layer is to it."""
    for user, index in value.uses:
        if isinstance(user, Node) and user.op_type in _WEIGHTED and index in _ROLES:
            return _ROLES[index]
    return "weight"


def is_scale(value: Value) -> bool:
    """Whether a constant is the scale of a quantisation."""
    return any(isinstance(user, Node) and user.op_type in _QUANTIZED and index == 1 for user, index in value.uses)


def _quantized_hint(value: Value) -> str | None:
    """The name of a part of a quantised weight, or of the scale or zero point of a result."""
    for user, index in value.uses:
        if isinstance(user, Node) and user.op_type in _QUANTIZED:
            part = ("", "scale", "zero_point")[index]
            if not is_prepared_weight(user.outputs[0]):
                return part or None
            return "_".join(word for word in (_role(user.outputs[0]), part or "steps") if word)
    return None


def constant_hint(value: Value, *, plain: bool = False) -> str:
    """The name of a parameter or table; `plain` ones come from what it is for, or the element type."""
    if plain or _AUTOMATIC.match(value.name) or not snake(value.name):
        part = _quantized_hint(value)
        if part is not None:
            return part
    if plain or _AUTOMATIC.match(value.name) or not snake(value.name):
        return "weight" if value.tensor.dtype is not None and value.tensor.dtype.is_float else "table"
    return value.name


def relative(hint: str, scope: tuple[str, ...]) -> str:
    """A name without the scope of the class it stands in; of a name from another scope the last word is kept."""
    name, prefix = snake(hint, longest=None), snake("_".join(scope), longest=None)
    if prefix and name == prefix:
        return ""
    if prefix and name.startswith(f"{prefix}_"):
        return name[len(prefix) + 1 :]
    return hint.rpartition(".")[2] if prefix else hint


_MOVES = {"Reshape", "Transpose", "Unsqueeze", "Squeeze", "Expand", "Cast", "Flatten", "Identity", "Slice"}
_RESULTS = {
    "DynamicQuantizeLinear": ("quantized", "scale", "zero_point"),
    "QuantizeLinear": ("quantized",),
    "DequantizeLinear": ("floats",),
    "TopK": ("values", "indices"),
    "LSTM": ("lstm", "hidden", "cell"),
    "GRU": ("gru", "hidden"),
    "RNN": ("rnn", "hidden"),
    "MaxPool": ("max_pool", "indices"),
    "BatchNormalization": ("norm", "mean", "variance"),
    "LayerNormalization": ("norm", "mean", "inverse"),
    "RMSNormalization": ("norm",),
    "InstanceNormalization": ("norm",),
    "GroupNormalization": ("norm",),
    "ConstantOfShape": ("filled",),
    "If": ("chosen",),
    "Loop": ("carried",),
    "Trilu": ("triangle",),
    "Range": ("positions",),
}
_NUMBERED = re.compile(r"^(\w+?)_\d+$")


def value_hint(value: Value, *, plain: bool = False) -> str:
    """The name of a variable; `plain` ones come from the operator alone."""
    if plain:
        return _operation(value)
    for user, index in value.uses:
        if isinstance(user, Graph):
            return user.output_names[index] if not _AUTOMATIC.match(user.output_names[index]) else "result"
    if not _AUTOMATIC.match(value.name) and len(snake(value.name)) <= 24 and snake(value.name):
        return _operation(value) if _NUMBERED.match(value.name) and value.node is not None else value.name
    return _operation(value)


def _operation(value: Value) -> str:
    """What a value was computed by; changes of shape and type are looked through."""
    source: Value | None = value
    while source is not None and source.node is not None and source.node.op_type in _MOVES:
        source = source.node.input(0)
    if source is None or source.node is None or source.node.op_type in ("Split", "Gather", "Concat"):
        source = value
    node = source.node
    if node is None:
        return "value"
    if is_prepared_weight(source):
        return _role(source)
    names = _RESULTS.get(node.op_type, ())
    return names[source.index] if source.index < len(names) else node.op_type


def moved_from(value: Value) -> Node | None:
    """The node that a value comes from, through changes of shape and type."""
    source: Value | None = value
    while source is not None and source.node is not None and source.node.op_type in _MOVES:
        source = source.node.input(0)
    return None if source is None else source.node
