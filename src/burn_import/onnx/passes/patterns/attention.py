"""Attention written as two products around a softmax."""

from __future__ import annotations

from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.passes.patterns.matching import (
    Found,
    Pattern,
    factors,
    insert,
    is_close,
    is_step,
    made_by,
    number,
    orders,
    step,
)

_MOVEMENT = {"Unsqueeze", "Squeeze", "Reshape", "Transpose", "Expand", "Slice", "Identity", "Flatten"}
_FINITE = {"Add", "Sub", "Mul", "Concat", "Where", "Neg", "Not", "Equal", "Less", "Greater", "And", "Or"}


class Attention(Pattern):
    """`softmax(q @ k.T * scale + mask) @ v` is Attention, where heads and lengths are those of all three.

    A mask must be finite for certain: with minus infinities a query may see nothing at all, and what comes out then
    is not a number here and nought there.
    """

    name = "attention"
    roots = ("MatMul",)

    def match(self, node: Node) -> Found | None:
        shares, value = step(node.input(0), "Softmax"), node.input(1)
        rank = node.output.tensor.rank
        if shares is None or value is None or rank != 4 or shares.attributes.get("axis", -1) not in (-1, 3):
            return None
        scores, mask = shares.input(0), None
        if scores is None:
            return None
        addition = step(scores, "Add")
        if addition is not None:
            for one, two in orders(addition):
                if _product(one) is not None and _is_mask(two, scores):
                    scores, mask = one, two
                    break
            else:
                return None
        found = _product(scores)
        if found is None or not is_step(scores):
            return None
        product, scale = found
        left, right = product.inputs
        assert left is not None
        assert right is not None
        query_scale, query = _scaled(left)
        key_scale, key = _scaled(right)
        if node.graph is None or not _fits(query, key, value):
            return None
        straight = _straight(node, key)
        if straight is None:
            return None
        shape = query.tensor.shape
        assert shape is not None
        total = scale * query_scale * key_scale
        attributes = {} if isinstance(shape[3], int) and is_close(total, shape[3] ** -0.5) else {"scale": total}
        return Found("Attention", [query, straight, value, mask], attributes)


def _straight(node: Node, key: Value) -> Value | None:
    """Keys before they were turned, (batch, heads, length, size)."""
    folded = made_by(key, "Reshape")
    if folded is not None:  # turned with batch and heads folded into one
        turned = made_by(folded.input(0), "Transpose")
        unfolded = None if turned is None else made_by(turned.input(0), "Reshape")
        source = None if unfolded is None else unfolded.input(0)
        shape, wanted = None if source is None else source.tensor.shape, key.tensor.shape
        if turned is None or turned.attributes.get("perm") != (0, 2, 1) or shape is None or wanted is None:
            return None
        middle = turned.output.tensor.shape
        if middle is None or len(shape) != 4 or middle[1:] != wanted[2:]:
            return None
        return source if (*wanted[:2], wanted[3], wanted[2]) == shape else None
    turned = made_by(key, "Transpose")
    order = [] if turned is None else list(turned.attributes.get("perm") or ())
    if turned is None or len(order) != 4 or node.graph is None:
        return None
    order[2], order[3] = order[3], order[2]
    if order == [0, 1, 2, 3]:
        return turned.input(0)
    made = insert(node.graph, node, "Transpose", [turned.input(0)], {"perm": tuple(order)})
    shape = key.tensor.shape
    assert shape is not None
    made.output.type = key.tensor.with_shape((*shape[:2], shape[3], shape[2]))
    return made.output


def _product(value: Value) -> tuple[Node, float] | None:
    """The product of matrices behind scores, and the number they were multiplied by."""
    coefficient, parts = factors(value)
    node = made_by(parts[0], "MatMul") if len(parts) == 1 else None
    if node is None or not (is_step(parts[0]) or parts[0] is value):
        return None
    return node, coefficient


def _scaled(value: Value) -> tuple[float, Value]:
    """A number and the tensor that it scales, where nobody else uses the product."""
    if not is_step(value):
        return 1.0, value
    coefficient, parts = factors(value)
    return (coefficient, parts[0]) if len(parts) == 1 else (1.0, value)


def _fits(query: Value, key: Value, value: Value) -> bool:
    """Whether batch, heads and lengths are the same, so that nothing is repeated on the way."""
    one, two, three = query.tensor.shape, key.tensor.shape, value.tensor.shape
    if one is None or two is None or three is None or not len(one) == len(two) == len(three) == 4:
        return False
    if None in (*one, *two, *three):
        return False
    return one[:2] == two[:2] == three[:2] and one[3] == two[2] and two[3] == three[2]


def _is_mask(value: Value, scores: Value) -> bool:
    """Whether a value is as long as the keys and finite."""
    mask, wanted = value.tensor.shape, scores.tensor.shape
    if not mask or not wanted or not 2 <= len(mask) <= 4 or mask[-1] is None or mask[-1] != wanted[-1]:
        return False
    return value.tensor.dtype is scores.tensor.dtype and _is_finite(value, 12)


def _is_finite(value: Value, depth: int) -> bool:
    """Whether a value is finite whatever the inputs are: integers, and sums and products of them with numbers."""
    dtype = value.tensor.dtype
    if dtype is not None and not dtype.is_float:
        return True
    if value.constant is not None:
        return value.constant.size <= 1 << 16 and bool((abs(value.constant.array) < 3.4e38).all())
    node = value.node
    if node is None or node.domain or depth == 0:
        return False
    if node.op_type == "Cast":
        source = node.input(0)
        return source is not None and _is_finite(source, depth - 1)
    if node.op_type in _MOVEMENT:
        source = node.input(0)
        return source is not None and _is_finite(source, depth - 1)
    if node.op_type == "Mul" and not any(_is_small(each) for each in node.inputs if each is not None):
        return False
    return node.op_type in _FINITE and all(each is None or _is_finite(each, depth - 1) for each in node.inputs)


def _is_small(value: Value) -> bool:
    """Whether one side of a product is a difference or cast of integers, so that the product stays in range."""
    if number(value) is not None:
        return True
    node = made_by(value, "Cast", "Sub")
    return node is not None


PATTERNS = (Attention,)
