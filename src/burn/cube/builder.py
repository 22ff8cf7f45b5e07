"""The builder of kernels: parameters, loops over axes, loads and stores, and one method per operation.

    b = KernelBuilder()
    x, out = b.buffer(f32), b.buffer(f32, write=True)
    rows, columns = b.size(), b.size()
    with b.grid(rows) as i:
        total = b.reduce(columns, "sum", lambda j: b.load(x, i * columns + j))
        with b.lane(columns) as j:
            b.store(out, i * columns + j, b.load(x, i * columns + j) / total)
    kernel = b.finish()

Values take Python's operators; a Python number beside a value takes its dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from burn.cube.elementary import Elementary
from burn.cube.errors import KernelError
from burn.cube.ir import Buffer, Kernel, Operand, Parameter, Value
from burn.cube.operations import ATOMICS, PURE, VECTORS
from burn.cube.recorder import constant_of, drop_unused
from burn.cube.reductions import REDUCTIONS
from burn.dtype import HALVES, DType, bool_, f32, f64, i64

Body = Callable[..., "Value | Sequence[Value]"]


def _several(result: Value | Sequence[Value] | None) -> tuple[Value, ...]:
    if result is None:
        return ()
    return (result,) if isinstance(result, Value) else tuple(result)


def _single(values: tuple[Value, ...]) -> Any:
    return values[0] if len(values) == 1 else values


class KernelBuilder(Elementary):
    """Writes one kernel. Parameters are positional: the order of the calls is the order of the slots."""

    def __init__(self, *, index_width: int = 64) -> None:
        super().__init__()
        if index_width not in (32, 64):
            raise KernelError(f"kernel: index_width is 32 or 64, not {index_width}")
        self.index_width = index_width
        self._parameters: list[Parameter] = []
        self._buffers: list[Buffer] = []

    # Parameters

    def buffer(self, dtype: DType, *, write: bool = False, read: bool | None = None) -> Buffer:
        """A buffer the kernel reads; with `write=True` one it writes; with both, one it reads and writes."""
        read = not write if read is None else read
        access = {(True, False): "read", (False, True): "write", (True, True): "read-write"}.get((read, write))
        if access is None:
            raise KernelError("buffer: a buffer that is neither read nor written has no use")
        if not dtype.is_arithmetic:
            raise KernelError(f"buffer: {dtype.name} is a storage dtype; kernels take arithmetic ones")
        buffer = Buffer(dtype, access)
        self._parameters.append(Parameter("buffer", dtype, buffer=buffer))
        return buffer

    def size(self) -> Value:
        """A run-time size: an i64 that is the same for the whole launch."""
        return self._parameter("size", i64)

    def scalar(self, dtype: DType) -> Value:
        """A run-time number that is the same for the whole launch."""
        if dtype in HALVES:
            raise KernelError(f"scalar: pass {dtype.name} scalars as f32")
        return self._parameter("scalar", dtype)

    def _parameter(self, kind: str, dtype: DType) -> Value:
        value = self._own(Value(dtype), self._scopes[0])
        self._parameters.append(Parameter(kind, dtype, value=value))
        return value

    def shared(self, dtype: DType, count: int) -> Buffer:
        """An array of one grid iteration (a block's shared memory), not initialised."""
        self._buffers.append(Buffer(dtype, "read-write", space="shared", count=count))
        return self._buffers[-1]

    def table(self, dtype: DType, values: Sequence[float | int]) -> Buffer:
        """A constant array."""
        held = tuple(constant_of(each, dtype) for each in values)
        for each in self._buffers:
            if each.space == "table" and each.dtype is dtype and each.values == held:
                return each
        self._buffers.append(Buffer(dtype, "read", space="table", count=len(held), values=held))
        return self._buffers[-1]

    # Axes

    @contextmanager
    def _loop(self, kind: str, extent: Operand) -> Iterator[Value]:
        bound = self._lift(i64, extent)
        self._check(kind, bound)
        region = self._push("loop", (i64,))
        yield region.arguments[0]
        self._pop()
        self._append(kind, (bound,), regions=(region,))

    def grid(self, extent: Operand) -> Any:
        """An axis of independent iterations; the outermost one is split between threads."""
        return self._loop("grid", extent)

    def lane(self, extent: Operand) -> Any:
        """An axis of independent iterations that run side by side in vector registers."""
        return self._loop("lane", extent)

    def serial(self, extent: Operand) -> Any:
        """An axis whose iterations follow each other; `loop` is the form that carries values."""
        return self._loop("serial", extent)

    def loop(self, extent: Operand, first: Value | Sequence[Value], body: Body) -> Any:
        """A serial axis with carried values: `body(index, *carried)` gives the next ones."""
        bound, carried = self._lift(i64, extent), _several(first)
        region = self._push("loop", (i64, *(each.dtype for each in carried)))
        results = _several(body(*region.arguments))
        self._pop(results)
        return _single(
            self._append("serial", (bound, *carried), tuple(each.dtype for each in carried), regions=(region,))
        )

    def reduce(
        self,
        extent: Operand,
        combine: str | Sequence[str],
        body: Body,
        *,
        init: Operand | None = None,
    ) -> Any:
        """Reduce `body(index)` over an axis: by "sum", "prod", "max", "min", "any", "all", "argmax" or "argmin".

        With a list of names, `body` gives as many values and the results come as a tuple, from one loop.
        The order is fixed (see `burn.cube.ir`). `init` is combined with the result of a single reduction.
        """
        names = [combine] if isinstance(combine, str) else list(combine)
        unknown = [each for each in names if each not in REDUCTIONS]
        if unknown:
            raise KernelError(f"reduce: unknown reduction {unknown[0]!r}; known are {', '.join(REDUCTIONS)}")
        kinds = [REDUCTIONS[each] for each in names]
        dtypes: list[DType] = []
        identities: list[Value] = []

        def contributions(index: Value) -> list[Value]:
            values = _several(body(index))
            if len(values) != len(kinds):
                raise KernelError(f"reduce: {len(kinds)} reductions over {len(values)} values")
            given: list[Value] = []
            for kind, value in zip(kinds, values):
                dtypes.append(value.dtype)
                given.extend(kind.contribution(self, value, index))
                for dtype, number in zip(kind.carried(value.dtype), kind.identity(value.dtype)):
                    identities.append(self.const(dtype, number))
            return given

        def combined(*values: Value) -> list[Value]:
            left, right = values[: len(values) // 2], values[len(values) // 2 :]
            result: list[Value] = []
            for kind, dtype in zip(kinds, dtypes):
                start, count = len(result), len(kind.carried(dtype))
                result.extend(kind.combine(self, left[start : start + count], right[start : start + count]))
            return result

        folded = iter(self._fold(extent, identities, combined, contributions))
        results = []
        for kind, dtype in zip(kinds, dtypes):
            results.append([next(folded) for _ in kind.carried(dtype)][-1])
        if init is not None:
            if len(kinds) != 1 or names[0].startswith("arg"):
                raise KernelError("reduce: init goes with one reduction that gives a value")
            start = self._lift(dtypes[0], init)
            results = list(kinds[0].combine(self, (start,), (results[0],)))
        return results[0] if isinstance(combine, str) else tuple(results)

    def fold(self, extent: Operand, identities: Sequence[Value], combine: Body, body: Body) -> Any:
        """Reduce by a combination of your own: `combine(*left, *right)` must be associative.

        `body(index)` gives as many values as there are identities.
        """
        return _single(self._fold(extent, list(identities), combine, body))

    def _fold(self, extent: Operand, identities: list[Value], combine: Body, body: Body) -> tuple[Value, ...]:
        bound = self._lift(i64, extent)
        region = self._push("loop", (i64,))
        self._pop(_several(body(region.arguments[0])))
        dtypes = tuple(each.dtype for each in region.results)
        combination = self._push("combine", dtypes * 2)
        self._pop(_several(combine(*combination.arguments)))
        return self._append("reduce", (bound, *identities), dtypes, regions=(region, combination))

    # Branches

    def branch(self, condition: Value, then: Callable[[], Any], otherwise: Callable[[], Any] | None = None) -> Any:
        """Run one of two bodies. Their results, equal in number and dtype, are the branch's."""
        first = self._push("if", ())
        self._pop(_several(then()))
        second = self._push("if", ())
        self._pop(_several(otherwise() if otherwise is not None else None))
        dtypes = tuple(each.dtype for each in first.results)
        results = self._append("if", (condition,), dtypes, regions=(first, second))
        return _single(results) if results else None

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Run the body only where the condition holds."""
        self._check("if", condition)
        first = self._push("if", ())
        yield
        self._pop()
        second = self._push("if", ())
        self._pop()
        self._append("if", (condition,), regions=(first, second))

    # Memory

    def load(self, buffer: Buffer, index: Operand, *, raw: bool = False, width: int = 1) -> Value:
        """Read an element. f16 and bf16 come as f32, unless `raw`."""
        attributes = (("width", width),) if width != 1 else ()
        position = self._lift(i64, index)
        (value,) = self._append("load", (position,), (buffer.dtype,), width=width, buffer=buffer, attributes=attributes)
        return self.cast(value, f32) if buffer.dtype in HALVES and not raw else value

    def store(self, buffer: Buffer, index: Operand, value: Operand) -> None:
        """Write an element. f32 and f64 are rounded to f16 or bf16 where the buffer holds those."""
        if not isinstance(value, Value):
            value = self.const(buffer.dtype, value)
        if buffer.dtype in HALVES and value.dtype in (f32, f64):
            value = self.cast(value, buffer.dtype)
        self._append("store", (self._lift(i64, index), value), buffer=buffer)

    def atomic(self, kind: str, buffer: Buffer, index: Operand, value: Operand) -> Value:
        """Read, combine ("add", "min", "max", "exchange") and write an element at once; gives the old one."""
        if f"atomic_{kind}" not in ATOMICS:
            raise KernelError(f"atomic: unknown kind {kind!r}; known are add, min, max, exchange")
        operands = (self._lift(i64, index), self._lift(buffer.dtype, value))
        return self._append(f"atomic_{kind}", operands, (buffer.dtype,), buffer=buffer)[0]

    def barrier(self) -> None:
        """Wait for every unit of the block."""
        self._append("barrier", ())

    def topology(self, name: str, dimension: int = 0) -> Value:
        """A position or dimension of the launch, such as "unit_position"; `@cube` lowers these to axes."""
        return self._pure("topology", (), which=name, dimension=dimension)

    def plane_any(self, condition: Value) -> Value:
        """Whether the condition holds in any lane that runs beside this one: uniform, and at least `condition`."""
        return self._append("plane_any", (condition,), (bool_,))[0]

    # Vectors

    def vector(self, *values: Value) -> Value:
        """A short vector of equal dtypes."""
        return self._append("vector", values, (values[0].dtype,), width=len(values))[0]

    def extract(self, vector: Value, lane: int) -> Value:
        """One element of a short vector."""
        return self._append("extract", (vector,), (vector.dtype,), attributes=(("lane", lane),))[0]

    def finish(self, verified: bool = True) -> Kernel:
        """The kernel, verified unless told otherwise."""
        from burn.cube.verifier import verify

        if len(self._scopes) != 1:
            raise KernelError("finish: a loop or a branch is still open")
        body = self._pop()
        self._finished = True
        drop_unused(body, PURE | VECTORS)
        kernel = Kernel(tuple(self._parameters), tuple(self._buffers), body, self.index_width)
        if verified:
            verify(kernel)
        return kernel
