"""Composites in programs: what a node of one stands for, and the pass that takes them apart.

A row with a body and a rule is one node when it is recorded. What it stands for is found by running its body once, for
operands of one kind, on a device that computes nothing and writes down what it is asked for. A float that the body
names (the 0.5 of a gelu) becomes a number given at run time, as it would if the body were recorded by itself: kernels
are made for the form of an expression, not for its numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from burn.classes import dataclass
from burn.device import Device
from burn.dtype import DType, f32, i64
from burn.errors import BurnError
from burn.ops import dispatch
from burn.ops.op import Op
from burn.program.node import Constant, Node, Operand, Scalar, Value
from burn.program.program import Program
from burn.scoped import Scoped
from burn.shape import Shape
from burn.symbolic import holds_sizes

if TYPE_CHECKING:
    Keeps = Callable[[Op], bool]

MOST_KNOWN = 4096
"""Expansions that are remembered."""

Slots = tuple[int | float, ...]
"""Where the numbers of an expanded program come from: a slot of the program before, or a number of a body."""


class NotExpandable(BurnError):
    """A body that is no list of operations: it reads values, draws random numbers, or hands an operand through."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """What a composite is, for operands of one kind: a program of its tensors, and the numbers that its body names."""

    program: Program
    numbers: tuple[float, ...]
    operations: frozenset[Op]
    """The rows it consists of: composites, and what these consist of."""

    def results(self) -> tuple[Value, ...]:
        """What it makes."""
        return tuple(self.program.values[number] for number in self.program.outputs)


def is_node(op: Op) -> bool:
    """Whether a row can be a node: a composite without a rule is a function of other rows and nothing more."""
    return op.kind != "composite" or (op.rule is not None and not op.variadic)


def expand_composites(
    program: Program, keeps: Keeps, float_dtype: DType = f32, int_dtype: DType = i64
) -> tuple[Program, Slots]:
    """Take apart the composites that the target does not keep: an equal program, and where its numbers come from.

    Bodies that make tensors without operands make them in the device's `float_dtype` and `int_dtype`. A composite
    whose body is no program stays a node; it runs as its body.
    """
    if not any(_is_left(node, keeps) for node in program.nodes):
        return program, tuple(range(program.scalars))
    writer = _Writer(program, keeps, (float_dtype, int_dtype))
    numbers = {number: number for number in range(program.inputs)}
    writer.write(program, numbers, range(program.scalars))
    outputs = tuple(numbers[number] for number in program.outputs)
    slots = tuple(writer.slots)
    values = tuple(writer.values)
    return Program(values, program.inputs, len(slots), tuple(writer.nodes), outputs, program.names), slots


def expanded_alone(program: Program, keeps: Keeps, float_dtype: DType = f32, int_dtype: DType = i64) -> Program:
    """The same, taking the numbers that the program takes and no others: those of bodies are constants."""
    expanded, slots = expand_composites(program, keeps, float_dtype, int_dtype)
    return with_numbers(expanded, slots, program.scalars)


def with_numbers(program: Program, slots: Slots, scalars: int = 0) -> Program:
    """The program with other numbers in the place of its own: one of `scalars` that it takes now, or a constant."""
    if list(map(repr, slots)) == list(map(repr, range(scalars))):  # 0.0 is no slot
        return program

    def operand(each: Operand) -> Operand:
        if not isinstance(each, Scalar):
            return each
        slot = slots[each.slot]
        return Scalar(slot, each.kind) if isinstance(slot, int) else Constant(slot)

    nodes = [replace(node, operands=tuple(map(operand, node.operands))) for node in program.nodes]
    return replace(program, scalars=scalars, nodes=tuple(nodes))


def _is_left(node: Node, keeps: Keeps) -> bool:
    """Whether a node has to be taken apart, or one of a program that it holds."""
    if node.op.kind == "composite":
        return not keeps(node.op)
    held = (each for each in node.attributes if isinstance(each, Program))
    return any(_is_left(inner, keeps) for each in held for inner in each.nodes)


def slot_values(slots: Slots, given: Sequence[Any]) -> list[Any]:
    """The numbers of an expanded program, of those that were given for the program before."""
    return [given[each] if each.__class__ is int else each for each in slots]


class _Writer:
    """Writes the nodes of a program and of what its composites stand for, in the order in which bodies would run."""

    def __init__(self, program: Program, keeps: Keeps, dtypes: tuple[DType, DType]) -> None:
        self.keeps, self.dtypes = keeps, dtypes
        self.values = list(program.values[: program.inputs])
        self.nodes: list[Node] = []
        self.slots: list[int | float] = []

    def write(self, program: Program, numbers: dict[int, int], scalars: Sequence[int | float]) -> None:
        """Add the nodes of `program`; `numbers` says how its inputs are called here, and learns about its results."""

        def operand(each: Operand) -> Operand:
            if isinstance(each, int):
                return numbers[each]
            if isinstance(each, tuple):
                return tuple(numbers[number] for number in each)
            if isinstance(each, Scalar):
                self.slots.append(scalars[each.slot])
                return Scalar(len(self.slots) - 1, each.kind)
            return each

        for node in program.nodes:
            found = self.body(node, program.values)
            if found is not None:
                tensors = [each for each in node.operands if isinstance(each, int)]
                inner = {position: numbers[number] for position, number in enumerate(tensors)}
                self.write(found.program, inner, found.numbers)
                numbers.update(
                    (number, inner[made]) for number, made in zip(node.results, found.program.outputs, strict=True)
                )
                continue
            operands = tuple([operand(each) for each in node.operands])
            results = tuple(range(len(self.values), len(self.values) + len(node.results)))
            numbers.update(zip(node.results, results, strict=True))
            self.values += [program.values[number] for number in node.results]
            attributes = node.attributes
            if node.op.kind == "region":
                held = (
                    expanded_alone(each, self.keeps, *self.dtypes) if isinstance(each, Program) else each
                    for each in attributes
                )
                attributes = tuple(held)
            self.nodes.append(Node(node.op, operands, attributes, results, node.fused))

    def body(self, node: Node, values: Sequence[Value]) -> Expansion | None:
        """What stands in the place of a node."""
        if node.op.kind != "composite" or self.keeps(node.op):
            return None
        try:
            return expansion_of(node, values, *self.dtypes)
        except NotExpandable:
            return None


# What a composite stands for

_known: dict[Any, Expansion | str] = {}  # the reason, where there is none


def expansion_of(node: Node, values: Sequence[Value], float_dtype: DType = f32, int_dtype: DType = i64) -> Expansion:
    """What a node of a composite stands for."""
    kinds = [values[each] if isinstance(each, int) else each for each in node.operands]
    return expansion(node.op, kinds, node.attributes, float_dtype, int_dtype)


def expansion(
    op: Op, operands: Sequence[Any], attributes: tuple[Any, ...], float_dtype: DType = f32, int_dtype: DType = i64
) -> Expansion:
    """What a composite stands for: a `Value` for each tensor, a `Constant` or None for each other operand."""
    told = attributes if holds_sizes(attributes) else repr(attributes)  # texts differ where -0.0 equals 0.0
    key = (op, tuple(operands), told, float_dtype, int_dtype)
    found = _known.get(key)
    if found is None:
        try:
            found = _traced(op, operands, attributes, _Tracing(float_dtype, int_dtype))
        except Exception as error:
            found = str(error)  # not the error: it knows the frames of its callers, and their tensors
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = found
    if isinstance(found, str):
        raise NotExpandable(f"{op.name}: its body is no program: {found}")
    return found


def _traced(op: Op, operands: Sequence[Any], attributes: tuple[Any, ...], device: _Tracing) -> Expansion:
    if not is_node(op) or op.kind != "composite":
        raise NotExpandable("it has no body, or no rule")
    with device.trace.holds(_Trace()) as trace:
        given = [trace.input(device, each) for each in operands]
        made = dispatch.body_kernel(op, device)(*given, *attributes)
    handles = made if isinstance(made, tuple) else (made,)
    if len(handles) != op.outputs or len({each.number for each in handles}) != len(handles):
        raise NotExpandable(f"{len(handles)} results, and the row has {op.outputs}")
    if any(each.number < trace.inputs for each in handles):
        raise NotExpandable("a result is an operand")
    outputs = tuple(each.number for each in handles)
    program = Program(tuple(trace.values), trace.inputs, len(trace.numbers), tuple(trace.nodes), outputs)
    return Expansion(program, tuple(trace.numbers), frozenset(trace.operations))


class _Traced:
    """The handle of a tensor in a body that is written down."""

    __slots__ = ("device", "dtype", "number", "shape")

    def __init__(self, device: _Tracing, value: Value, number: int) -> None:
        self.device, self.shape, self.dtype, self.number = device, value.shape, value.dtype, number


class _Trace:
    """What a body has asked for so far."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.nodes: list[Node] = []
        self.numbers: list[float] = []
        self.operations: set[Op] = set()
        self.inputs = 0

    def input(self, device: _Tracing, operand: Any) -> Any:
        if not isinstance(operand, Value):
            if operand is not None and not isinstance(operand, Constant):
                raise NotExpandable("an operand is a number that is given at run time")
            return operand.value if isinstance(operand, Constant) else None
        self.values.append(operand)
        self.inputs += 1
        return _Traced(device, operand, self.inputs - 1)

    def operand(self, value: Any) -> Operand:
        kind = value.__class__
        if kind is _Traced:
            return value.number  # type: ignore[no-any-return]
        if kind is float:
            self.numbers.append(value)
            return Scalar(len(self.numbers) - 1)
        if kind is list:
            return tuple(each.number for each in value)
        if value is not None and kind not in (int, bool):
            raise NotExpandable(f"an operand is a {kind.__name__}")
        return None if value is None else Constant(value)

    def add(
        self,
        device: _Tracing,
        op: Op,
        operands: tuple[Operand, ...],
        attributes: tuple[Any, ...],
        made: Sequence[Value],
    ) -> Any:
        results = tuple(range(len(self.values), len(self.values) + len(made)))
        self.values += made
        self.nodes.append(Node(op, operands, attributes, results))
        self.operations.add(op)
        handles = tuple(_Traced(device, value, number) for value, number in zip(made, results, strict=True))
        return handles if op.outputs > 1 else handles[0]


