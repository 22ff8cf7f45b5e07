"""The text of a kernel: its normal form, in which every name is a position.

kernel(%0: read f32, %1: write f32, %2: size) index 64 {
  %3: f32 = const 2.0
  grid %4 < %2 {
    %5: f32 = load %0[%4]
    %6: f32 = mul %5, %3
    store %1[%4], %6
  }
}
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from burn.cube.ir import Buffer, Kernel, Operation, Region, Value
from burn.dtype import DType


class _Printer:
    def __init__(self) -> None:
        self.names: dict[Value | Buffer, str] = {}
        self.lines: list[str] = []

    def name(self, item: Value | Buffer) -> str:
        found = self.names.get(item)
        if found is None:
            found = self.names[item] = f"%{len(self.names)}"
        return found

    def list(self, values: Iterable[Value]) -> str:
        return ", ".join(self.name(each) for each in values)

    def typed(self, values: Iterable[Value]) -> str:
        return ", ".join(f"{self.name(each)}: {type_name(each)}" for each in values)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("  " * depth + text)

    def region(self, region: Region, depth: int) -> None:
        for operation in region.operations:
            self.operation(operation, depth)
        if region.results:
            self.line(depth, f"yield {self.list(region.results)}")

    def operation(self, operation: Operation, depth: int) -> None:
        name, operands, regions = operation.name, operation.operands, operation.regions
        if name == "if":
            text = f"if {self.name(operands[0])} {{"
        elif regions:
            extent = self.name(operands[0])
            text = f"{name} {self.name(regions[0].arguments[0])} < {extent}"
            if name == "serial" and len(operands) > 1:
                text += f" carry ({self.typed(regions[0].arguments[1:])}) from ({self.list(operands[1:])})"
            elif name == "reduce":
                text += f" from ({self.list(operands[1:])})"
            text += " {"
        elif operation.buffer is not None:
            text = f"{name} {self.name(operation.buffer)}[{self.name(operands[0])}]"
            if len(operands) > 1:
                text += f", {self.list(operands[1:])}"
        else:
            text = " ".join(filter(None, (name, self.list(operands), attributes_text(operation))))
        if not regions:
            results = f"{self.typed(operation.results)} = " if operation.results else ""
            self.line(depth, results + text)
            return
        self.line(depth, text)
        self.region(regions[0], depth + 1)
        if name == "reduce":
            self.line(depth, f"}} combine ({self.typed(regions[1].arguments)}) {{")
            self.region(regions[1], depth + 1)
        elif name == "if" and (regions[1].operations or regions[1].results):
            self.line(depth, "} else {")
            self.region(regions[1], depth + 1)
        self.line(depth, f"}} gives ({self.typed(operation.results)})" if operation.results else "}")


def type_name(value: Value) -> str:
    """The dtype of a value, with its width if it is a vector."""
    return value.dtype.name if value.width == 1 else f"{value.dtype.name}x{value.width}"


def attributes_text(operation: Operation) -> str:
    """The attributes of an operation, as they are printed after the operands."""
    attributes = dict(operation.attributes)
    if operation.name == "const":
        return number_text(attributes["value"], attributes["dtype"])
    attributes.pop("dtype", None)  # the result shows it
    return " ".join(f"{key}={value}" for key, value in attributes.items())


def number_text(value: Any, dtype: DType) -> str:
    """A constant: decimal where that is exact and short, hexadecimal otherwise."""
    if not dtype.is_float:
        return str(value).lower()
    if math.isnan(value):
        return "nan"
    short = repr(float(value))
    return short if len(short) <= 8 or math.isinf(value) else float(value).hex()


def print_kernel(kernel: Kernel) -> str:
    """The text of a kernel."""
    printer = _Printer()
    parameters = []
    for each in kernel.parameters:
        if each.buffer is not None:
            parameters.append(f"{printer.name(each.buffer)}: {each.buffer.access} {each.dtype.name}")
        else:
            assert each.value is not None
            kind = "size" if each.kind == "size" else f"scalar {each.dtype.name}"
            parameters.append(f"{printer.name(each.value)}: {kind}")
    printer.line(0, f"kernel({', '.join(parameters)}) index {kernel.index_width} {{")
    for buffer in kernel.buffers:
        values = f" = {', '.join(number_text(each, buffer.dtype) for each in buffer.values)}" if buffer.values else ""
        printer.line(1, f"{printer.name(buffer)}: {buffer.space} {buffer.dtype.name}[{buffer.count}]{values}")
    printer.region(kernel.body, 1)
    printer.line(0, "}")
    return "\n".join(printer.lines) + "\n"
