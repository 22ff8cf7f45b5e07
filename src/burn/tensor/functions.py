"""The functions of the package `burn`: `burn.zeros(2, 3)`, `burn.cat([x, y])`, `burn.exp(x)`.

They are the methods of `Tensor` under PyTorch's names for functions, and a few that make or join tensors. `burn` gives
them out when they are asked for; they are not in its `__all__`, since `sum` and `max` would replace Python's.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, TypeVar

from burn.device import Device, seed_all
from burn.dtype import bf16, f16, f32, f64, i8, i16, i32, i64, u8, u16, u32, u64
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, shown
from burn.ops import einsum as _einsum
from burn.ops import grid as _grid
from burn.ops import joining
from burn.tensor.distribution import Distribution
from burn.tensor.methods.creation import tensor
from burn.tensor.methods.familiar import where as _where
from burn.tensor.placing import device_of, sized, with_gradient
from burn.tensor.signatures import explains
from burn.tensor.tensor import Tensor

D = TypeVar("D", bound=Device)

bfloat16 = bf16
float16 = half = f16
float32 = f32
float64 = double = f64
int8, int16, int32, int64, long = i8, i16, i32, i64, i64
uint8, uint16, uint32, uint64 = u8, u16, u32, u64

zeros = Tensor.zeros
ones = Tensor.ones
full = Tensor.full
empty = Tensor.empty
eye = Tensor.eye
arange = Tensor.arange
zeros_like = Tensor.zeros_like
ones_like = Tensor.ones_like
full_like = Tensor.full_like
empty_like = Tensor.empty_like
from_numpy = as_tensor = asarray = tensor
from_dlpack = Tensor.from_dlpack

cat = concat = concatenate = joining.cat
stack = explains(joining.stack)
where = explains(_where)
einsum = explains(_einsum.einsum)


@explains
def manual_seed(seed: int) -> None:
    """Begin the random numbers of every device anew, so that they are the same at each run.

    `device.seed(seed)` does it for one device.

    >>> burn.manual_seed(0)
    >>> x = burn.rand(2)
    >>> burn.manual_seed(0)
    >>> x.all_close(burn.rand(2))
    True
    """
    try:
        number = operator.index(seed)
    except TypeError:
        raise ArgumentError(f"manual_seed: seed must be an int, got {shown(seed)}") from None
    seed_all(number)


def _drawn(
    operation: str, distribution: Distribution, shape: tuple[Any, ...], device: Any, dtype: Any, required: bool
) -> Tensor:
    sizes, chosen, dtype = sized(operation, shape, device, dtype)
    made = Tensor.random(sizes, distribution, with_gradient(chosen, required), dtype)
    return made.require_grad() if required else made


@explains
def rand(*shape: Any, device: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw a `shape` of numbers evenly from 0 up to, but not including, 1; `requires_grad` as in `zeros`.

    >>> burn.rand(2, 3).shape
    Shape([2, 3])
    """
    return _drawn("rand", Distribution.Default, shape, device, dtype, requires_grad)


@explains
def randn(*shape: Any, device: Any = None, dtype: Any = None, requires_grad: bool = False) -> Tensor:
    """Draw a `shape` of numbers from the bell curve around 0 of deviation 1; `requires_grad` as in `zeros`.

    >>> burn.randn(2, 3).shape
    Shape([2, 3])
    """
    return _drawn("randn", Distribution.Normal(0.0, 1.0), shape, device, dtype, requires_grad)


@explains
def rand_like(x: Tensor[D]) -> Tensor[D]:
    """Draw evenly from 0 to 1, in the shape and dtype and on the device of `x`."""
    return x.random_like(Distribution.Default)


@explains
def randn_like(x: Tensor[D]) -> Tensor[D]:
    """Draw from the standard bell curve, in the shape and dtype and on the device of `x`."""
    return x.random_like(Distribution.Normal(0.0, 1.0))


@explains
def randint(low: int, high: Any = None, size: Any = None, *, device: Any = None, dtype: Any = None) -> Tensor:
    """Draw ints from `low` up to, but not including, `high`, in a shape `size`: `randint(10, (2, 3))` starts at 0.

    >>> x = burn.randint(5, 8, (100,))
    >>> x.min().item(), x.max().item()
    (5, 7)
    """
    if size is None:
        low, high, size = 0, low, high
    if size is None:
        raise ArgumentError("randint: needs a size; write randint(0, 10, (2, 3))")
    try:
        first, last = operator.index(low), operator.index(high)
    except TypeError:
        raise ArgumentError(
            f"randint: low and high must be ints, got {shown(low)} and {shown(high)}; write randint(0, 10, (2, 3))"
        ) from None
    if first >= last:
        raise ArgumentError(f"randint: low must be less than high, got {first} and {last}")
    sizes, chosen, dtype = sized("randint", (size,), device, dtype)
    target = chosen.int_dtype if dtype is None else as_dtype(dtype)
    count = last - first
    if count > 1 << 52:
        raise ArgumentError(f"randint: {count} numbers are more than can be drawn evenly; 2**52 is the most")
    wide = Tensor.random(sizes, Distribution.Default, chosen, f64 if count > 1 << 20 else f32)
    drawn = (wide * float(count)).floor().clamp(max=float(count - 1))
    return (drawn.cast(i64) + first).cast(target)


