"""Padding that may also crop: every mode, any amount, negative ones too.

`pad` in `burn.ops.joining` is Burn's own. What is copied from the tensor itself (reflected, repeated,
wrapped around) is read here by an index computed on the host, so it may be longer than the tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.errors import ArgumentError, ShapeError
from burn.ops import indexing, joining
from burn.ops.constants import indices
from burn.ops.declare import composite
from burn.ops.dispatch import filling
from burn.ops.op import Op
from burn.shape import Shape, as_ints, axes

if TYPE_CHECKING:
    from burn.ops.declare import B, Operand
    from burn.tensor import Tensor

MODES = ("constant", "reflect", "edge", "wrap")
Pairs = tuple[tuple[int, int], ...]


def _pad_rule(op: Op, x: Any, value: Any, pads: Any, mode: Any) -> Any:
    if mode not in MODES:
        raise ArgumentError(f"{op.name}: mode must be one of {', '.join(map(repr, MODES))}, got {mode!r}")
    try:
        pairs = tuple(as_ints(op.name, "pads", pair) for pair in pads)
    except TypeError:
        pairs = ((),)
    if len(pairs) != len(x.shape) or any(len(pair) != 2 for pair in pairs):
        raise ArgumentError(
            f"{op.name}: pads must be one (before, after) for each dim of {tuple(x.shape)}, got {pads!r}"
        )
    sizes = []
    for dim, (size, (before, after)) in enumerate(zip(x.shape, pairs, strict=True)):
        left = size + min(before, 0) + min(after, 0)
        if left < 0:
            raise ShapeError(f"{op.name}: {(before, after)} crops more than the {size} elements of dim {dim}")
        if mode != "constant" and not left and (before > 0 or after > 0):
            raise ShapeError(f"{op.name}: nothing is left of dim {dim} of {tuple(x.shape)} to {mode}")
        sizes.append(before + size + after)
    return Shape(sizes), x.dtype, (tuple((before, after) for before, after in pairs), mode)


@composite(rule=_pad_rule, prepare=filling("value"))
def pad_or_crop(x: Tensor[B], pads: Any, value: Operand = 0.0, mode: str = "constant") -> Tensor[B]:
    """Add elements around every dim, or take them away where a number is negative, which happens first.

    Arguments:
        pads: a pair (before, after) for each dim.
        value: what is added in mode "constant".
        mode: "constant", "reflect" (without the edge), "edge" (the edge repeated) or "wrap" (the other end).

    >>> burn.tensor([1, 2, 3]).pad_or_crop([(2, -1)]).tolist()
    [0, 0, 1, 2]
    """
    kept = [
        (max(-before, 0), size + min(before, 0) + min(after, 0), 1)
        for size, (before, after) in zip(x.shape, pads, strict=True)
    ]
    if any((start, length) != (0, size) for (start, length, _), size in zip(kept, x.shape, strict=True)):
        x = indexing.slice(x, kept)
    added = [(max(before, 0), max(after, 0)) for before, after in pads]
    if mode == "constant":
        return joining.pad(x, added, value) if any(map(any, added)) else x
    for dim, pair in enumerate(added):
        if any(pair):
            # np.pad knows how reflections go on beyond the length of the dim
            places = np.pad(np.arange(x.shape[dim]), pair, mode=mode)  # type: ignore[call-overload]
            x = indexing.select(x, dim, indices(places, x.device))
    return x


def _center_rule(op: Op, x: Any, sizes: Any, dims: Any) -> Any:
    places = tuple(range(len(x.shape))) if dims is None else axes(op.name, dims, len(x.shape))
    wanted = as_ints(op.name, "sizes", sizes)
    if len(wanted) != len(places) or min(wanted, default=0) < 0:
        raise ArgumentError(f"{op.name}: sizes needs {len(places)} numbers of 0 or more, got {list(wanted)}")
    target = list(x.shape)
    for dim, size in zip(places, wanted, strict=True):
        target[dim] = size
    return Shape(target), x.dtype, (wanted, places)


@composite(rule=_center_rule)
def center_crop_pad(x: Tensor[B], sizes: Any, dims: Any = None) -> Tensor[B]:
    """Bring dims (all of them, or `dims`) to `sizes` around their middle: crop, or pad with zeros.

    Where the difference is odd, one element more is taken or added at the end.

    >>> burn.tensor([1, 2, 3, 4]).center_crop_pad([2]).tolist(), burn.tensor([1, 2]).center_crop_pad([5]).tolist()
    ([2, 3], [0, 1, 2, 0, 0])
    """
    pairs = [(0, 0)] * len(x.shape)
    for dim, size in zip(dims, sizes, strict=True):
        less = abs(size - x.shape[dim]) // 2
        more = abs(size - x.shape[dim]) - less
        pairs[dim] = (less, more) if size >= x.shape[dim] else (-less, -more)
    return pad_or_crop(x, pairs)
