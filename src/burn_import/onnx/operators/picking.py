"""Operators that pick elements by index or condition, and those that write them there."""

from __future__ import annotations

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

UPDATES = {"none": "assign", "add": "add", "mul": "mul", "min": "min", "max": "max"}


def _counted(op: Operation, axis: int) -> Expression:
    """Indices along one dim; negative ones count from its end, which constants without any need not be told."""
    places = op.tensor(1)
    return places if _is_counted(op) else places.method("wrap_indices", op.size(0, axis))


def _is_counted(op: Operation) -> bool:
    known = op.constant(1)
    return known is not None and not (known < 0).any()


def _tuples(op: Operation, first: int = 0) -> tuple[Expression, Expression]:
    """The tensor, and tuples of indices that count in its dims from `first` on."""
    shape, rank = op.shape(1), op.known_rank()
    if _is_counted(op):
        return op.x, op.tensor(1)
    if shape and isinstance(shape[-1], int) and rank is not None and first + shape[-1] <= rank:
        sizes = [op.size(0, axis) for axis in range(first, first + shape[-1])]
        return op.x, op.tensor(1).method("wrap_indices", sizes)
    x, places = op.assign("x", op.x), op.assign("places", op.tensor(1))
    length = places.attribute("shape").item(-1)
    sizes_of_x = x.attribute("shape").part(first) if first else x.attribute("shape")
    return x, places.method("wrap_indices", sizes_of_x.part(None, length))


def _update(op: Operation) -> str:
    reduction = op.attribute("reduction", "none")
    if reduction not in UPDATES:
        raise op.refuse(f"reduction {reduction!r}")
    return UPDATES[reduction]


@operator("GatherND")
def gather_nd(op: Operation) -> Expression:
    batch = int(op.attribute("batch_dims", 0))
    x, places = _tuples(op, batch)
    return x.method("gather_nd_batched", places, *((batch,) if batch else ()))


@operator("ScatterElements")
def scatter_elements(op: Operation) -> Expression:
    axis = op.axis(default=0)
    return op.x.method("scatter", axis, _counted(op, axis), op.tensor(2), _update(op))


@operator("ScatterND")
def scatter_nd(op: Operation) -> Expression:
    x, places = _tuples(op)
    return x.method("scatter_nd", places, op.tensor(2), _update(op))


@operator("TensorScatter")
def tensor_scatter(op: Operation) -> Expression:
    """A cache of keys or values with new ones written into it, each batch at its own place."""
    circular = {"circular": True} if op.attribute("mode") == "circular" else {}
    return op.x.method("write_cache", op.tensor(1), op.optional(2), op.axis(default=-2), **circular)


@operator("Compress")
def compress(op: Operation) -> Expression:
    along = () if op.attribute("axis") is None else (op.axis(),)
    return op.x.method("compress", op.tensor(1), *along)


@operator("Unique")
def unique(op: Operation) -> list[Expression | None]:
    axis = None if op.attribute("axis") is None else op.axis()
    return op.unpack(op.x.method("unique", axis, op.flag("sorted"), ElementType.i64), 4)


@operator("ReverseSequence")
def reverse_sequence(op: Operation) -> Expression:
    time, batch = op.axis("time_axis", default=0), op.axis("batch_axis", default=1)
    return op.x.method("reverse_sequence", op.tensor(1), time, batch)


@operator("Hardmax")
def hardmax(op: Operation) -> Expression:
    return op.function("activation", "hardmax")(op.x, op.axis(default=-1))
