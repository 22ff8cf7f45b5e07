"""Rotary positions written as arithmetic: `x * cos + turned(x) * sin`, where both tables repeat their first half."""

from __future__ import annotations

from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.passes.infer.context import content_of
from burn_import.onnx.passes.patterns.matching import Found, Pattern, insert, made_by, orders, step


class Rotary(Pattern):
    """Halves that are turned by cosines and sines of angles are RotaryEmbedding.

    The tables of that operator have one column for two features, so the angles must be seen to repeat.
    """

    name = "rotary"
    roots = ("Add",)

    def match(self, node: Node) -> Found | None:
        for one, two in orders(node):
            straight, across = step(one, "Mul"), step(two, "Mul")
            if straight is None or across is None:
                continue
            for x, cosine in orders(straight):
                for turned, sine in orders(across):
                    if not _is_turned(turned, x):
                        continue
                    angles = _angles(cosine, "Cos", x)
                    if angles is not None and angles is _angles(sine, "Sin", x) and node.graph is not None:
                        tables = [_table(node, name, angles) for name in ("Cos", "Sin")]
                        return Found("RotaryEmbedding", [x, *tables], {"interleaved": 0, "rotary_embedding_dim": 0})
        return None


def _is_turned(value: Value, x: Value) -> bool:
    """Whether a value is (-second half, first half) of x along the last of four dims."""
    node = step(value, "Concat")
    if node is None or len(node.inputs) != 2 or x.tensor.rank != 4 or node.attributes.get("axis") not in (-1, 3):
        return False
    negative, first = step(node.input(0), "Neg"), node.input(1)
    if negative is None:
        return False
    return _is_half(first, x, 0) and _is_half(negative.input(0), x, 1)


def _is_half(value: Value | None, x: Value, which: int) -> bool:
    node = None if value is None else value.node
    size = None if x.tensor.shape is None else x.tensor.shape[-1]
    half = None if value is None or value.tensor.shape is None else value.tensor.shape[-1]
    if node is None or node.domain or node.input(0) is not x or not isinstance(size, int) or half != size // 2:
        return False
    if node.op_type == "Split":
        return value is node.outputs[which] and node.attributes.get("axis") in (-1, 3) and len(node.outputs) == 2
    if node.op_type != "Slice":
        return False
    start, _, axes, steps = (_ints(node.input(index)) for index in (1, 2, 3, 4))
    return axes in ([-1], [3]) and steps in (None, [1]) and start == [which * size // 2]


def _ints(value: Value | None) -> list[int] | None:
    content = None if value is None else content_of(value)
    return None if content is None else list(content.reshape(-1).tolist())


def _angles(value: Value, name: str, x: Value) -> Value | None:
    """f of `cos(concat(f, f))`, with dims in front, where its positions are those of x."""
    shape, wanted = value.tensor.shape, x.tensor.shape
    inner: Value | None = value
    while made_by(inner, "Unsqueeze") is not None and inner is not None and inner.node is not None:
        inner = inner.node.input(0)
    function = made_by(inner, name)
    doubled = None if function is None else made_by(function.input(0), "Concat")
    if doubled is None or len(doubled.inputs) != 2 or doubled.inputs[0] is not doubled.inputs[1]:
        return None
    angles = doubled.inputs[0]
    known = None if angles is None else angles.tensor.shape
    if known is None or shape is None or wanted is None or len(known) not in (2, 3) or len(shape) != 4:
        return None
    if doubled.attributes.get("axis") not in (-1, len(known) - 1) or shape[1] != 1 or shape[2] != wanted[2]:
        return None
    batch = known[0] if len(known) == 3 else 1
    return angles if shape[0] == batch and known[-2] == wanted[2] and None not in known else None


def _table(node: Node, name: str, angles: Value) -> Value:
    """A table (batch or 1, positions, half) in front of a node."""
    assert node.graph is not None
    made = insert(node.graph, node, name, [angles]).output
    made.type = angles.type
    made.name = node.graph.names.fresh(name.lower())
    shape = angles.tensor.shape
    assert shape is not None
    if len(shape) == 3:
        return made
    wide = insert(node.graph, node, "Unsqueeze", [made, Constant.of([0])]).output
    wide.type = angles.tensor.with_shape((1, *shape))
    return wide


PATTERNS = (Rotary,)
