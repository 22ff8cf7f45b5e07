"""Passes: rebuilding a kernel with some operations replaced.

A rule is a function from a builder and an operation's new operands to the value that replaces its result, or
None where it declines. A pass is a dictionary from operation name to rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from burn.cube.builder import KernelBuilder
from burn.cube.ir import Buffer, Kernel, Operation, Parameter, Region, Value
from burn.cube.operations import PURE
from burn.environment import is_on

Rule = Callable[[KernelBuilder, Operation, tuple[Value, ...]], "Value | None"]


def rewrite(kernel: Kernel, rules: Mapping[str, Rule]) -> Kernel:
    """A kernel in which every operation that a rule takes is replaced. Replacements are not visited again."""
    return _Rewriter(kernel, rules).run()


class _Rewriter:
    def __init__(self, kernel: Kernel, rules: Mapping[str, Rule]) -> None:
        self.kernel = kernel
        self.rules = rules
        self.builder = KernelBuilder(index_width=kernel.index_width)
        self.values: dict[Value, Value] = {}
        self.buffers: dict[Buffer, Buffer] = {}

    def run(self) -> Kernel:
        builder = self.builder
        for each in self.kernel.parameters:
            if each.buffer is not None:
                builder._parameters.append(Parameter("buffer", each.dtype, buffer=each.buffer))
            else:
                assert each.value is not None
                self.values[each.value] = builder._parameter(each.kind, each.dtype)
        builder._buffers.extend(self.kernel.buffers)
        self.region(self.kernel.body)
        return builder.finish(verified=is_on("BURN_VERIFY"))  # the kernel was, and rules are ours

    def region(self, region: Region) -> None:
        for operation in region.operations:
            self.operation(operation)

    def operation(self, operation: Operation) -> None:
        builder, values = self.builder, self.values
        operands = tuple(values[each] for each in operation.operands)
        rule = self.rules.get(operation.name)
        if rule is not None:
            made = rule(builder, operation, operands)
            if made is not None:
                values[operation.result] = made
                return
        if operation.name == "const":
            attributes: dict[str, Any] = dict(operation.attributes)
            values[operation.result] = builder.const(attributes["dtype"], attributes["value"])
        elif operation.name in PURE:
            values[operation.result] = builder._pure(operation.name, operands, **dict(operation.attributes))
        else:
            regions = tuple(self.inner(operation, number, each) for number, each in enumerate(operation.regions))
            results = builder._append(
                operation.name,
                operands,
                tuple(each.dtype for each in operation.results),
                width=operation.results[0].width if operation.results else 1,
                regions=regions,
                buffer=operation.buffer,
                attributes=operation.attributes,
            )
            values.update(zip(operation.results, results))

    def inner(self, operation: Operation, number: int, region: Region) -> Region:
        kind = "if" if operation.name == "if" else "combine" if operation.name == "reduce" and number else "loop"
        made = self.builder._push(kind, tuple(each.dtype for each in region.arguments))
        self.values.update(zip(region.arguments, made.arguments))
        self.region(region)
        return self.builder._pop(tuple(self.values[each] for each in region.results))