@explains
def randperm(n: int, *, device: Any = None, dtype: Any = None) -> Tensor:
    """Put the ints from 0 up to `n` in a random order.

    >>> burn.randperm(5).sort(0).tolist()
    [0, 1, 2, 3, 4]
    """
    chosen = device_of("randperm", device)
    order = Tensor.random((n,), Distribution.Default, chosen, f64).argsort(0)
    return order if dtype is None else order.cast(dtype)


@explains
def linspace(
    start: float, end: float, steps: int = 100, *, device: Any = None, dtype: Any = None, requires_grad: bool = False
) -> Tensor:
    """Lay `steps` numbers evenly from `start` to `end`, which is one of them; `requires_grad` as in `zeros`.

    >>> burn.linspace(0.0, 1.0, 5).tolist()
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    chosen = device_of("linspace", device)
    for name, value in (("start", start), ("end", end)):
        if not isinstance(value, int | float):
            raise ArgumentError(f"linspace: {name} must be a number, got {shown(value)}")
    try:
        count = operator.index(steps)
    except TypeError:
        raise ArgumentError(
            f"linspace: steps must be an int, got {shown(steps)}; write linspace(0.0, 1.0, 5)"
        ) from None
    if count < 0:
        raise ArgumentError(f"linspace: steps must be 0 or more, got {count}")
    where_to = with_gradient(chosen, requires_grad)
    place = Tensor.arange(range(count), where_to).double()
    step = (float(end) - float(start)) / max(count - 1, 1)
    half = place < float(count / 2)
    made = _where(half, place * step + float(start), (place - float(count - 1)) * step + float(end))
    made = made.cast(chosen.float_dtype if dtype is None else dtype)
    return made.require_grad() if requires_grad else made


def _listed(operation: str, tensors: Any) -> list[Tensor[Any]]:
    if not isinstance(tensors, list | tuple) or not all(hasattr(each, "handle") for each in tensors):
        raise ArgumentError(
            f"{operation}: needs a list of tensors, got {shown(tensors)}; write burn.{operation}([x, y])"
        )
    return list(tensors)


@explains
def vstack(tensors: Sequence[Tensor[D]]) -> Tensor[D]:
    """Join `tensors` along their first dim; vectors become rows.

    >>> burn.vstack([burn.tensor([1, 2]), burn.tensor([3, 4])]).tolist()
    [[1, 2], [3, 4]]
    """
    tensors = _listed("vstack", tensors)
    return joining.cat([each.unsqueeze(rank=2) if len(each.shape) < 2 else each for each in tensors], 0)


@explains
def hstack(tensors: Sequence[Tensor[D]]) -> Tensor[D]:
    """Join `tensors` along their second dim; vectors along their only one.

    >>> burn.hstack([burn.tensor([1, 2]), burn.tensor([3])]).tolist()
    [1, 2, 3]
    """
    tensors = _listed("hstack", tensors)
    parts = [each.reshape((1,)) if not each.shape else each for each in tensors]
    return joining.cat(parts, 1 if parts and len(parts[0].shape) > 1 else 0)


@explains
def meshgrid(*tensors: Any, indexing: str = "ij") -> list[Tensor[Any]]:
    """The coordinates of a grid: one tensor for each of `tensors`, of one shape; `indexing` is "ij" or "xy".

    >>> rows, columns = burn.meshgrid(burn.tensor([1, 2]), burn.tensor([3, 4]))
    >>> rows.tolist(), columns.tolist()
    ([[1, 1], [2, 2]], [[3, 4], [3, 4]])
    """
    kinds = {"ij": _grid.GridIndexing.Matrix, "xy": _grid.GridIndexing.Cartesian}
    if indexing not in kinds:
        raise ArgumentError(f"meshgrid: indexing must be 'ij' or 'xy', got {indexing!r}")
    given = list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], list | tuple) else list(tensors)
    return list(_grid.meshgrid(given, kinds[indexing]))
