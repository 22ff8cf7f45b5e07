"""Random programs over tensors, as data: what to do, in which order, and what is read or forgotten on the way.

A value is *exact* if every operation on its way rounds correctly or only moves elements: it must then be equal
on every device. Comparisons, roundings and choices are made of exact values only, so that no result hangs on the
last bit of another. Other operations have slopes of about 1, so errors stay near the size of the values.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from burn.device import Device
from burn.tensor import Tensor

Array = np.ndarray[Any, Any]
Draw = Callable[[st.SearchStrategy[Any]], Any]

MOST_ELEMENTS = 4000
SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.0, 1e-42, 3.0)


@dataclass(frozen=True)
class Known:
    """What the generator knows of a value."""

    shape: tuple[int, ...]
    kind: str  # "float", "int" or "bool"
    exact: bool = True


@dataclass(frozen=True)
class Step:
    """An operation on values of the pool, by their numbers."""

    name: str
    operands: tuple[int, ...]
    parameters: tuple[Any, ...] = ()


@dataclass
class RandomProgram:
    """Inputs, steps, and what is known of every value."""

    inputs: list[Array]
    steps: list[Step] = field(default_factory=list)
    known: list[Known] = field(default_factory=list)
    read: list[int] = field(default_factory=list)

    def __repr__(self) -> str:
        lines = [f"%{i} = input {array.dtype}{list(array.shape)}" for i, array in enumerate(self.inputs)]
        number = len(lines)
        for step in self.steps:
            made = "" if step.name in ("read", "forget") else f"%{number} = "
            number += bool(made)
            lines.append(f"{made}{step.name}({', '.join(f'%{n}' for n in step.operands)}; {step.parameters})")
        return "\n".join([*lines, f"read {self.read}"])


# What operations do

UNARY_EXACT: dict[str, Callable[[Any], Any]] = {
    "neg": lambda x: -x,
    "abs": lambda x: x.abs(),
    "root": lambda x: x.abs().sqrt(),
    "relu": lambda x: x.relu(),
    "clamp": lambda x: x.clamp(-1.0, 1.5),
    "floor": lambda x: x.floor(),
    "round": lambda x: x.round(),
    "sign": lambda x: x.sign(),
    "recip": lambda x: (x.abs() + 1.0).recip(),
    "twice": lambda x: x + x,
}
UNARY_SMOOTH: dict[str, Callable[[Any], Any]] = {
    "tanh": lambda x: x.tanh(),
    "sin": lambda x: x.sin(),
    "sigmoid": lambda x: x.sigmoid(),
    "erf": lambda x: x.erf(),
    "gelu": lambda x: x.gelu(),
    "exp": lambda x: (-x.abs()).exp(),
    "log": lambda x: (x.abs() + 1.0).log(),
}
ROWS: dict[str, Callable[[Any, int], Any]] = {
    "softmax": lambda x, dim: x.softmax(dim),
    "log_softmax": lambda x, dim: x.log_softmax(dim),
    "normalise": lambda x, dim: (x - x.mean_dim(dim)) / ((x - x.mean_dim(dim)).abs().mean_dim(dim) + 0.1),
    "cumsum": lambda x, dim: x.cumsum(dim),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "max_pair": lambda x, y: x.max_pair(y),
    "min_pair": lambda x, y: x.min_pair(y),
    "divide": lambda x, y: x / (y.abs() + 1.0),
}
SCALAR: dict[str, Callable[[Any, float], Any]] = {
    "add_number": lambda x, s: x + s,
    "subtract_from": lambda x, s: s - x,
    "scale": lambda x, s: x * s,
    "divide_by": lambda x, s: x / s,
}
INT: dict[str, Callable[[Any], Any]] = {
    "int_neg": lambda x: -x,
    "int_abs": lambda x: x.abs(),
    "int_next": lambda x: x + 1,
    "int_triple": lambda x: x * 3,
    "int_rem": lambda x: x % 3,
    "int_square": lambda x: x * x,
}
COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "greater": lambda x, y: x.greater(y),
    "lower_equal": lambda x, y: x.lower_equal(y),
    "equal": lambda x, y: x.equal(y),
}
VIEWS: dict[str, Callable[..., Any]] = {
    "reshape": lambda x, shape: x.reshape(shape),
    "permute": lambda x, order: x.permute(order),
    "flip": lambda x, dims: x.flip(dims),
    "expand": lambda x, shape: x.reshape((1, *x.shape)).expand(shape),
    "narrow": lambda x, dim, start, length: x.narrow(dim, start, length),
    "every_second": lambda x: x[::2],
}
REDUCE: dict[str, Callable[..., Any]] = {
    "sum_dims": lambda x, dims: x.sum_dims(dims),
    "mean_dims": lambda x, dims: x.mean_dims(dims),
    "max_dims": lambda x, dims: x.max_dims(dims),
    "min_dims": lambda x, dims: x.min_dims(dims),
}
OTHER: dict[str, Callable[..., Any]] = {
    "to_int": lambda x: x.int(),
    "to_float": lambda x: x.float(),
    "to_bool": lambda x: x.bool(),
    "bool_not": lambda x: x.bool_not(),
    "any": lambda x, dims: x.any_dims(dims),
    "where": lambda x, mask, y: x.mask_where(mask, y),
    "fill": lambda x, mask: x.mask_fill(mask, -2.5),
    "matmul": lambda x: x.matmul(x.transpose()),
    "cat": lambda x, y, dim: Tensor.cat([x, y, x], dim),
    "select": lambda x, dim, indices: x.select(dim, Tensor.from_data(np.array(indices), x.device)),
    "gather": lambda x, dim: x.gather(dim, _cycle(x, dim)),
    "scatter": lambda x, dim: x.scatter(dim, _cycle(x, dim), x),
    "argmax": lambda x, dim: x.argmax(dim),
    "pad": lambda x: x.pad([(1, 2)], 0.5),
}
APPLY = {
    **UNARY_EXACT, **UNARY_SMOOTH, **ROWS, **BINARY, **SCALAR, **INT, **COMPARE, **VIEWS, **REDUCE, **OTHER,
}  # fmt: skip


def _cycle(x: Any, dim: int) -> Any:
    """Indices along a dim that go round it by twos."""
    places = (np.indices(tuple(x.shape))[dim] * 2 + 1) % max(1, x.shape[dim])
    return Tensor.from_data(places, x.device)


def run(program: RandomProgram, device: Device, inputs: list[Any] | None = None) -> list[tuple[int, Array]]:
    """Every value that is read, in the order of reading, with its number."""
    values: list[Any] = inputs or [Tensor.from_data(array, device) for array in program.inputs]
    found = []
    for step in program.steps:
        if step.name == "read":
            found.append((step.operands[0], np.asarray(values[step.operands[0]])))
        elif step.name == "forget":
            values[step.operands[0]] = None
        else:
            values.append(APPLY[step.name](*(values[n] for n in step.operands), *step.parameters))
    found += [(number, np.asarray(values[number])) for number in program.read]
    return found


# Drawing programs

sizes = st.sampled_from((1, 2, 3, 4, 5, 7, 17, 33))


@st.composite
def shapes(draw: Draw, empty: bool = True) -> tuple[int, ...]:
    """Up to four dims, most of them short, a few of them empty."""
    shape = tuple(draw(st.lists(sizes, max_size=4)))
    if empty and shape and draw(st.integers(0, 19)) == 0:
        shape = (*shape[:-1], 0)
    while math.prod(shape) > MOST_ELEMENTS:
        shape = shape[1:]
    return shape


@st.composite
def programs(draw: Draw, smooth: bool = True, special: bool = False, differentiable: bool = False) -> RandomProgram:
    """A program of up to twenty-four operations; without `smooth` all of its values are exact."""
    writer = _Writer(draw, smooth, differentiable)
    random = np.random.default_rng(draw(st.integers(0, 1 << 16)))
    shape = draw(shapes(empty=not differentiable))
    for given in (shape, draw(st.sampled_from((shape, shape[-1:], tuple(1 for _ in shape), ())))):
        array = random.uniform(-3.0, 3.0, given).astype(np.float64 if differentiable else np.float32)
        if special and array.size:
            array = np.where(random.random(given) < 0.3, random.choice(SPECIAL, given), array).astype(np.float32)
        writer.add_input(array)
    if not differentiable:
        writer.add_input(random.integers(-5, 6, shape))
    for _ in range(draw(st.sampled_from((1, 2, 4, 8, 12, 16, 20, 24)))):
        writer.step()
    return writer.finish()


class _Writer:
    """Draws one step after the other; every step fits the values that there are."""

    def __init__(self, draw: Draw, smooth: bool, differentiable: bool) -> None:
        self.draw, self.smooth, self.differentiable = draw, smooth, differentiable
        self.program = RandomProgram([])
        self.live: list[int] = []
        self.kept = 0

    def add_input(self, array: Array) -> None:
        self.program.inputs.append(array)
        self._add(Known(array.shape, "int" if array.dtype.kind == "i" else "float"))

    def _add(self, known: Known) -> None:
        self.live.append(len(self.program.known))
        self.program.known.append(known)

    def finish(self) -> RandomProgram:
        last = self.live[-3:]
        self.program.read = self.draw(st.permutations(last))
        return self.program

    def pick(self, *kinds: str, exact: bool = False) -> int | None:
        """A value of some kind, the newest ones most often."""
        known = self.program.known
        fitting = [n for n in self.live if known[n].kind in kinds and (known[n].exact or not exact)]
        return self.draw(st.sampled_from(fitting[-4:])) if fitting else None

    def make(self, name: str, operands: tuple[int, ...], made: Known, *parameters: Any) -> None:
        if math.prod(made.shape) > MOST_ELEMENTS:
            return
        exact = made.exact and all(self.program.known[n].exact for n in operands)
        self.program.steps.append(Step(name, operands, parameters))
        self._add(replace(made, exact=exact))

    def step(self) -> None:
        families = [self.unary, self.binary, self.binary, self.scalar, self.view, self.view, self.reduce, self.join]
        if self.smooth:
            families += [self.unary_smooth, self.rows, self.matmul]
        if not self.differentiable:
            families += [self.ints, self.compare, self.choose, self.convert, self.look, self.forget, self.index]
        self.draw(st.sampled_from(families))()

    def unary(self) -> None:
        x = self.pick("float")
        if x is not None:
            known = self.program.known[x]
            name = self.draw(st.sampled_from(list(UNARY_EXACT)))
            if not known.exact and name in ("floor", "round", "sign"):
                return
            if self.differentiable and name in ("root", "sign", "floor", "round"):
                return
            self.make(name, (x,), known)

    def unary_smooth(self) -> None:
        x = self.pick("float")
        if x is not None:
            name = self.draw(st.sampled_from(list(UNARY_SMOOTH)))
            self.make(name, (x,), replace(self.program.known[x], exact=False))

    def rows(self) -> None:
        x = self.pick("float")
        if x is not None and self.program.known[x].shape and 0 not in self.program.known[x].shape:
            shape = self.program.known[x].shape
            name, dim = self.draw(st.sampled_from(list(ROWS))), self.draw(st.integers(0, len(shape) - 1))
            self.make(name, (x,), Known(shape, "float", False), dim)

    def matmul(self) -> None:
        x = self.pick("float")
        if x is not None and len(self.program.known[x].shape) >= 2:
            *batch, rows, _ = self.program.known[x].shape
            self.make("matmul", (x,), Known((*batch, rows, rows), "float", False))

    def _pair(self, kind: str, exact: bool = False) -> tuple[int, int, tuple[int, ...]] | None:
        x, y = self.pick(kind, exact=exact), self.pick(kind, exact=exact)
        if x is None or y is None:
            return None
        try:
            shape = np.broadcast_shapes(self.program.known[x].shape, self.program.known[y].shape)
        except ValueError:
            return None
        return x, y, shape

    def binary(self) -> None:
        found = self._pair("float")
        if found is not None:
            x, y, shape = found
            name = self.draw(st.sampled_from(list(BINARY)))
            if self.differentiable and name.endswith("pair"):
                return
            self.make(name, (x, y), Known(shape, "float"))

    def scalar(self) -> None:
        x = self.pick("float")
        if x is not None:
            name = self.draw(st.sampled_from(list(SCALAR)))
            number = self.draw(st.sampled_from((0.5, 1.0, -1.0, 2.0, 3.7)))
            self.make(name, (x,), self.program.known[x], number)

    def view(self) -> None:
        x = self.pick("float", "int", "bool")
        if x is None:
            return
        known = self.program.known[x]
        shape = known.shape
        name = self.draw(st.sampled_from(list(VIEWS)))
        if name == "reshape":
            count = math.prod(shape)
            targets = [(count,), (1, count), (count, 1)]
            targets += [(count // d, d) for d in (2, 3, 5, 7) if count and count % d == 0]
            target = self.draw(st.sampled_from(targets))
            self.make(name, (x,), replace(known, shape=target), target)
        elif name == "permute" and shape:
            order = tuple(self.draw(st.permutations(range(len(shape)))))
            self.make(name, (x,), replace(known, shape=tuple(shape[d] for d in order)), order)
        elif name == "flip" and shape:
            dims = tuple(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1)))
            self.make(name, (x,), known, dims)
        elif name == "expand" and len(shape) < 4:
            target = (self.draw(st.integers(1, 3)), *shape)
            self.make(name, (x,), replace(known, shape=target), target)
        elif name == "narrow" and shape:
            dim = self.draw(st.integers(0, len(shape) - 1))
            start = self.draw(st.integers(0, shape[dim]))
            length = self.draw(
                st.integers(0 if not self.differentiable else min(1, shape[dim] - start), shape[dim] - start)
            )
            target = (*shape[:dim], length, *shape[dim + 1 :])
            self.make(name, (x,), replace(known, shape=target), dim, start, length)
        elif name == "every_second" and shape:
            self.make(name, (x,), replace(known, shape=((shape[0] + 1) // 2, *shape[1:])))

    def _dims(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(self.draw(st.sets(st.integers(0, len(shape) - 1), min_size=1))))

    def reduce(self) -> None:
        x = self.pick("float", "int")
        if x is None or not self.program.known[x].shape or 0 in self.program.known[x].shape:
            return
        known = self.program.known[x]
        dims = self._dims(known.shape)
        name = self.draw(st.sampled_from(list(REDUCE)))
        chooses = name in ("max_dims", "min_dims")
        if (self.differentiable and chooses) or (not self.smooth and known.kind == "float" and not chooses):
            return
        target = tuple(1 if d in dims else size for d, size in enumerate(known.shape))
        self.make(name, (x,), replace(known, shape=target, exact=chooses or known.kind == "int"), dims)

    def join(self) -> None:
        x, y = self.pick("float"), self.pick("float")
        if x is None or y is None:
            return
        shape = self.program.known[x].shape
        if shape and shape == self.program.known[y].shape:
            dim = self.draw(st.integers(0, len(shape) - 1))
            self.make("cat", (x, y), Known((*shape[:dim], shape[dim] * 3, *shape[dim + 1 :]), "float"), dim)
        elif shape:
            self.make("pad", (x,), Known((*shape[:-1], shape[-1] + 3), "float"))

    def index(self) -> None:
        x = self.pick("float", "int")
        if x is None or not self.program.known[x].shape:
            return
        known = self.program.known[x]
        dim = self.draw(st.integers(0, len(known.shape) - 1))
        size = known.shape[dim]
        if size == 0:
            return
        name = self.draw(st.sampled_from(("select", "gather", "scatter", "argmax")))
        if name == "select":
            indices = tuple(self.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=5)))
            target = (*known.shape[:dim], len(indices), *known.shape[dim + 1 :])
            self.make(name, (x,), replace(known, shape=target), dim, indices)
        elif name == "argmax":
            if known.exact:
                target = tuple(1 if d == dim else each for d, each in enumerate(known.shape))
                self.make(name, (x,), Known(target, "int"), dim)
        else:
            self.make(name, (x,), replace(known, exact=name == "gather" or known.kind == "int"), dim)

    def ints(self) -> None:
        x = self.pick("int")
        if x is not None:
            self.make(self.draw(st.sampled_from(list(INT))), (x,), self.program.known[x])

    def compare(self) -> None:
        found = self._pair(self.draw(st.sampled_from(("float", "int"))), exact=True)
        if found is not None:
            x, y, shape = found
            self.make(self.draw(st.sampled_from(list(COMPARE))), (x, y), Known(shape, "bool"))

    def choose(self) -> None:
        x, mask, y = self.pick("float"), self.pick("bool"), self.pick("float")
        if x is None or mask is None or y is None:
            return
        known = self.program.known
        if known[x].shape == known[mask].shape == known[y].shape:
            self.make("where", (x, mask, y), Known(known[x].shape, "float"))
        elif known[x].shape == known[mask].shape:
            self.make("fill", (x, mask), Known(known[x].shape, "float"))

    def convert(self) -> None:
        name = self.draw(st.sampled_from(("to_int", "to_float", "to_bool", "bool_not", "any")))
        kinds = {"to_int": ("float", "bool"), "to_float": ("int", "bool"), "to_bool": ("float", "int")}
        x = self.pick(*kinds.get(name, ("bool",)), exact=True)
        if x is None:
            return
        known = self.program.known[x]
        if name == "any":
            if known.shape:
                dims = self._dims(known.shape)
                target = tuple(1 if d in dims else size for d, size in enumerate(known.shape))
                self.make(name, (x,), Known(target, "bool"), dims)
            return
        self.make(name, (x,), Known(known.shape, {"to_int": "int", "to_float": "float"}.get(name, "bool")))

    def look(self) -> None:
        self.program.steps.append(Step("read", (self.draw(st.sampled_from(self.live)),)))

    def forget(self) -> None:
        """Drop a value: its memory may then be used for the next one."""
        if len(self.live) > 3:
            number = self.draw(st.sampled_from(self.live))
            self.live.remove(number)
            self.program.steps.append(Step("forget", (number,)))
