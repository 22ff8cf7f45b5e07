"""Sample calls of a row, the calls it must refuse, and what PyTorch answers.

A sample holds the arguments in the order of the row's signature; NumPy arrays stand for tensors, a
list of arrays for a sequence of tensors. Floats are given as float64: the tests make f32 and half
precision versions of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

SAMPLES: dict[str, Callable[[], Iterable[Sample]]] = {}
ORACLES: dict[str, Callable[..., Any]] = {}
REFUSED: dict[str, list[Refusal]] = {}


@dataclass
class Sample:
    """One call. `grad=False` where the gradient jumps; `tolerance` where the row is less exact by nature."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    grad: bool = True
    half: bool = True
    oracle: bool = True
    tolerance: float | None = None


@dataclass
class Refusal:
    """A call that must raise `error` with a message that matches `match`."""

    args: tuple[Any, ...]
    error: type[Exception]
    match: str
    kwargs: dict[str, Any] = field(default_factory=dict)


def call(*args: Any, grad: bool = True, half: bool = True, oracle: bool = True, tolerance: float | None = None,
         **kwargs: Any) -> Sample:  # fmt: skip
    """A sample, written like the call it stands for."""
    return Sample(args, kwargs, grad, half, oracle, tolerance)


def samples(*names: str, oracle: Callable[..., Any] | None = None) -> Callable[[Any], Any]:
    """Register a generator of samples for rows, and what PyTorch computes (on torch tensors)."""

    def register(generator: Callable[[], Iterable[Sample]]) -> Any:
        for name in names:
            assert name not in SAMPLES, f"{name} has samples already"
            SAMPLES[name] = generator
            if oracle is not None:
                ORACLES[name] = oracle
        return generator

    return register


def refused(name: str, *args: Any, error: type[Exception], match: str, **kwargs: Any) -> None:
    """Register a call that `name` must refuse."""
    REFUSED.setdefault(name, []).append(Refusal(args, error, match, kwargs))


def random(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> np.ndarray[Any, Any]:
    """Floats between `low` and `high`, the same for the same arguments."""
    key = [seed, *shape, int(abs(low) * 100), int(abs(high) * 100)]
    return np.random.default_rng(key).uniform(low, high, shape)


def integers(*shape: int, seed: int = 0, low: int = -5, high: int = 6, dtype: Any = np.int64) -> np.ndarray[Any, Any]:
    """Ints from `low` up to, but not including, `high`."""
    return np.random.default_rng([seed, *shape]).integers(low, high, shape).astype(dtype)


def booleans(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Truth values."""
    return np.random.default_rng([seed, *shape]).integers(0, 2, shape).astype(bool)


def distinct(*shape: int, seed: int = 0) -> np.ndarray[Any, Any]:
    """Floats no two of which are close: for sorting, maxima and pooling."""
    count = int(np.prod(shape))
    return np.random.default_rng([seed, count]).permutation(count).reshape(shape) * 0.37 - count * 0.18
