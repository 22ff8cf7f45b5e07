"""How a pool's windows lie on its input.

The pooling operations pad both sides of a dim alike, by at most half of the kernel. What a `PaddingConfig`
asks for beyond that is added to the input first: the lowest number before maxima are taken, zeros before
means, whose divisors are then corrected by the share of each window that counts.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from burn.nn.checks import refuse, too_small
from burn.nn.padding import Pairs
from burn.ops.pooling import avg_pool, max_pool
from burn.ops.windows import check_rank, extent, paddings, positions
from burn.tensor import Tensor

Sizes = Sequence[int]


def side_by_side(config: Any, name: str) -> tuple[str, ...]:
    """Take the kernel's size for a stride that is not given, so that it is written with the config."""
    if getattr(config, name) is None:
        vars(config)[name] = config.kernel_size
    return ()


def check(config: Any, kernel: Sizes, stride: int | Sizes | None, dilation: int | Sizes, name: str) -> None:
    """Refuse settings that no window fits; `name` is what the config calls its stride."""
    faults = too_small(1, kernel_size=kernel, dilation=dilation, **{name: stride})
    pairs = config.padding.pairs
    if not faults and not isinstance(pairs, str):
        holes = [dilation] * len(kernel) if isinstance(dilation, int) else dilation
        spans = [extent(size, hole) for size, hole in zip(kernel, holes, strict=True)]
        if any(max(pair) >= span for pair, span in zip(pairs, spans, strict=True)):
            faults.append(f"padding {config.padding.spelled()} must be smaller than the kernel, which covers {spans}")
    refuse(config, faults)


def maxima(
    operation: str, x: Tensor, padding: str | Pairs, kernel: Sizes, stride: Sizes, dilation: Sizes, ceil_mode: bool
) -> Tensor:
    """The largest element of each window."""
    if padding == "valid":
        check_rank(operation, x.shape, len(kernel))
        return max_pool(x, kernel, stride, 0, dilation, ceil_mode)[0]
    equal, pairs = _placed(operation, x, padding, kernel, stride, dilation)
    if equal is not None:
        return max_pool(x, kernel, stride, equal, dilation, ceil_mode)[0]
    fitted = _fitted(tuple(x.shape[2:]), tuple(kernel), tuple(stride), tuple(dilation), pairs, ceil_mode)
    return max_pool(x.pad(fitted, -math.inf), kernel, stride, 0, dilation)[0]


def means(
    operation: str, x: Tensor, padding: str | Pairs, kernel: Sizes, stride: Sizes, include: bool, ceil_mode: bool
) -> Tensor:
    """The mean of each window; `include` counts padded elements, but never what `ceil_mode` adds beyond them."""
    if padding == "valid":
        check_rank(operation, x.shape, len(kernel))
        return avg_pool(x, kernel, stride, 0, include, ceil_mode)
    ones = (1,) * len(kernel)
    equal, pairs = _placed(operation, x, padding, kernel, stride, ones)
    if equal is not None:
        return avg_pool(x, kernel, stride, equal, include, ceil_mode)
    sizes = tuple(x.shape[2:])
    fitted = _fitted(sizes, tuple(kernel), tuple(stride), ones, pairs, ceil_mode)
    result: Any = avg_pool(x.pad(fitted), kernel, stride)
    counted = _counted(pairs if include else ((0, 0),) * len(sizes), fitted)
    if counted == fitted:
        return result  # type: ignore[no-any-return]
    inner = [before + size + after for (before, after), size in zip(counted, sizes, strict=True)]
    around = [(pad[0] - kept[0], pad[1] - kept[1]) for pad, kept in zip(fitted, counted, strict=True)]
    share = avg_pool(Tensor.ones([1, 1, *inner], x.device, x.dtype).pad(around), kernel, stride)
    return result / share  # type: ignore[no-any-return]


def _counted(padding: Pairs, fitted: Pairs) -> Pairs:
    """The part of `fitted` that belongs to `padding`."""
    return tuple((min(a, c), min(b, d)) for (a, b), (c, d) in zip(padding, fitted, strict=True))


def _placed(
    operation: str, x: Tensor, padding: str | Pairs, kernel: Sizes, stride: Sizes, dilation: Sizes
) -> tuple[tuple[int, ...] | None, Pairs]:
    """The padding as one number a dim, where the operation can do that, and as pairs."""
    check_rank(operation, x.shape, len(kernel))
    pairs = paddings(operation, padding, tuple(x.shape[2:]), tuple(kernel), tuple(stride), tuple(dilation))
    if all(before == after and 2 * before <= size for (before, after), size in zip(pairs, kernel, strict=True)):
        return tuple(before for before, _ in pairs), pairs
    return None, pairs


@functools.lru_cache(1024)
def _fitted(
    sizes: tuple[int, ...],
    kernel: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
    pairs: Pairs,
    ceil_mode: bool,
) -> Pairs:
    """The padding with which exactly the right number of windows fits."""
    found = []
    for size, span, step, hole, (before, after) in zip(sizes, kernel, stride, dilation, pairs, strict=True):
        more = step - 1 if ceil_mode else 0
        count = positions(size, span, step, (before, after + more), hole)
        if ceil_mode and (count - 1) * step >= size + before:
            count -= 1  # a window that starts beyond the input
        found.append((before, max(0, (count - 1) * step + extent(span, hole) - size - before)))
    return tuple(found)
