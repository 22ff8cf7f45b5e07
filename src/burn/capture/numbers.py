"""The run-time numbers of a capture, worked out anew for every call.

Scalars that a function computed from its float arguments are straight-line arithmetic: each distinct
one is computed once, in order. Random draws take their place in the device's stream.
"""

from __future__ import annotations

from typing import Any

from burn.backend.fusion import Fusion
from burn.backend.fusion.stream import Draw
from burn.scalar import Scalar


class Numbers:
    """How to get the numbers of a plan, and those among the results, from the floats of a call."""

    def __init__(self, device: Fusion[Any], arguments: int, scalars: list[Any], results: list[Scalar]) -> None:
        self._generator = device.generator
        self._arguments = arguments
        self._literals: list[float] = []
        self._steps: list[tuple[Any, tuple[int, ...]]] = []
        self._draws: list[tuple[int, int]] = []  # where a seed stands among the numbers, and the words drawn
        self._places: dict[Any, int] = {}
        self._fixed: tuple[list[Any], list[float]] | None = None
        pending: list[Any] = []
        for scalar in (*scalars, *results):
            if isinstance(scalar, Draw) and scalar.what == "fixed":
                pending.append(scalar.value)
            elif isinstance(scalar, Draw):
                if scalar.what == "seed":
                    self._draws.append((len(pending), scalar.count))
                pending.append(0.0)
            else:
                pending.append(scalar)
        literals: dict[Any, int] = {}
        for number in self._literals_of(pending):
            literals.setdefault(_key(number), len(literals))
            if len(literals) > len(self._literals):
                self._literals.append(number)
        self._literal_places: dict[Any, int] = {key: arguments + place for key, place in literals.items()}
        places = [self._place(each) for each in pending]
        self._picks, self._result_picks = places[: len(scalars)], places[len(scalars) :]
        if not arguments and not self._draws:
            self._fixed = self.of([])

    @property
    def are_fixed(self) -> bool:
        """Whether every call has the same numbers."""
        return self._fixed is not None

    def _literals_of(self, scalars: list[Any]) -> list[float]:
        found: list[float] = []
        waiting = list(scalars)
        while waiting:
            each = waiting.pop()
            if isinstance(each, Scalar):
                waiting += each.operands
            else:
                found.append(each)
        return found

    def _place(self, scalar: Any) -> int:
        """Where the value of a scalar will stand; adds the steps that compute it."""
        if not isinstance(scalar, Scalar):
            return self._literal_places[_key(scalar)]
        if scalar.compute is None:
            return scalar.index
        identity = scalar.identity()
        found = self._places.get(identity)
        if found is None:
            operands = tuple([self._place(each) for each in scalar.operands])
            found = self._arguments + len(self._literals) + len(self._steps)
            self._steps.append((scalar.compute, operands))
            self._places[identity] = found
        return found

    def of(self, arguments: list[float]) -> tuple[list[Any], list[float]]:
        """The numbers of the plan, and those among the results. Equal lists are the same list."""
        if self._fixed is not None:
            return self._fixed
        values = arguments + self._literals
        for compute, operands in self._steps:
            if len(operands) == 2:
                first, second = operands
                values.append(compute(values[first], values[second]))
            else:
                values.append(compute(*[values[each] for each in operands]))
        numbers: list[Any] = [values[pick] for pick in self._picks]
        if self._draws:
            generator = self._generator()
            for position, count in self._draws:
                numbers[position], numbers[position + 1] = generator.reserve(count)
        return numbers, [values[pick] for pick in self._result_picks]


def _key(number: Any) -> Any:
    """Distinguishes 0.0 from -0.0 and 1 from 1.0."""
    return (number.__class__, str(number))
