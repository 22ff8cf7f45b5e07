"""The part of the builder that keeps order: scopes, constants, and where an operation goes.

A pure operation is written once, in the outermost loop that has its operands, so that kernels come out
without repeated or loop-invariant work whoever builds them. Branches are never left: what is computed in
one arm is computed only there.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from burn.cube.errors import KernelError
from burn.cube.ir import Buffer, Operand, Operation, Region, Value
from burn.cube.operations import result_dtype
from burn.dtype import DType


class Scope:
    """A region under construction."""

    __slots__ = ("cache", "depth", "kind", "region")

    def __init__(self, kind: str, depth: int, region: Region) -> None:
        self.kind = kind
        self.depth = depth
        self.region = region
        self.cache: dict[Any, Value] = {}


def constant_of(value: float | int | bool, dtype: DType) -> float | int | bool:
    """The number that `dtype` holds for a Python number: rounded, or wrapped as integers do."""
    if dtype.is_bool:
        return bool(value)
    if dtype.is_int:
        if isinstance(value, float) and value != int(value):
            raise KernelError(f"const: {value} is not an integer, as {dtype.name} needs")
        wrapped = int(value) & ((1 << dtype.bits) - 1)
        return wrapped - (1 << dtype.bits) if not dtype.is_uint and wrapped >> (dtype.bits - 1) else wrapped
    number = float(value)
    if dtype.bits == 64 or math.isnan(number) or math.isinf(number):
        return number
    if dtype.name == "f32":
        try:
            return float(struct.unpack("f", struct.pack("f", number))[0])
        except OverflowError:
            return math.copysign(math.inf, number)
    return float(dtype.numpy.type(number))


class Recorder:
    """Adds operations to the innermost region, or further out where that is as good."""

    def __init__(self) -> None:
        self._scopes = [Scope("kernel", 0, Region())]
        self._finished = False

    @property
    def _scope(self) -> Scope:
        return self._scopes[-1]

    def _own(self, value: Value, scope: Scope) -> Value:
        value.builder = self  # type: ignore[assignment]
        value.scope = scope
        return value

    def _push(self, kind: str, dtypes: tuple[DType, ...]) -> Region:
        region = Region(tuple(Value(each) for each in dtypes))
        scope = Scope(kind, len(self._scopes), region)
        self._scopes.append(scope)
        for each in region.arguments:
            self._own(each, scope)
        return region

    def _pop(self, results: tuple[Value, ...] = ()) -> Region:
        for each in results:
            self._check("yield", each)
        scope = self._scopes.pop()
        scope.region.results = results
        return scope.region

    def _check(self, name: str, value: Value) -> None:
        if self._finished:
            raise KernelError(f"{name}: this kernel is finished; start a new KernelBuilder()")
        scope = value.scope
        if value.builder is not self or scope.depth >= len(self._scopes) or self._scopes[scope.depth] is not scope:
            raise KernelError(
                f"{name}: an operand of dtype {value.dtype.name} belongs to another kernel or to a loop or branch that "
                "has ended; carry it out as a result"
            )

    def _append(
        self,
        name: str,
        operands: tuple[Value, ...],
        dtypes: tuple[DType, ...] = (),
        *,
        width: int = 1,
        regions: tuple[Region, ...] = (),
        buffer: Buffer | None = None,
        attributes: tuple[tuple[str, Any], ...] = (),
    ) -> tuple[Value, ...]:
        """Add an operation to the innermost region."""
        for each in operands:
            self._check(name, each)
        scope = self._scope
        results = tuple(self._own(Value(each, width=width), scope) for each in dtypes)
        operation = Operation(name, operands, results, regions=regions, buffer=buffer, attributes=attributes)
        scope.region.operations.append(operation)
        return results

    def _pure(self, name: str, operands: tuple[Value, ...], **attributes: Any) -> Value:
        """Add a pure operation, or find the one that computes the same."""
        depth, width = 0, 1
        for each in operands:
            self._check(name, each)
            depth = max(depth, each.scope.depth)
            width = max(width, each.width)
        if width != 1 and any(each.width not in (1, width) for each in operands):
            raise KernelError(f"{name}: vector widths {', '.join(str(each.width) for each in operands)} differ")
        folded = fold(name, operands)
        if folded is not None:
            return folded if isinstance(folded, Value) else self.const(operands[0].dtype, folded)
        key = (name, *(id(each) for each in operands), *attributes.items())
        home = self._scope
        for scope in reversed(self._scopes):
            found = scope.cache.get(key)
            if found is not None:
                return found
            home = scope
            if scope.depth == depth or scope.kind in ("if", "combine"):
                break
        for scope in self._scopes[: home.depth]:
            found = scope.cache.get(key)
            if found is not None:
                return found
        dtype = result_dtype(name, [each.dtype for each in operands], attributes)
        value = self._own(Value(dtype, width=width), home)
        home.region.operations.append(Operation(name, operands, (value,), attributes=tuple(attributes.items())))
        home.cache[key] = value
        return value

    def const(self, dtype: DType, number: float | int | bool) -> Value:
        """A constant."""
        held = constant_of(number, dtype)
        key = ("const", dtype.name, struct.pack("d", held) if dtype.is_float else held)
        top = self._scopes[0]
        found = top.cache.get(key)
        if found is None:
            found = self._own(Value(dtype, constant=held), top)
            attributes = (("dtype", dtype), ("value", held))
            top.region.operations.append(Operation("const", (), (found,), attributes=attributes))
            top.cache[key] = found
        return found

    def _lift(self, dtype: DType, operand: Operand) -> Value:
        return operand if isinstance(operand, Value) else self.const(dtype, operand)

    def _lift_all(self, name: str, operands: tuple[Operand, ...]) -> tuple[Value, ...]:
        """The operands as values: Python numbers take the dtype of the values beside them."""
        dtype = next((each.dtype for each in operands if isinstance(each, Value)), None)
        if dtype is None:
            raise KernelError(f"{name}: every operand is a Python number; make one a value with const(dtype, number)")
        return tuple(self._lift(dtype, each) for each in operands)


def fold(name: str, operands: tuple[Value, ...]) -> Value | int | None:
    """What integer arithmetic with constants comes to, where it needs no operation."""
    if len(operands) != 2 or not operands[0].dtype.is_int or name not in ("add", "sub", "mul"):
        return None
    x, y = operands
    left, right = x.constant, y.constant
    if isinstance(left, int) and isinstance(right, int):
        return {"add": left + right, "sub": left - right, "mul": left * right}[name]
    if name == "mul" and (left == 0 or right == 0):
        return 0
    if right == (1 if name == "mul" else 0) and right is not None:
        return x
    if name != "sub" and left is not None and left == (1 if name == "mul" else 0):
        return y
    return None


def drop_unused(region: Region, pure: frozenset[str]) -> None:
    """Remove pure operations and loads whose results nobody uses, in place."""
    used: set[Value] = set()
    _drop(region, pure | {"load", "plane_any", "vector", "extract"}, used)


def _drop(region: Region, pure: frozenset[str], used: set[Value]) -> None:
    used.update(region.results)
    kept: list[Operation] = []
    for operation in reversed(region.operations):
        if operation.name in pure and not any(each in used for each in operation.results):
            continue
        for inner in operation.regions:
            _drop(inner, pure, used)
        used.update(operation.operands)
        kept.append(operation)
    region.operations = kept[::-1]
