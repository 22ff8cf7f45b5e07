"""Rules of sequences and optional values."""

from __future__ import annotations

from burn_import.onnx.ir.types import ElementType, OptionalType, SequenceType, TensorType
from burn_import.onnx.passes.infer import sizes
from burn_import.onnx.passes.infer.context import Inference, rule
from burn_import.onnx.passes.infer.merging import merge_types


@rule("OptionalHasElement")
def has_element(op: Inference) -> None:
    op.set((), dtype=ElementType.bool_)


@rule("OptionalGetElement")
def get_element(op: Inference) -> None:
    given = op.type(0)
    op.set_type(given.element if isinstance(given, OptionalType) else given)


@rule("Optional")
def optional(op: Inference) -> None:
    op.set_type(OptionalType(op.type(0) if op.has(0) else op.attribute("type")))


@rule("SequenceConstruct")
def sequence_construct(op: Inference) -> None:
    element = op.type(0)
    for index in range(1, len(op.node.inputs)):
        element = merge_types(element, op.type(index))
    op.set_type(SequenceType(element))


@rule("SequenceEmpty")
def sequence_empty(op: Inference) -> None:
    """An empty sequence says nothing about its elements; what is put into it does."""
    op.set_type(SequenceType(None))


@rule("SequenceInsert")
def sequence_insert(op: Inference) -> None:
    given = op.type(0)
    element = given.element if isinstance(given, SequenceType) else None
    op.set_type(SequenceType(op.type(1) if element is None else merge_types(element, op.type(1))))


@rule("SequenceErase")
def sequence_erase(op: Inference) -> None:
    op.set_type(op.type(0))


@rule("SequenceAt")
def sequence_at(op: Inference) -> None:
    given = op.type(0)
    op.set_type(given.element if isinstance(given, SequenceType) else None)


@rule("SequenceLength")
def sequence_length(op: Inference) -> None:
    op.set((), dtype=ElementType.i64)


@rule("ConcatFromSequence")
def concat_from_sequence(op: Inference) -> None:
    given = op.type(0)
    element = given.element if isinstance(given, SequenceType) else None
    if not isinstance(element, TensorType):
        return
    shape = element.shape
    if shape is not None:
        rank = len(shape) + (1 if op.attribute("new_axis", 0) else 0)
        axis = sizes.normalise(op.attribute("axis"), rank)
        rest = list(shape) if op.attribute("new_axis", 0) else [*shape[:axis], *shape[axis + 1 :]]
        shape = (*rest[:axis], None, *rest[axis:])
    op.set(shape, dtype=element.dtype)


@rule("SplitToSequence")
def split_to_sequence(op: Inference) -> None:
    shape = op.shape(0)
    if shape is not None:
        axis = op.axis(len(shape))
        if op.has(1):
            parts = op.ints(1)
            size = parts[0] if parts and op.rank(1) == 1 and len(set(parts)) == 1 else None
            shape = (*shape[:axis], size, *shape[axis + 1 :])
        elif op.attribute("keepdims", 1):
            shape = (*shape[:axis], 1, *shape[axis + 1 :])
        else:
            shape = (*shape[:axis], *shape[axis + 1 :])
    op.set_type(SequenceType(TensorType(op.dtype(0), shape)))
