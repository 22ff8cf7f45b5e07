"""Distributions: from which law random elements are drawn.

    Tensor.random([2, 3], Distribution.Normal(0.0, 1.0), device)

A distribution is a frozen value; `Distribution.Default` is uniform between 0 and 1. For int tensors
the drawn number is converted to the int dtype, so `Uniform(0, 10)` gives 0 to 9.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

from burn.classes import dataclass
from burn.errors import ArgumentError


def _number(owner: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ArgumentError(f"{owner}: {name} must be a number, got {value!r}") from None
    if not math.isfinite(number):
        raise ArgumentError(f"{owner}: {name} must be finite, got {number}")
    return number


class Distribution:
    """The law of random elements: `Default`, `Bernoulli(p)`, `Uniform(low, high)` or `Normal(mean, std)`.

    >>> Tensor.random([3], burn.Distribution.Uniform(-1.0, 1.0)).to_data()
    TensorData([-0.20190716, 0.76104033, 0.47142553], shape=[3], dtype=f32)
    """

    Default: ClassVar[Distribution]
    Bernoulli: ClassVar[type[Bernoulli]]
    Uniform: ClassVar[type[Uniform]]
    Normal: ClassVar[type[Normal]]

    __slots__ = ()

    def __new__(cls, *args: object, **kwargs: object) -> Distribution:
        if cls is Distribution:
            raise ArgumentError(
                "Distribution: choose one of Distribution.Default, Distribution.Bernoulli(p), "
                "Distribution.Uniform(low, high), Distribution.Normal(mean, std)"
            )
        return super().__new__(cls)


@dataclass(frozen=True)
class Default(Distribution):
    """Uniform from 0 up to, but not including, 1.

    >>> Tensor.random([2], burn.Distribution.Default).to_data()
    TensorData([0.39904642, 0.88052016], shape=[2], dtype=f32)
    """

    def __repr__(self) -> str:
        return "Distribution.Default"


@dataclass(frozen=True)
class Bernoulli(Distribution):
    """1 with a `probability`, 0 otherwise.

    >>> Tensor.random([4], burn.Distribution.Bernoulli(0.5)).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """

    probability: float

    def __post_init__(self) -> None:
        value = _number("Distribution.Bernoulli", "probability", self.probability)
        if not 0.0 <= value <= 1.0:
            raise ArgumentError(f"Distribution.Bernoulli: a probability lies between 0 and 1, got {value}")
        object.__setattr__(self, "probability", value)

    def __repr__(self) -> str:
        return f"Distribution.Bernoulli({self.probability!r})"


@dataclass(frozen=True)
class Uniform(Distribution):
    """Evenly from `low` up to, but not including, `high`.

    >>> Tensor.int_random([3], burn.Distribution.Uniform(0, 10)).tolist()
    [3, 8, 7]
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        low = _number("Distribution.Uniform", "low", self.low)
        high = _number("Distribution.Uniform", "high", self.high)
        if low > high:
            raise ArgumentError(f"Distribution.Uniform: low is above high: {low} > {high}; exchange them")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def __repr__(self) -> str:
        return f"Distribution.Uniform({self.low!r}, {self.high!r})"


@dataclass(frozen=True)
class Normal(Distribution):
    """The bell curve with a `mean` and a standard deviation, `std`.

    >>> Tensor.random([2], burn.Distribution.Normal(10.0, 0.1)).to_data()
    TensorData([10.073793, 9.931156], shape=[2], dtype=f32)
    """

    mean: float
    std: float

    def __post_init__(self) -> None:
        mean = _number("Distribution.Normal", "mean", self.mean)
        std = _number("Distribution.Normal", "std", self.std)
        if std < 0.0:
            raise ArgumentError(f"Distribution.Normal: a standard deviation is 0 or more, got {std}")
        object.__setattr__(self, "mean", mean)
        object.__setattr__(self, "std", std)

    def __repr__(self) -> str:
        return f"Distribution.Normal({self.mean!r}, {self.std!r})"


Distribution.Default = Default()
Distribution.Bernoulli = Bernoulli
Distribution.Uniform = Uniform
Distribution.Normal = Normal
