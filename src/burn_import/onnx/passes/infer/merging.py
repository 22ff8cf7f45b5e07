"""Types of values that come from one of several places: branches, rounds of a loop, elements of a sequence."""

from __future__ import annotations

from burn_import.onnx.ir.types import OptionalType, SequenceType, TensorType, Type
from burn_import.onnx.passes.infer import sizes


def merge_types(left: Type | None, right: Type | None) -> Type | None:
    """What holds for a value that may be of either type."""
    if left == right:
        return left
    if isinstance(left, TensorType) and isinstance(right, TensorType):
        dtype = left.dtype if left.dtype is right.dtype or right.dtype is None else right.dtype
        return TensorType(dtype, sizes.merge_shapes(left.shape, right.shape))
    if isinstance(left, SequenceType) and isinstance(right, SequenceType):
        if left.element is None or right.element is None:
            return left if right.element is None else right
        return SequenceType(merge_types(left.element, right.element))
    if isinstance(left, OptionalType) or isinstance(right, OptionalType):
        inner = [each.element if isinstance(each, OptionalType) else each for each in (left, right)]
        if inner[0] is None or inner[1] is None:
            return OptionalType(inner[0] or inner[1])
        return OptionalType(merge_types(inner[0], inner[1]))
    return left if right is None else (right if left is None else None)