class _Tracing(Device):
    """A device that computes nothing: its kernels write down what they are asked for."""

    label = "tracing"

    def __init__(self, float_dtype: DType, int_dtype: DType) -> None:
        super().__init__()
        self.float_dtype, self.int_dtype = float_dtype, int_dtype
        self.trace: Scoped[_Trace | None] = Scoped(None)

    def resolve(self, op: Op) -> Any:
        if op.kind == "composite":
            return self._composite(op) if is_node(op) else None
        if not op.is_total or op.rule is None or op.kind == "region" or op.family == "random":
            return self._refused(op)
        return self._creator(op) if op.family == "creation" else self._recorder(op)

    def _refused(self, op: Op) -> Any:
        def refuse(*_: Any) -> Any:
            raise NotExpandable(f"{op.name} cannot run later")

        return refuse

    def _recorder(self, op: Op) -> Any:
        rule, count = op.rule, op.operand_count
        assert rule is not None

        def record(*args: Any) -> Any:
            shape, dtype = rule(op, *args)[:2]
            if shape is None:
                raise NotExpandable(f"{op.name} makes what its operands tell")
            shapes, dtypes = (shape, dtype) if op.outputs > 1 else ([shape], [dtype])
            made = [Value(Shape(size), each) for size, each in zip(shapes, dtypes, strict=True)]
            trace = self._trace()
            return trace.add(self, op, tuple([trace.operand(each) for each in args[:count]]), args[count:], made)

        return record

    def _composite(self, op: Op) -> Any:
        count, body = op.operand_count, dispatch.body_kernel(op, self)

        def record(*args: Any) -> Any:
            kinds = [Value(each.shape, each.dtype) if each.__class__ is _Traced else each for each in args[:count]]
            if any(each is not None and not isinstance(each, Value) for each in kinds):
                return body(*args)
            try:
                found = expansion(op, kinds, args[count:], self.float_dtype, self.int_dtype)
            except NotExpandable:
                return body(*args)
            trace = self._trace()
            trace.operations |= found.operations
            operands = tuple([trace.operand(each) for each in args[:count]])
            return trace.add(self, op, operands, args[count:], found.results())

        return record

    def _creator(self, op: Op) -> Any:
        count = op.operand_count

        def record(*args: Any) -> Any:
            shape = Shape((args[-2],) if op.name == "arange" else args[-2])
            operands = tuple(Constant(each) for each in args[:count])
            return self._trace().add(self, op, operands, args[count:], [Value(shape, args[-1])])

        return record

    def _trace(self) -> _Trace:
        trace = self.trace.value
        assert trace is not None, "a body runs inside of a trace"
        return trace

    def is_handle(self, value: Any) -> bool:
        return value.__class__ is _Traced

    dtype_of = staticmethod(operator.attrgetter("dtype"))  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Tracing({self.float_dtype}, {self.int_dtype})"
