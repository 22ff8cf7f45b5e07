"""Samples of movement, joining and cutting."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F

from burn.errors import ArgumentError, DTypeError, ShapeError
from tests.ops.sample import Sample, booleans, call, integers, random, refused, samples


def _sources(*shape: int) -> Iterator[Any]:
    """Tensors of one shape: floats, ints, bools, and strided views."""
    yield random(*shape)
    yield integers(*shape)
    yield booleans(*shape)
    yield random(*shape[::-1]).T
    yield random(*shape[:-1], shape[-1] * 2)[..., ::2]


def _zeros_kept(x: torch.Tensor, shape: Any) -> torch.Tensor:
    sizes = [x.shape[i] if size == 0 and x.numel() else size for i, size in enumerate(shape)]
    return x.reshape(sizes)


@samples("reshape", oracle=_zeros_kept)
def _reshape() -> Iterator[Sample]:
    for x in _sources(3, 4):
        yield call(x, (2, 6))
    yield call(random(2, 3, 4), (0, -1))
    yield call(random(), (1, 1))
    yield call(random(1), ())
    yield call(random(2, 0), (0, 5))
    yield call(random(0), (-1,))
    yield call(random(6), [-1, 2])


refused("reshape", random(2, 3), (4,), error=ShapeError, match=r"\(2, 3\) has 6 elements and \[4\] needs 4")
refused("reshape", random(2, 3), (-1, -1), error=ShapeError, match="may hold one -1")
refused("reshape", random(2, 3), (-1, 4), error=ShapeError, match="no size fits -1")
refused("reshape", random(2, 3), "ab", error=ArgumentError, match="must be an int or a sequence of ints")


@samples("expand", oracle=lambda x, shape: x.expand(shape))
def _expand() -> Iterator[Sample]:
    yield call(random(3, 1), (3, 4))
    yield call(random(1, 3), (2, 4, 3))
    yield call(random(), (2, 2))
    yield call(random(2, 1, 3), (-1, 5, -1))
    yield call(integers(1, 4), (3, 4))
    yield call(booleans(1), (3,))
    yield call(random(1, 3), (0, 3))
    yield call(random(2, 0), (3, 2, 0))
    yield call(random(4, 2)[:, ::2].T, (3, 4))


refused("expand", random(2, 3), (2, 4), error=ShapeError, match=r"\(2, 3\) does not expand to \(2, 4\): 3 at dim 1")
refused("expand", random(2, 3), (3,), error=ShapeError, match="more dims than the target")


@samples("permute", oracle=torch.permute)
def _permute() -> Iterator[Sample]:
    for x in _sources(2, 3, 4):
        yield call(x, (2, 0, 1))
    yield call(random(2, 3), [-1, 0])
    yield call(random(2, 0, 3), (1, 2, 0))
    yield call(random(), ())
    yield call(random(1, 1, 5, 2), (3, 0, 2, 1))


refused("permute", random(2, 3), (0, 0), error=ShapeError, match="name a dimension twice")
refused("permute", random(2, 3), (0,), error=ShapeError, match=r"must name each dim of \(2, 3\) once")
refused("permute", random(2, 3), (0, 2), error=ShapeError, match="dim 2 is out of range")


@samples("flip", oracle=torch.flip)
def _flip() -> Iterator[Sample]:
    for x in _sources(2, 3, 4):
        yield call(x, (0, 2))
    yield call(random(3), [-1])
    yield call(random(3), [])
    yield call(random(0, 2), (0, 1))
    yield call(random(1, 4), (0,))


refused("flip", random(2, 3), (1, -1), error=ShapeError, match="name a dimension twice")
refused("flip", random(2, 3), (5,), error=ShapeError, match="dim 5 is out of range")


def _windows(x: torch.Tensor, dim: int, size: int, step: int) -> torch.Tensor:
    if x.shape[dim] < size:
        shape = list(x.shape)
        shape[dim] = 0
        return x.new_empty((*shape, size))
    return x.unfold(dim, size, step)


@samples("unfold", oracle=_windows)
def _unfold() -> Iterator[Sample]:
    for x in _sources(2, 7):
        yield call(x, 1, 3, 2)
    yield call(random(7, 2), 0, 2, 3)
    yield call(random(5), -1, 5, 1)
    yield call(random(3, 2), 0, 4, 1)
    yield call(random(2, 6, 3), 1, 1, 1)
    yield call(random(0, 4), 1, 2, 2)


refused("unfold", random(4), 0, 0, 1, error=ArgumentError, match="size and step must be 1 or more, got size=0, step=1")
refused("unfold", random(4), 1, 2, 1, error=ShapeError, match="dim 1 is out of range")
refused("unfold", random(4), 0, 1.5, 1, error=ArgumentError, match="size must be an int, got 1.5")


@samples("swap_dims", oracle=torch.swapaxes)
def _swap_dims() -> Iterator[Sample]:
    for x in _sources(2, 3, 4):
        yield call(x, 0, -1)
    yield call(random(2, 0), 1, 0)
    yield call(random(3), 0, 0)


refused("swap_dims", random(2, 3), 0, 2, error=ShapeError, match="dim 2 is out of range for a tensor of rank 2")


@samples("transpose", oracle=lambda x: x.mT)
def _transpose() -> Iterator[Sample]:
    for x in _sources(2, 3, 4):
        yield call(x)
    yield call(random(2, 3))
    yield call(random(0, 3))


refused("transpose", random(3), error=ShapeError, match=r"\(3,\) must have at least 2 dims")


@samples("movedim", oracle=torch.movedim)
def _movedim() -> Iterator[Sample]:
    for x in _sources(2, 3, 4):
        yield call(x, 0, 2)
    yield call(random(2, 3, 4, 5), (0, 1), (-1, 0))
    yield call(random(2, 3, 4, 5), (3, 1), (0, 2))
    yield call(random(2, 0, 4), -1, 0)


refused("movedim", random(2, 3), (0, 1), (0,), error=ShapeError, match="must name equally many dims")
refused("movedim", random(2, 3), (0, 0), (0, 1), error=ShapeError, match="name a dimension twice")


@samples("flatten", oracle=lambda x, start=0, end=-1: torch.flatten(x, start, end))
def _flatten() -> Iterator[Sample]:
    for x in _sources(2, 3, 4):
        yield call(x, 1, 2)
    yield call(random(2, 3, 4))
    yield call(random(2, 3, 4), 0, -2)
    yield call(random(2, 3), 1, 1)
    yield call(random())
    yield call(random(2, 0, 4), 1, 2)


refused("flatten", random(2, 3, 4), 2, 1, error=ShapeError, match="start=2 comes after end=1")
refused("flatten", random(2, 3), 0, 2, error=ShapeError, match="dim 2 is out of range")


@samples("squeeze", oracle=lambda x, dim=None: x.squeeze() if dim is None else x.squeeze(dim))
def _squeeze() -> Iterator[Sample]:
    for x in _sources(2, 1, 4):
        yield call(x, 1)
    yield call(random(1, 3, 1), -1)
    yield call(random(1, 3, 1))
    yield call(random(2, 3))
    yield call(random(1, 1))
    yield call(random(1, 0), 0)
    yield call(random())


refused("squeeze", random(2, 3), 1, error=ShapeError, match=r"dim 1 of \(2, 3\) has size 3; only size 1 goes away")
refused("squeeze", random(2, 3), 2, error=ShapeError, match="dim 2 is out of range")


@samples("squeeze_dims", oracle=lambda x, dims: x.squeeze(tuple(dims)) if len(dims) else x.squeeze())
def _squeeze_dims() -> Iterator[Sample]:
    yield call(random(1, 3, 1, 2), (0, -2))
    yield call(random(1, 3, 1, 2), [])
    yield call(integers(1, 3), [0])
    yield call(booleans(1, 1), (0, 1))


refused("squeeze_dims", random(1, 3), (0, 1), error=ShapeError, match="dim 1 of .* has size 3")
refused("squeeze_dims", random(1, 3), (0, 0), error=ShapeError, match="name a dimension twice")


def _in_front(x: torch.Tensor, rank: int | None = None) -> torch.Tensor:
    for _ in range((x.ndim + 1 if rank is None else rank) - x.ndim):
        x = x.unsqueeze(0)
    return x


@samples("unsqueeze", oracle=_in_front)
def _unsqueeze() -> Iterator[Sample]:
    for x in _sources(2, 3):
        yield call(x, 4)
    yield call(random(2, 3))
    yield call(random(2, 3), 2)
    yield call(random(), 3)
    yield call(random(0), rank=2)


refused("unsqueeze", random(2, 3), 1, error=ShapeError, match=r"\(2, 3\) has 2 dims already, more than rank=1")
refused("unsqueeze", random(2, 3), 2.5, error=ArgumentError, match="rank must be an int")


@samples("unsqueeze_dim", oracle=torch.unsqueeze)
def _unsqueeze_dim() -> Iterator[Sample]:
    for x in _sources(2, 3):
        yield call(x, 1)
    yield call(random(2, 3), -1)
    yield call(random(2, 3), 2)
    yield call(random(2, 3), -3)
    yield call(random(), 0)
    yield call(random(0), 0)


refused("unsqueeze_dim", random(2, 3), 3, error=ShapeError, match="dim 3 is out of range")


_PLACES: dict[tuple[int, ...], tuple[int, ...]] = {
    (0, -1, -1): (1, 2, 3, 1, 1),
    (1, 1): (2, 1, 1, 3),
    (-1, -2): (2, 3, 1, 1),
    (0, 0, 1): (1, 1, 1, 2, 3),
    (): (2, 3),
    (2, 0): (1, 2, 1, 3),
}


@samples("unsqueeze_dims", oracle=lambda x, dims: x.reshape(_PLACES[dims]))
def _unsqueeze_dims() -> Iterator[Sample]:
    for dims in _PLACES:
        yield call(random(2, 3), dims)


refused("unsqueeze_dims", random(2, 3), (0, 5), error=ShapeError, match="dim 5 is out of range for a tensor of rank 4")


@samples("tril", oracle=torch.tril)
def _triangles() -> Iterator[Sample]:
    for x in _sources(3, 4):
        yield call(x)
    yield call(random(2, 4, 3), 1)
    yield call(random(2, 4, 3), diagonal=-1)
    yield call(random(3, 3), 5)
    yield call(random(3, 3), -5)
    yield call(random(0, 3))
    yield call(random(2, 1, 1))


samples("triu", oracle=torch.triu)(_triangles)
refused("tril", random(3), error=ShapeError, match=r"\(3,\) must have at least 2 dims")
refused("triu", random(3, 3), 0.5, error=ArgumentError, match="diagonal must be an int, got 0.5")


# Joining and cutting


@samples("cat", oracle=torch.cat)
def _cat() -> Iterator[Sample]:
    yield call([random(2, 3), random(2, 4, seed=1), random(2, 1, seed=2)], 1)
    yield call([random(2, 3), random(1, 3, seed=1)], 0)
    yield call([random(2, 3)], -1)
    yield call([random(4, 3).T, random(3, 8, seed=1)[:, ::2]], -2)
    yield call([integers(2, 3), integers(2, 3, seed=1)], 0)
    yield call([booleans(2), booleans(3)], 0)
    yield call([integers(2, 3), random(2, 3, seed=1)], 1)
    yield call([booleans(2), integers(3)], 0)
    yield call([random(0, 3), random(2, 3, seed=1), random(0, 3)], 0)
    yield call([random(2, 0), random(3, 0)])


refused("cat", [], 0, error=ArgumentError, match="needs at least one tensor, got an empty list")
refused("cat", [random(2, 3), random(3, 2)], 0, error=ShapeError, match=r"3 != 2 at dim 1, and only dim 0 may differ")
refused("cat", [random(2, 3), random(3)], 0, error=ShapeError, match=r"2 != 1 dims")
refused("cat", [random(2, 3)], 2, error=ShapeError, match="dim 2 is out of range")
refused("cat", [random(2, 3), 1.0], 0, error=DTypeError, match=r"tensors\[1\] must be a Tensor, got float")


@samples("repeat", oracle=lambda x, sizes: x.repeat((*sizes, *(1,) * (x.ndim - len(sizes)))))
def _repeat() -> Iterator[Sample]:
    for x in _sources(2, 3):
        yield call(x, (2, 3))
    yield call(random(2, 3, 4), [2])
    yield call(random(2, 3), (1, 0))
    yield call(random(2, 0), (3, 2))
    yield call(random(), ())


refused("repeat", random(2), (1, 2), error=ShapeError, match=r"sizes=\[1, 2\] must be at most 1 numbers of 0 or more")
refused("repeat", random(2), (-1,), error=ShapeError, match="0 or more")


def _repeated(x: torch.Tensor, dim: int, times: int) -> torch.Tensor:
    sizes = [1] * x.ndim
    sizes[dim] = times
    return x.repeat(sizes)


@samples("repeat_dim", oracle=_repeated)
def _repeat_dim() -> Iterator[Sample]:
    for x in _sources(2, 3):
        yield call(x, 0, 3)
    yield call(random(2, 3), -1, 2)
    yield call(random(2, 3), 1, 0)
    yield call(random(0, 3), 1, 2)


refused("repeat_dim", random(2), 1, 2, error=ShapeError, match="dim 1 is out of range")
refused("repeat_dim", random(2), 0, -1, error=ShapeError, match="times must be 0 or more, got -1")


@samples("roll", oracle=lambda x, shifts, dims: torch.roll(x, shifts, dims) if len(dims) else x)
def _roll() -> Iterator[Sample]:
    for x in _sources(3, 4):
        yield call(x, (1, -2), (0, 1))
    yield call(random(5), [7], [0])
    yield call(random(2, 5), [1, 1], [1, -1])
    yield call(random(2, 5), [], [])
    yield call(random(2, 0), [1, 3], [0, 1])
    yield call(random(1, 3), [5, 3], [0, 1])


refused("roll", random(3), [1, 2], [0], error=ArgumentError, match="must have the same length: 2 != 1")
refused("roll", random(3), [1], [1], error=ShapeError, match="dim 1 is out of range")


@samples("roll_dim", oracle=torch.roll)
def _roll_dim() -> Iterator[Sample]:
    for x in _sources(3, 4):
        yield call(x, -1, 1)
    yield call(random(3, 4), 5, -2)
    yield call(random(3, 4), 0, 0)
    yield call(random(0), 2, 0)


refused("roll_dim", random(3), 1, 1, error=ShapeError, match="dim 1 is out of range")


def _padded(x: torch.Tensor, pads: Any, value: float = 0.0, mode: str = "constant") -> torch.Tensor:
    """PyTorch pads from the last dim on; reflection and edges as indices, for ranks it does not take."""
    flat = isinstance(pads[0], int)
    if mode == "constant":
        order = list(pads) if flat else [each for pair in reversed(list(pads)) for each in pair]
        if x.dtype is torch.bool:
            return F.pad(x.to(torch.uint8), order, value=int(value)).bool()
        return F.pad(x, order, value=value)
    pairs = [(pads[2], pads[3]), (pads[0], pads[1])] if flat else list(pads)
    for dim, (before, after) in zip(range(x.ndim - len(pairs), x.ndim), pairs, strict=True):
        size = x.shape[dim]
        places = torch.arange(-before, size + after)
        if mode == "reflect":
            places = (size - 1) - (size - 1 - places.abs()).abs()
        x = x.index_select(dim, places.clamp(0, max(size - 1, 0)))
    return x


@samples("pad", oracle=_padded)
def _pad() -> Iterator[Sample]:
    for x in _sources(2, 3):
        yield call(x, (1, 2, 3, 0))
    yield call(random(2, 3), (1, 0, 2, 1), 1.5)
    yield call(random(2, 3), [(2, 1)], -1.0)
    yield call(random(2, 3, 4), [(1, 0), (0, 2), (1, 1)], float("-inf"))
    yield call(random(2, 4, 4), [(1, 2), (3, 0)], mode="reflect")
    yield call(random(5), [(4, 4)], mode="reflect")
    yield call(integers(3, 4), (1, 1, 2, 0), mode="reflect")
    yield call(random(2, 3), (2, 4, 1, 0), mode="edge")
    yield call(booleans(1, 3), [(3, 3), (0, 1)], mode="edge")
    yield call(random(4, 2).T, [(0, 0), (1, 1)], mode="edge")
    yield call(random(0, 2), [(1, 0), (1, 1)], 2.0)
    yield call(random(2, 0), [(1, 1), (0, 0)], mode="reflect")
    yield call(integers(2, 2), (1, 0, 0, 0), 7)


refused("pad", random(2, 3), (1, 2, 3), error=ArgumentError, match=r"\(left, right, top, bottom\) or a list of")
refused("pad", random(2, 3), 1, error=ArgumentError, match="pads must be")
refused("pad", random(3), (1, 1, 1, 1), error=ShapeError, match=r"2 pairs of paddings for a tensor of shape \(3,\)")
refused("pad", random(3), [(-1, 0)], error=ShapeError, match="paddings must be 0 or more")
refused("pad", random(3), [(3, 0)], error=ShapeError, match="reflecting 3 elements needs a dim longer", mode="reflect")
refused("pad", random(0), [(1, 0)], error=ShapeError, match="is empty: it has no edge", mode="edge")
refused("pad", random(3), [(1, 0)], error=ArgumentError, match="mode must be one of", mode="wrap")
refused("pad", random(3), [(1, 0)], "reflect", error=DTypeError, match="value must be a")


@samples("narrow", oracle=torch.narrow)
def _narrow() -> Iterator[Sample]:
    for x in _sources(4, 3):
        yield call(x, 0, 1, 2)
    yield call(random(2, 5), -1, 4, 1)
    yield call(random(2, 5), 1, 5, 0)
    yield call(random(0, 5), 1, 1, 3)


refused("narrow", random(2, 5), 1, 3, 3, error=ShapeError, match="start=3, length=3 reach outside dim 1 of size 5")
refused("narrow", random(2, 5), 1, -1, 1, error=ShapeError, match="reach outside dim 1")


@samples("cut", oracle=lambda x, sizes, dim=0: torch.split_with_sizes(x, list(sizes), dim))
def _cut() -> Iterator[Sample]:
    for x in _sources(5, 3):
        yield call(x, (2, 3), 0)
    yield call(random(2, 5), (0, 4, 1), -1)
    yield call(random(3, 4), (4,), 1)
    yield call(random(0, 2), (0,))


refused("cut", random(5), (2, 2), error=ShapeError, match=r"\[2, 2\] must be sizes .* add up to 5")
refused("cut", random(5), (6, -1), error=ShapeError, match="0 or more")


@samples("split_with_sizes", oracle=lambda x, sizes, dim=0: torch.split_with_sizes(x, list(sizes), dim))
def _split_with_sizes() -> Iterator[Sample]:
    for x in _sources(5, 3):
        yield call(x, (2, 3), 0)
    yield call(random(2, 5), (0, 4, 1), -1)
    yield call(random(0, 2), (0,))


refused("split_with_sizes", random(5), (2, 2), error=ShapeError, match=r"\[2, 2\] must be sizes .* add up to 5")
refused("split_with_sizes", random(5), (6, -1), error=ShapeError, match="0 or more")


@samples("split", oracle=torch.split)
def _split() -> Iterator[Sample]:
    for x in _sources(5, 3):
        yield call(x, 2, 0)
    yield call(random(2, 6), 3, -1)
    yield call(random(2, 6), 10, 1)
    yield call(random(0, 2), 3)


refused("split", random(5), 0, error=ArgumentError, match="split_size must be 1 or more, got 0")
refused("split", random(5), 2, 1, error=ShapeError, match="dim 1 is out of range")


@samples("chunk", oracle=torch.chunk)
def _chunk() -> Iterator[Sample]:
    for x in _sources(5, 3):
        yield call(x, 2, 0)
    yield call(random(2, 7), 4, -1)
    yield call(random(2, 5), 4, 1)
    yield call(random(3), 8)
    yield call(random(0, 2), 3)


refused("chunk", random(5), 0, error=ArgumentError, match="chunks must be 1 or more, got 0")
