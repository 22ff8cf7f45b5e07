"""Replaying: the numbers of this call, and results built as the recording saw them."""

from __future__ import annotations

from typing import Any

import numpy as np

from burn.backend.autodiff import Autodiff
from burn.backend.autodiff.graph import Leaf, Variable
from burn.backend.fusion.handle import Lazy
from burn.backend.fusion.stream import Draw
from burn.capture.recording import Capture
from burn.tensor import Tensor
from burn.tree import Structure, flatten


def run_time_numbers(capture: Capture, arguments: list[float]) -> list[Any]:
    """The run-time numbers of a replay; random draws take their place in the device's stream."""
    numbers: list[Any] = []
    for scalar in capture.scalars:
        if scalar.__class__ is float:
            numbers.append(scalar)
        elif isinstance(scalar, Draw):
            if scalar.what == "seed":
                place = capture.device.generator().reserve(scalar.count)
                numbers.append(place[0])
            else:
                numbers.append(place[1])
        else:
            numbers.append(scalar.evaluate(arguments))
    return numbers


def made_result(template: Any, made: list[Lazy], leaves: list[Any], numbers: list[float]) -> Any:
    kind = template[0]
    if kind == "output":
        _, position, device, tracked = template
        handle: Any = made[position]
        shape, dtype = handle.shape, handle.dtype
        layers = []
        while isinstance(device, Autodiff):
            layers.append(device)
            device = device.below
        for number, _layer in enumerate(reversed(layers)):
            last = number == len(layers) - 1
            handle = Variable(handle, Leaf(None, ()) if tracked and last else None)
        return Tensor(handle, template[2], dtype, shape)
    if kind == "argument":
        return leaves[template[1]]
    return template[1].evaluate(numbers) if kind == "number" else template[1]


def is_donated(source: int, donate: tuple[int, ...], structure: Structure) -> bool:
    """Whether leaf `source` belongs to a donated positional argument."""
    if not donate:
        return False
    first = 0
    for position, child in enumerate(structure.children[0].children):
        count = child.leaf_count()
        if first <= source < first + count:
            return position in donate
        first += count
    return False


def compare_results(result: Any, expected: Any, function: Any) -> None:
    """Raise unless a replay gave what a plain call gives."""
    mine, theirs = flatten(result)[0], flatten(expected)[0]
    for position, (one, other) in enumerate(zip(mine, theirs, strict=True)):
        left, right = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        if left.shape != right.shape or not np.allclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True):
            raise AssertionError(
                f"compile: replaying {getattr(function, '__qualname__', function)} gave another result {position} "
                "than a plain call: its Python part depends on something that is neither argument, closure nor global"
            )
