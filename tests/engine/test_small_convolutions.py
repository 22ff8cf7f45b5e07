"""Convolutions of odd and small sizes, and of groups of few channels, with all their gradients, against PyTorch in f64.

The bound follows from the computation: f32 sums are off by no more than a small multiple of the rounding of one step,
times the sum of the magnitudes that were added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu
from burn.ops.convolution import conv, conv_weight_backward, conv_x_backward

torch = pytest.importorskip("torch")

CPU: Any = Cpu()
ROUNDING = 2.0**-24
STEPS = 24
"""Roundings that a sum may be off by, whatever its length: sums are kept in several parts."""


@dataclass(frozen=True)
class Case:
    batch: int
    read: int
    made: int
    size: tuple[int, ...]
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[tuple[int, int], ...]
    dilation: tuple[int, ...]
    groups: int

    @property
    def shapes(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.batch, self.read, *self.size), (self.made, self.read // self.groups, *self.kernel)

    @property
    def settings(self) -> tuple[Any, ...]:
        return self.stride, self.padding, self.dilation, self.groups


def drawn(seed: int) -> Case:
    """A case of few channels and pixels, or of groups of few channels."""
    draw = np.random.default_rng(seed)
    dims, groups = int(draw.integers(1, 4)), int(draw.choice([1, 1, 2, 3, 5, 16]))
    most = {1: 40, 2: 12, 3: 6}[dims]
    while True:
        size, kernel, stride, dilation = (
            tuple(int(each) for each in draw.integers(1, limit + 1, dims)) for limit in (most, 4, 3, 2)
        )
        padding = tuple((int(low), int(high)) for low, high in draw.integers(-1, 3, (dims, 2)))
        reach = [n + low + high - d * (k - 1) for n, (low, high), k, d in zip(size, padding, kernel, dilation)]
        kept = [n + min(low, 0) + min(high, 0) for n, (low, high) in zip(size, padding)]
        if min(reach) > 0 and min(kept) > 0:
            break
    read, made = (groups * int(each) for each in draw.integers(1, 8, 2))
    return Case(int(draw.integers(1, 4)), read, made, size, kernel, stride, padding, dilation, groups)


def by_torch(case: Case, x: Any, weight: Any) -> Any:
    flat = [int(each) for pair in reversed(case.padding) for each in pair]
    function = {1: torch.conv1d, 2: torch.conv2d, 3: torch.conv3d}[len(case.size)]
    padded = torch.nn.functional.pad(x, flat)
    return function(padded, weight, None, case.stride, 0, case.dilation, case.groups)


def gradients(case: Case, x: Any, weight: Any, pulls: Any) -> list[Any]:
    held = [torch.tensor(each, dtype=torch.float64, requires_grad=True) for each in (x, weight)]
    made = by_torch(case, *held)
    made.backward(torch.tensor(pulls, dtype=torch.float64))
    return [made.detach().numpy(), *(each.grad.numpy() for each in held)]


def check(case: Case, seed: int) -> None:
    draw = np.random.default_rng(seed)
    x, weight = (draw.standard_normal(shape).astype(np.float32) for shape in case.shapes)
    pulls = draw.standard_normal(by_torch(case, *map(torch.tensor, (x, weight))).shape).astype(np.float32)
    image, held, pulled = (burn.tensor(each, device=CPU) for each in (x, weight, pulls))
    stride, padding, dilation, groups = case.settings
    mine = [
        conv(image, held, stride, padding, dilation, groups),
        conv_x_backward(pulled, held, case.size, stride, padding, dilation, groups),
        conv_weight_backward(image, pulled, case.kernel, stride, padding, dilation, groups),
    ]
    exact = gradients(case, x, weight, pulls)
    magnitudes = gradients(case, *map(np.abs, (x, weight, pulls)))
    for made, correct, magnitude in zip(mine, exact, magnitudes, strict=True):
        found = made.numpy()
        assert "numpy" not in CPU.plans.latest().describe()
        assert found.shape == correct.shape
        assert (np.abs(found - correct) <= STEPS * ROUNDING * magnitude).all(), case


@pytest.mark.parametrize("seed", range(24))
def test_small_convolutions_and_their_gradients(seed: int) -> None:
    check(drawn(seed), seed)


@pytest.mark.parametrize("read", range(1, 8))
@pytest.mark.parametrize("made", [1, 17])
def test_pointwise_weights_of_few_channels_with_a_stride(read: int, made: int) -> None:
    check(Case(1, read, made, (40, 40), (1, 1), (2, 2), ((0, 0), (0, 0)), (1, 1), 1), read)


@pytest.mark.parametrize("read, made", [(1, 1), (1, 3), (3, 1), (2, 5), (7, 7)])
@pytest.mark.parametrize("groups", [2, 33])
def test_groups_of_few_channels(read: int, made: int, groups: int) -> None:
    check(Case(2, read * groups, made * groups, (9, 11), (3, 3), (1, 2), ((1, 1), (0, 1)), (1, 1), groups), groups)
