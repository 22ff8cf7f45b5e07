"""Pairs of quantisation: what is read as floats and stored again in the same steps was there already."""

from __future__ import annotations

import numpy as np

from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.passes.patterns.matching import Found, Pattern, made_by

_EXACT = (ElementType.i8, ElementType.u8, ElementType.i4, ElementType.u4)


class QuantizedPair(Pattern):
    """QuantizeLinear behind DequantizeLinear with the same scale and zero point gives what went in.

    Integers of up to 8 bits survive a product with a float and a division by it.
    """

    name = "quantised pair"
    roots = ("QuantizeLinear",)

    def match(self, node: Node) -> Found | None:
        first = made_by(node.input(0), "DequantizeLinear")
        if first is None or first.attributes.get("block_size", 0) or node.attributes.get("block_size", 0):
            return None
        source = first.input(0)
        dtype = None if source is None else source.tensor.dtype
        if source is None or dtype not in _EXACT or node.output.tensor.dtype is not dtype:
            return None
        rank = None if first.input(1) is None else first.inputs[1].tensor.rank  # type: ignore[union-attr]
        if rank != 0 and first.attributes.get("axis", 1) != node.attributes.get("axis", 1):
            return None
        if not all(_is_same(first.input(index), node.input(index)) for index in (1, 2)):
            return None
        return Found("Identity", [source])


def _is_same(one: Value | None, two: Value | None) -> bool:
    if one is two:
        return True
    if one is None or two is None or one.constant is None or two.constant is None:
        return False
    same = one.constant.type == two.constant.type
    return same and bool(np.array_equal(one.constant.array, two.constant.array))


PATTERNS = (QuantizedPair,)
