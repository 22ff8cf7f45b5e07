"""The weights of the networks: the same numbers for every library, in the order in which a network asks for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from burn_bench.benchmark import Array

Network = Callable[[Any, "Weights", Any], Any]


class Weights:
    """The weights of a network. The first pass draws them, later ones hand out what was drawn.

    `place(array, kind)` gives each to the library; a kind is "matrix" (inputs, outputs), "kernel"
    (outputs, inputs, *window) or "vector".
    """

    def __init__(self, place: Callable[[Array, str], Any], seed: int = 7) -> None:
        self.place = place
        self.values: list[Any] = []
        self.kinds: list[str] = []
        self._generator = np.random.default_rng(seed)

    def matrix(self, inputs: int, outputs: int) -> Any:
        """The weight of a linear layer."""
        return self._draw("matrix", (inputs, outputs), math.sqrt(1 / inputs))

    def kernel(self, outputs: int, inputs: int, *window: int) -> Any:
        """The weight of a convolution."""
        return self._draw("kernel", (outputs, inputs, *window), math.sqrt(2 / (inputs * math.prod(window))))

    def vector(self, size: int, mean: float = 0.0) -> Any:
        """A bias, or the scale of a norm."""
        return self._draw("vector", (size,), 0.05, mean)

    def _draw(self, kind: str, shape: tuple[int, ...], deviation: float, mean: float = 0.0) -> Any:
        array = self._generator.standard_normal(shape) * deviation + mean
        value = self.place(array.astype(np.float32), kind)
        self.values.append(value)
        self.kinds.append(kind)
        return value

    @staticmethod
    def given(values: Sequence[Any]) -> Weights:
        """Weights that were drawn before."""
        return _Given(values)


class _Given(Weights):
    def __init__(self, values: Sequence[Any]) -> None:
        self._next = iter(values)

    def _draw(self, kind: str, shape: tuple[int, ...], deviation: float, mean: float = 0.0) -> Any:
        return next(self._next)


def drawn_weights(functions: Any, network: Network, x: Array) -> Weights:
    """The weights that a network asks for, placed by a library."""
    weights = Weights(functions.place)
    network(functions, weights, functions.place(x, "input"))
    return weights
