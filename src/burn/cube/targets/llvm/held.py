"""What the emitter holds for a value, and the text it is writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from burn.cube.ir import Operation, Value
from burn.cube.targets.llvm.instructions import Instructions, kind
from burn.dtype import DType, bool_


class Held:
    """The text of a value. With a stride it is the first lane of an integer that grows from lane to lane."""

    __slots__ = ("constant", "stride", "text", "width")

    def __init__(self, text: str, width: int = 1, *, stride: int | str | None = None, constant: bool = False) -> None:
        self.text = text
        self.width = width
        self.stride = stride
        self.constant = constant


class Page(Instructions):
    """Lines of a function, its labels and names, and the values known so far."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Any] = []
        self.count = 0
        self.label = "entry"
        self.values: dict[Value, Held] = {}
        self.lanes = 1
        self.forced = 0
        """The width of every operation, inside a combination."""
        self.mask: str | None = None
        self.guarded = False
        """Whether the mask may be empty."""
        self.inner: set[Value] = set()
        """Values defined inside the vectorised loop being written."""
        self.before: list[str] = []
        """Lines in front of that loop."""
        self.spread: dict[Value, str] = {}

    # Text

    def new_name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def new_label(self) -> str:
        self.count += 1
        return f"l{self.count}"

    def write(self, line: str) -> None:
        self.lines.append("  " + line)

    def emit(self, text: str) -> str:
        name = self.new_name()
        self.lines.append(f"  {name} = {text}")
        return name

    def begin(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.label = label

    def end(self, terminator: str) -> None:
        self.lines.append("  " + terminator)

    def slot(self) -> list[str]:
        """A place in the text to be filled later."""
        made: list[str] = []
        self.lines.append(made)
        return made

    def text(self) -> Iterator[str]:
        for each in self.lines:
            if isinstance(each, list):
                yield from each
            else:
                yield each

    def conditional(self, condition: str, body: Callable[[], None]) -> None:
        taken, after = self.new_label(), self.new_label()
        self.end(f"br i1 {condition}, label %{taken}, label %{after}")
        self.begin(taken)
        body()
        self.end(f"br label %{after}")
        self.begin(after)

    # Values

    def define(self, value: Value, held: Held) -> None:
        self.values[value] = held
        if self.lanes > 1:
            self.inner.add(value)

    def enter_lanes(self, lanes: int) -> None:
        self.lanes = lanes
        self.before = self.slot()
        self.inner.clear()
        self.spread.clear()

    def leave_lanes(self) -> None:
        self.lanes = 1

    def get(self, value: Value, width: int) -> str:
        """The text of a value at a width: uniform values are spread, strided ones written out."""
        held = self.values[value]
        if held.stride is not None:
            return self.written_out(held)
        if held.width == width:
            return held.text
        assert held.width == 1, "a vector where a scalar is needed"
        if held.constant:
            return f"splat ({kind(value.dtype, 1)} {held.text})"
        if value not in self.inner and width == self.lanes:
            found = self.spread.get(value)
            if found is None:
                found = self.spread[value] = self.broadcast(held.text, value.dtype, width, self.before)
            return found
        return self.broadcast(held.text, value.dtype, width)

    def broadcast_of(self, value: Value, width: int) -> str:
        """The same in front of a loop."""
        held = self.values[value]
        if held.constant:
            return f"splat ({kind(value.dtype, 1)} {held.text})"
        return self.broadcast(held.text, value.dtype, width)

    def broadcast(self, text: str, dtype: DType, width: int, place: list[str] | None = None) -> str:
        one, type_ = kind(dtype, 1), kind(dtype, width)
        first, result = self.new_name(), self.new_name()
        lines: list[Any] = self.lines if place is None else place
        lines.append(f"  {first} = insertelement {type_} poison, {one} {text}, i64 0")
        zeros = f"<{width} x i32> zeroinitializer"
        lines.append(f"  {result} = shufflevector {type_} {first}, {type_} poison, {zeros}")
        return result

    # Lanes

    def ramp(self, type_: str, width: int) -> str:
        return f"<{', '.join(f'{type_} {each}' for each in range(width))}>"

    def written_out(self, held: Held) -> str:
        """A strided integer as a vector."""
        type_ = f"<{held.width} x i64>"
        steps = self.ramp("i64", held.width)
        if held.stride != 1:
            spread = (
                f"splat (i64 {held.stride})"
                if isinstance(held.stride, int)
                else self.spread_integer(str(held.stride), held.width)
            )
            steps = self.emit(f"mul {type_} {steps}, {spread}")
        return self.emit(f"add {type_} {self.spread_integer(held.text, held.width)}, {steps}")

    def spread_integer(self, text: str, width: int) -> str:
        type_ = f"<{width} x i64>"
        first = self.emit(f"insertelement {type_} poison, i64 {text}, i64 0")
        return self.emit(f"shufflevector {type_} {first}, {type_} poison, <{width} x i32> zeroinitializer")

    def first_lanes(self, count: str) -> str:
        """A mask of the first `count` lanes."""
        type_ = f"<{self.lanes} x i32>"
        narrow = self.emit(f"trunc i64 {count} to i32")
        first = self.emit(f"insertelement {type_} poison, i32 {narrow}, i64 0")
        spread = self.emit(f"shufflevector {type_} {first}, {type_} poison, {type_} zeroinitializer")
        return self.emit(f"icmp slt {type_} {self.ramp('i32', self.lanes)}, {spread}")

    def any_of(self, mask: str) -> str:
        return self.call(f"llvm.vector.reduce.or.v{self.lanes}i1", "i1", [(kind(bool_, self.lanes), mask)])

    def affine(self, operation: Operation) -> Held | None:
        """Integer arithmetic on lane indices, kept as (first lane, stride); None where it does not stay so."""
        name = operation.name
        held = [self.values[each] for each in operation.operands]
        if any(each.width > 1 and each.stride is None for each in held):
            return None
        if name == "neg":
            name, held = "sub", [Held("0", constant=True), held[0]]
        if name in ("add", "sub"):
            stride = self.strides(name, held[0].stride or 0, held[1].stride or 0)
        elif name == "mul" and (held[0].stride is None or held[1].stride is None):
            moving, still = held if held[1].stride is None else held[::-1]
            assert moving.stride is not None
            stride = self.strides("mul", moving.stride, int(still.text) if still.constant else still.text)
        else:
            return None
        return Held(self.emit(f"{name} i64 {held[0].text}, {held[1].text}"), self.lanes, stride=stride)

    def strides(self, name: str, x: int | str, y: int | str) -> int | str:
        if isinstance(x, int) and isinstance(y, int):
            return {"add": x + y, "sub": x - y, "mul": x * y}[name]
        if name == "mul" and 1 in (x, y):
            return y if x == 1 else x
        if y == 0 and name != "mul":
            return x
        return self.emit(f"{name} i64 {x}, {y}")
