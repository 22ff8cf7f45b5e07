"""Random tensors under Burn's names. Each draw takes the next numbers of its device's generator."""

from __future__ import annotations

import builtins
import operator
from typing import TYPE_CHECKING, Any

from typing_extensions import TypeVar

from burn.device import Device, current_device
from burn.dtype import HALVES, f32
from burn.dtype import dtype as as_dtype
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops import philox, random
from burn.shape import as_shape
from burn.tensor.distribution import Bernoulli, Distribution, Normal, Uniform

if TYPE_CHECKING:
    from burn.dtype import DTypeLike
    from burn.ops.declare import B
    from burn.shape import ShapeLike
    from burn.tensor.tensor import Tensor

D = TypeVar("D", bound=Device, default=Device)


def draw(operation: str, shape: ShapeLike, distribution: Distribution, device: D, dtype: DTypeLike) -> Tensor[D]:
    """A tensor drawn from a distribution with the next numbers of the device's generator."""
    target = as_dtype(dtype)
    if not isinstance(distribution, Distribution):
        raise ArgumentError(f"{operation}: {distribution!r} is no Distribution; write Distribution.Uniform(0.0, 1.0)")
    sizes = as_shape(operation, shape)
    stream = device.generator().reserve(philox.words_needed(sizes.num_elements(), target))
    if isinstance(distribution, Normal):
        return random.random_normal(*stream, distribution.mean, distribution.std, sizes, target, device=device)
    if isinstance(distribution, Bernoulli):
        return random.random_bernoulli(*stream, distribution.probability, sizes, target, device=device)
    low, high = (distribution.low, distribution.high) if isinstance(distribution, Uniform) else (0.0, 1.0)
    return random.random_uniform(*stream, low, high, sizes, target, device=device)


class RandomMethods:
    """`Tensor.random(...)` and the like."""

    __slots__ = ()

    @staticmethod
    def random(
        shape: ShapeLike,
        distribution: Distribution = Distribution.Default,
        device: D | None = None,
        dtype: DTypeLike | None = None,
    ) -> Tensor[D]:
        """Draw a tensor of a shape, of the device's float dtype unless `dtype` is given.

        Arguments:
            distribution: uniform between 0 and 1, or `Bernoulli`, `Uniform` or `Normal` of `burn.Distribution`.

        >>> Tensor.random([2], burn.Distribution.Normal(0.0, 1.0)).to_data()
        TensorData([0.73792565, -0.68843365], shape=[2], dtype=f32)
        """
        chosen = current_device() if device is None else device
        return draw("random", shape, distribution, chosen, chosen.float_dtype if dtype is None else dtype)

    @staticmethod
    def int_random(
        shape: ShapeLike,
        distribution: Distribution = Distribution.Default,
        device: D | None = None,
        dtype: DTypeLike | None = None,
    ) -> Tensor[D]:
        """Draw an int tensor of a shape: the drawn numbers are truncated, so `Uniform(0, 10)` gives 0 to 9.

        Arguments:
            distribution: one of `burn.Distribution`.

        >>> Tensor.int_random([3], burn.Distribution.Uniform(0, 10)).tolist()
        [3, 8, 7]
        """
        chosen = current_device() if device is None else device
        target = chosen.int_dtype if dtype is None else as_dtype(dtype)
        if not target.is_int:
            raise DTypeError(f"int_random: {target} is no int dtype; write Tensor.random(...)")
        return draw("int_random", shape, distribution, chosen, target)

    def random_like(self: Tensor[B], distribution: Distribution = Distribution.Default) -> Tensor[B]:  # type: ignore[misc]
        """Draw a tensor of the same shape, dtype and device from a `distribution`.

        >>> burn.NdArray().seed(0)
        >>> Tensor.zeros([2], burn.NdArray()).random_like().to_data()
        TensorData([0.39904642, 0.88052016], shape=[2], dtype=f32)
        """
        return draw("random_like", self.shape, distribution, self.device, self.dtype)

    def bernoulli(self: Tensor[B], dtype: DTypeLike | None = None) -> Tensor[B]:  # type: ignore[misc]
        """Draw 1 with the probability that each element gives, and 0 otherwise, in `dtype` or the tensor's own.

        >>> burn.tensor([0.0, 1.0]).bernoulli().tolist()
        [0.0, 1.0]
        """
        if not self.dtype.is_float:
            raise DTypeError(f"bernoulli: probabilities are floats, got {self.dtype}; convert it with .float()")
        chances = self.detach()
        chances = chances.cast(f32) if chances.dtype in HALVES else chances
        points = draw("bernoulli", self.shape, Distribution.Default, self.device, chances.dtype)
        return points.lower(chances).cast(self.dtype if dtype is None else as_dtype(dtype))

    def categorical(self: Tensor[B], num_samples: builtins.int) -> Tensor[B]:  # type: ignore[misc]
        """Draw `num_samples` indices for each row of weights along the last dim, which need not add up to 1.

        An index is drawn as often as its weight says, with replacement; the other dims are kept.

        >>> burn.tensor([[0.0, 1.0], [1.0, 0.0]]).categorical(3).tolist()
        [[1, 1, 1], [0, 0, 0]]
        """
        count = _count(num_samples)
        if not self.shape or not self.shape[-1]:
            raise ShapeError(f"categorical: needs weights along the last dim, got shape {tuple(self.shape)}")
        weights = self.detach().float()
        sums = (weights.cast(f32) if weights.dtype in HALVES else weights).cumsum(-1)
        total = sums.narrow(-1, self.shape[-1] - 1, 1)
        points = draw("categorical", (*self.shape[:-1], count), Distribution.Default, self.device, sums.dtype) * total
        steps, total = sums.unsqueeze_dim(len(self.shape) - 1), total.unsqueeze_dim(len(self.shape) - 1)
        passed = steps.lower_equal(points.unsqueeze_dim(len(self.shape))).int().sum_dim(-1).squeeze_dim(-1)
        last = steps.lower(total).int().sum_dim(-1).squeeze_dim(-1)  # rounding must not reach an index of weight 0
        return passed.min_pair(last)


def _count(number: Any) -> builtins.int:
    try:
        count = operator.index(number)
    except TypeError:
        raise ArgumentError(f"categorical: num_samples must be an int, got {number!r}") from None
    if count < 0:
        raise ArgumentError(f"categorical: num_samples must be 0 or more, got {count}")
    return count
