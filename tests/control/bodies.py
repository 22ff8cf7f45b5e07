"""Random bodies of loops: one list of steps, read on tensors and on NumPy's arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import burn

Values = list[Any]

ROWS, COLUMNS = 3, 4
SHAPES = [(), (COLUMNS,), (ROWS, COLUMNS), (ROWS, ROWS), (0, 2)]


class Tensors:
    """What differs between tensors and arrays, for tensors."""

    def __init__(self, device: Any) -> None:
        self.device = device

    def given(self, array: Any) -> Any:
        return burn.tensor(array, device=self.device)

    def full(self, shape: Any, number: float) -> Any:
        return burn.Tensor.full(shape, number, device=self.device)

    def tanh(self, x: Any) -> Any:
        return x.tanh()

    def sum(self, x: Any, dim: int) -> Any:
        return x.sum_dim(dim)

    def flip(self, x: Any) -> Any:
        return x.transpose()

    def product(self, x: Any, y: Any) -> Any:
        return x.matmul(y)

    def choose(self, test: Any, x: Any, y: Any) -> Any:
        return y.mask_where(test, x)

    def above(self, x: Any, y: Any) -> Any:
        return x.greater(y)

    def row(self, table: Any, at: Any) -> Any:
        return table.select(0, at.reshape((1,))).squeeze_dim(0)


class Arrays:
    """The same for arrays."""

    def given(self, array: Any) -> Any:
        return array

    def full(self, shape: Any, number: float) -> Any:
        return np.full(shape, number, np.float32)

    def tanh(self, x: Any) -> Any:
        return np.tanh(x)

    def sum(self, x: Any, dim: int) -> Any:
        return x.sum(dim, keepdims=True)

    def flip(self, x: Any) -> Any:
        return x.T

    def product(self, x: Any, y: Any) -> Any:
        return x @ y

    def choose(self, test: Any, x: Any, y: Any) -> Any:
        return np.where(test, x, y)

    def above(self, x: Any, y: Any) -> Any:
        return x > y

    def row(self, table: Any, at: Any) -> Any:
        return table[int(at)]


@dataclass
class Body:
    """A random loop: its arrays, and what a step computes, as operations on values by number."""

    carries: Values
    xs: Values
    around: Values
    operations: list[tuple[Any, ...]]
    carried: list[int]
    results: list[int]
    length: int
    reverse: bool

    def step(self, kit: Any, carries: Values, xs: Values, around: Values) -> tuple[Values, Values]:
        """What is carried on, and the results."""
        values = [*carries, *xs, *around]
        for name, *operands in self.operations:
            values.append(_operation(kit, name, [values[n] if isinstance(n, int) else n for n in operands]))
        return [values[n] for n in self.carried], [values[n] for n in self.results]


def _operation(kit: Any, name: str, given: list[Any]) -> Any:
    if name == "full":
        return kit.full(given[0][0], given[0][1])
    if name in ("add", "mul", "sub"):
        x, y = given
        return x + y if name == "add" else x * y if name == "mul" else x - y
    if name == "count":
        return given[0] + 1
    if name == "sum":
        return kit.sum(given[0], len(given[0].shape) - 1)
    return getattr(kit, name)(*given)


def random_body(seed: int) -> Body:
    """A loop whose steps use what is carried, what is scanned and what stands around it, in any way."""
    random = np.random.default_rng(seed)
    length = int(random.choice([0, 1, 2, 3, 5, 40]))
    kinds: list[Any] = [
        SHAPES[random.integers(4 if random.random() < 0.9 else 5)] for _ in range(random.integers(1, 5))
    ]
    kinds += ["int"] * int(random.integers(2)) + ["bool"] * int(random.integers(2))

    def array(kind: Any, *more: int) -> Any:
        if kind == "int":
            return random.integers(0, ROWS, more)
        if kind == "bool":
            return random.random(more) < 0.5
        return (random.normal(size=(*more, *kind)) * 0.5).astype(np.float32)

    scanned: list[Any] = [SHAPES[random.integers(4)] for _ in range(random.integers(0, 3))]
    scanned += ["int"] * int(random.integers(2))
    around: list[Any] = [(COLUMNS, COLUMNS), (ROWS, ROWS), SHAPES[random.integers(4)]]
    known = [*kinds, *scanned, *around]
    carries, xs, closed = [array(k) for k in kinds], [array(k, length) for k in scanned], [array(k) for k in around]
    operations: list[tuple[Any, ...]] = []

    def pick(*wanted: Any) -> int | None:
        found = [n for n, kind in enumerate(known) if kind in wanted]
        return int(random.choice(found)) if found else None

    def add(kind: Any, *operation: Any) -> None:
        if None not in operation:
            operations.append(operation)
            known.append(kind)

    for _ in range(random.integers(0, 14)):
        shape = SHAPES[random.integers(5)]
        x, y = pick(shape), pick(shape)
        match random.integers(10):
            case 0 | 1:
                add(shape, str(random.choice(["add", "mul", "sub"])), x, y)
            case 2:
                add(shape, "tanh", x)
            case 3:
                add((ROWS, COLUMNS), "product", pick((ROWS, COLUMNS)), pick((COLUMNS, COLUMNS)))
            case 4:
                add((ROWS, ROWS), "flip", pick((ROWS, ROWS)))
            case 5:
                add((ROWS, COLUMNS), "add", pick((ROWS, COLUMNS)), pick((COLUMNS,)))
            case 6:
                add("bool", "above", pick(()), pick(()))
            case 7:
                add(shape, "choose", pick("bool"), x, y) if shape == () else add(shape, "full", (shape, 0.25))
            case 8:
                add((COLUMNS,), "row", pick((ROWS, COLUMNS)), pick("int") if scanned[-1:] == ["int"] else None)
            case 9:
                add("int", "count", pick("int"))
    at_rows = [n for n, operation in enumerate(operations) if operation[0] == "row"]
    for n in at_rows:  # indices of rows are scanned: what is counted leaves the dim
        operations[n] = ("row", operations[n][1], len(kinds) + len(scanned) - 1)
    carried = []
    for kind in kinds:
        found = [n for n, other in enumerate(known) if other == kind]
        carried.append(int(random.choice(found[-4:] if random.random() < 0.7 else found)))
    results = [int(random.integers(len(known))) for _ in range(random.integers(1, 5))]
    return Body(carries, xs, closed, operations, carried, results, length, bool(random.random() < 0.3))


def expected(body: Body) -> tuple[Values, list[Values]]:
    """What NumPy makes of it: the last of what is carried, and the results of each step in the order of elements."""
    carries, made = list(body.carries), []
    for position in range(body.length - 1, -1, -1) if body.reverse else range(body.length):
        carries, results = body.step(Arrays(), carries, [each[position] for each in body.xs], body.around)
        made.append(results)
    return carries, made[::-1] if body.reverse else made
