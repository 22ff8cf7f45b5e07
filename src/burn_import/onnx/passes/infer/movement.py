"""Rules of operators that move, cut, join and pick elements. Most of them also carry contents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from burn import dim as dims
from burn.dim import Dim
from burn_import.onnx.ir.types import ElementType, Shape, Size
from burn_import.onnx.passes.infer import content, sizes
from burn_import.onnx.passes.infer.context import CONTENT_LIMIT, Inference, empty_content, rule


@rule("Shape")
def shape_of(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        op.set((None,), dtype=ElementType.i64)
        return
    part = shape[slice(op.attribute("start", 0), op.attribute("end"))]
    made = empty_content((len(part),))
    made[:] = part
    op.set((len(part),), dtype=ElementType.i64, content=made)


@rule("Size")
def size_of(op: Inference) -> None:
    shape = op.shape(0)
    made = empty_content(())
    made[()] = None if shape is None else sizes.product(shape)
    op.set((), dtype=ElementType.i64, content=made)


@rule("Reshape")
def reshape(op: Inference) -> None:
    target = op.elements(1)
    if target is None:
        count = op.size(1, 0)
        op.set(sizes.unknown(count))
        return
    given = op.shape(0)
    zero_is_zero = op.attribute("allowzero", 0)
    result: list[Size] = []
    open_axis: int | None = None
    for axis, size in enumerate(target):
        if type(size) is int and size == -1:
            open_axis = axis
            result.append(None)
        elif type(size) is int and size == 0 and not zero_is_zero:
            result.append(given[axis] if given is not None and axis < len(given) else None)
        else:
            result.append(size)
    if open_axis is not None and given is not None:
        result[open_axis] = _remaining(given, [size for axis, size in enumerate(result) if axis != open_axis])
    elif given is not None and result.count(None) == 1:
        # one size is unknown where the number of elements tells it
        where = result.index(None)
        result[where] = _remaining(given, [size for axis, size in enumerate(result) if axis != where])
    op.set(result)
    known = op.content(0)
    numbers = [size for size in result if isinstance(size, int)]
    if known is not None and len(numbers) == len(result):
        op.set_content(known.reshape(numbers))


def _remaining(given: Shape, others: Sequence[Size]) -> Size:
    """What is left of the elements of `given` when `others` took their share."""
    left, right = list(given), list(others)
    for size in list(right):  # sizes on both sides cancel, known or not by number
        if size is not None and size in left and not (type(size) is int and size == 0):
            left.remove(size)
            right.remove(size)
    total, share = sizes.product(left), sizes.product(right)
    if total is None or share is None or (type(share) is int and share == 0):
        return None
    exact = sizes.calculate(dims.divides, total, share)
    return exact if exact is not None else sizes.floor_divide(total, share)


@rule("Flatten")
def flatten(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        op.set((None, None))
        return
    axis = op.axis(len(shape), default=1)
    op.set((sizes.product(shape[:axis]), sizes.product(shape[axis:])))


@rule("Transpose")
def transpose(op: Inference) -> None:
    shape = op.shape(0)
    order = op.attribute("perm")
    if shape is None:
        op.set((None,) * len(order) if order else None)
        return
    order = order if order is not None else tuple(reversed(range(len(shape))))
    op.set(tuple(shape[axis] for axis in order))
    known = op.content(0)
    if known is not None:
        op.set_content(known.transpose(order))


@rule("Unsqueeze")
def unsqueeze(op: Inference) -> None:
    shape, axes = op.shape(0), op.ints(1)
    if shape is None or axes is None:
        count = op.size(1, 0)
        op.set(sizes.unknown(sizes.add(len(shape), count)) if shape is not None else None)
        return
    rank = len(shape) + len(axes)
    places = {sizes.normalise(axis, rank) for axis in axes}
    rest = iter(shape)
    op.set([1 if axis in places else next(rest) for axis in range(rank)])
    known = op.content(0)
    if known is not None:
        op.set_content(np.expand_dims(known, tuple(places)))


@rule("Squeeze")
def squeeze(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        return
    if op.has(1):
        axes = op.ints(1)
        if axes is None:
            return
        places = {sizes.normalise(axis, len(shape)) for axis in axes}
    elif any(isinstance(size, Dim) or size is None for size in shape):
        return  # which sizes are 1 shows only when the model runs
    else:
        places = {axis for axis, size in enumerate(shape) if size == 1}
    op.set([size for axis, size in enumerate(shape) if axis not in places])
    known = op.content(0)
    if known is not None:
        op.set_content(np.squeeze(known, tuple(places)))


@rule("Concat")
def concat(op: Inference) -> None:
    shapes = [op.shape(index) for index in range(len(op.node.inputs))]
    ranked = [shape for shape in shapes if shape is not None]
    if not ranked:
        return
    rank = len(ranked[0])
    axis = op.axis(rank)
    result: list[Size] = []
    for place in range(rank):
        found = [shape[place] for shape in ranked if place < len(shape)]
        if place == axis:
            result.append(sizes.add(*found) if len(ranked) == len(shapes) else None)
        else:
            numbers = [size for size in found if type(size) is int]
            result.append(numbers[0] if numbers else found[0])
    op.set(result)
    if rank == 1:
        _concat_content(op, shapes)


def _concat_content(op: Inference, shapes: Sequence[Shape | None]) -> None:
    """Parts that are unknown but of known length give unknown elements."""
    parts: list[Any] = []
    for index, shape in enumerate(shapes):
        known = op.content(index)
        if known is None:
            if shape is None or type(shape[0]) is not int or shape[0] > CONTENT_LIMIT:
                return
            known = empty_content((shape[0],))
        parts.append(known)
    if any(each is not None for part in parts for each in part.tolist()):
        op.set_content(np.concatenate(parts))


@rule("Split")
def split(op: Inference) -> None:
    shape = op.shape(0)
    count = len(op.node.outputs)
    if shape is None:
        return
    axis = op.axis(len(shape))
    lengths: Sequence[Size] | None = op.elements(1)
    if lengths is None or len(lengths) != count:
        if op.has(1):
            lengths = [None] * count
        else:
            parts = op.attribute("num_outputs", count)
            each = sizes.ceil_divide(shape[axis], parts)
            last = sizes.calculate(lambda total, one: total - one * (parts - 1), shape[axis], each)
            exact = sizes.calculate(dims.divides, shape[axis], parts)
            lengths = [exact] * count if exact is not None else [*([each] * (count - 1)), last]
    known = op.content(0)
    start = 0
    for index, length in enumerate(lengths):
        op.set((*shape[:axis], length, *shape[axis + 1 :]), index=index)
        if known is not None and type(length) is int:
            op.set_content(np.take(known, range(start, start + length), axis=axis), index=index)
            start += length
        else:
            known = None


@rule("Slice")
def slice_of(op: Inference) -> None:
    shape = op.shape(0)
    starts, ends = op.elements(1), op.elements(2)
    if shape is None:
        return
    steps: list[Any] | None
    if op.has(3):
        axes = op.ints(3)
    else:
        count = op.size(1, 0)
        axes = list(range(count)) if isinstance(count, int) and count <= sizes.MAX_RANK else None
    if axes is None:
        op.set((None,) * len(shape))
        return
    starts = starts if starts is not None else [None] * len(axes)
    ends = ends if ends is not None else [None] * len(axes)
    steps = op.elements(4) if op.has(4) else [1] * len(axes)
    steps = steps if steps is not None else [None] * len(axes)
    result = list(shape)
    places = [sizes.normalise(axis, len(shape)) for axis in axes]
    for axis, start, end, step in zip(places, starts, ends, steps):
        result[axis] = _slice_size(shape[axis], start, end, step)
    op.set(result)
    known = op.content(0)
    whole = all(type(each) is int for each in (*starts, *ends, *steps))
    if known is not None and whole:
        index: list[slice] = [slice(None)] * known.ndim
        for axis, start, end, step in zip(places, starts, ends, steps):
            last = None if step < 0 and end < -known.shape[axis] else end
            index[axis] = slice(start, last, step)
        op.set_content(known[tuple(index)])


def _slice_size(size: Size, start: Any, end: Any, step: Any) -> Size:
    """How many elements a slice has; the bounds may be sizes themselves."""
    if start is None or end is None or type(step) is not int or step == 0:
        return None
    if type(size) is int and type(start) is int and type(end) is int:
        last = None if step < 0 and end < -size else end
        return len(range(*slice(start, last, step).indices(size)))
    if size is None:
        if step == 1 and type(start) is int and type(end) is int and end <= start and (start < 0) == (end < 0):
            return 0
        return None
    if step < 0:
        from_end = type(start) is int and (start == -1 or start >= (1 << 31) - 1)
        to_start = (type(end) is int and end <= -(1 << 31) + 1) or end == sizes.calculate(lambda n: -n - 1, size)
        return sizes.ceil_divide(size, -step) if from_end and to_start else None
    first, last_ = _clamp(size, start), _clamp(size, end)
    if type(start) is int and start < 0 and last_ == size:  # the last elements, as many as there are
        length = sizes.calculate(dims.minimum, size, -start)
        return length if step == 1 else sizes.ceil_divide(length, step)
    length = sizes.at_least_zero(sizes.calculate(lambda x, y: y - x, first, last_))
    return length if step == 1 else sizes.ceil_divide(length, step)


def _clamp(size: Size, bound: Any) -> Size:
    """A bound of a slice as a position between 0 and the size."""
    if type(bound) is int and bound >= (1 << 31) - 1:  # the end, as exporters write it
        return size
    if (type(bound) is int and bound < 0) or (isinstance(bound, Dim) and _is_negative(bound)):
        return sizes.at_least_zero(sizes.calculate(lambda x, y: x + y, size, bound))
    if isinstance(bound, Dim) and not dims.is_at_least(bound, 0):
        return None
    return sizes.calculate(dims.minimum, size, bound)


def _is_negative(bound: Dim) -> bool:
    return dims.is_at_least(-bound, 1)


@rule("Expand")
def expand(op: Inference) -> None:
    target = op.elements(1)
    if target is None:
        count, rank = op.size(1, 0), op.rank(0)
        op.set(sizes.unknown(max(count, rank)) if isinstance(count, int) and rank is not None else None)
        return
    given = op.shape(0)
    op.set(sizes.broadcast([given, tuple(target)]) if given is not None else None)
    known = op.content(0)
    if known is not None and all(type(size) is int for size in target) and np.prod(target) <= CONTENT_LIMIT:
        op.set_content(np.broadcast_to(known, np.broadcast_shapes(known.shape, tuple(target))).copy())


@rule("Tile")
def tile(op: Inference) -> None:
    shape, counts = op.shape(0), op.elements(1)
    if shape is None:
        count = op.size(1, 0)
        op.set(sizes.unknown(count))
        return
    counts = counts if counts is not None else [None] * len(shape)
    op.set([sizes.calculate(lambda x, y: x * y, size, count) for size, count in zip(shape, counts)])
    known = op.content(0)
    whole = all(type(count) is int for count in counts)
    if known is not None and whole and known.size * int(np.prod(counts)) <= CONTENT_LIMIT:
        op.set_content(np.tile(known, counts))


@rule("ConstantOfShape")
def constant_of_shape(op: Inference) -> None:
    value = op.attribute("value")
    dtype = value.dtype if value is not None else ElementType.f32
    target = op.elements(0)
    if target is None:
        count = op.size(0, 0)
        op.set(sizes.unknown(count), dtype=dtype)
        return
    op.set(target, dtype=dtype)
    number = value.array.reshape(-1)[0].item() if value is not None and dtype.numpy.kind in "biuf" else 0.0
    if all(type(size) is int for size in target) and np.prod(target, dtype=np.float64) <= CONTENT_LIMIT:
        made = empty_content(target)
        made[...] = number
        op.set_content(made)


@rule("Range")
def range_of(op: Inference) -> None:
    bounds = [op.elements(index) for index in range(3)]
    if any(bound is None or bound[0] is None for bound in bounds):
        op.set((None,))
        return
    start, limit, step = (bound[0] for bound in bounds)  # type: ignore[index]
    dtype = op.dtype(0)
    if all(not isinstance(each, Dim) for each in (start, limit, step)):
        count = max(0, int(np.ceil((limit - start) / step))) if step else None
        op.set((count,))
        if count is not None and count <= CONTENT_LIMIT and dtype is not None and dtype.is_int:
            made = empty_content((count,))
            made[:] = [start + index * step for index in range(count)]
            op.set_content(made)
        return
    start, limit, step = (int(x) if isinstance(x, float) and x.is_integer() else x for x in (start, limit, step))
    if type(step) is int and step > 0 and all(isinstance(each, int | Dim) for each in (start, limit)):
        span = sizes.at_least_zero(sizes.calculate(lambda x, y: y - x, start, limit))
        op.set((span if step == 1 else sizes.ceil_divide(span, step),))
        return
    op.set((None,))


@rule("Pad")
def pad(op: Inference) -> None:
    shape, pads = op.shape(0), op.elements(1)
    if shape is None:
        return
    axes = op.ints(3) if op.has(3) else list(range(len(shape)))
    if axes is None or pads is None or len(pads) != 2 * len(axes):
        op.set((None,) * len(shape))
        return
    result = list(shape)
    for index, axis in enumerate(axes):
        result[axis] = sizes.add(shape[axis], pads[index], pads[index + len(axes)])
    op.set(result)


@rule("DepthToSpace", "SpaceToDepth")
def blocks(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        return
    block = op.attribute("blocksize")
    batch, channels, height, width = shape
    if op.node.op_type == "DepthToSpace":
        op.set((batch, sizes.floor_divide(channels, block * block), _times(height, block), _times(width, block)))
    else:
        inner = (sizes.floor_divide(height, block), sizes.floor_divide(width, block))
        op.set((batch, _times(channels, block * block), *inner))


def _times(size: Size, factor: int) -> Size:
    return sizes.calculate(lambda x: x * factor, size)


@rule("CenterCropPad")
def center_crop_pad(op: Inference) -> None:
    shape, target = op.shape(0), op.elements(1)
    if shape is None:
        return
    axes = op.attribute("axes") or tuple(range(len(shape)))
    result = list(shape)
    for axis, size in zip(axes, target if target is not None else [None] * len(axes)):
        result[axis] = size
    op.set(result)


@rule("Resize")
def resize(op: Inference) -> None:
    shape = op.shape(0)
    if shape is None:
        return
    axes = [sizes.normalise(axis, len(shape)) for axis in op.attribute("axes") or range(len(shape))]
    result = list(shape)
    if op.has(3):
        target = op.elements(3)
        stretch = op.attribute("keep_aspect_ratio_policy", "stretch") == "stretch"
        target = target if target is not None and stretch else [None] * len(axes)
        for axis, size in zip(axes, target):
            result[axis] = size
    else:
        scales = op.elements(2)
        crop = op.attribute("coordinate_transformation_mode") == "tf_crop_and_resize"
        scales = scales if scales is not None and not crop else [None] * len(axes)
        for axis, scale in zip(axes, scales):
            result[axis] = sizes.calculate(lambda x, y: content.round_down(content.multiply(x, y)), shape[axis], scale)
    op.set(result)
