"""Running a program node by node with a device's own kernels: the reference for every plan."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from burn.errors import too_large
from burn.ops.dispatch import body_kernel
from burn.program.fused import unfused
from burn.program.program import Constant, Node, Program, Scalar

if TYPE_CHECKING:
    from burn.device import Device


def interpreted(program: Program, device: Device) -> Callable[[Sequence[Any], Sequence[float]], list[Any]]:
    """A plan that calls one kernel per node and forgets each value after its last reader."""
    last_use: dict[int, int] = {}
    for position, node in enumerate(program.nodes):
        for number in node.reads():
            last_use[number] = position
    outputs = set(program.outputs)
    dying: list[list[int]] = [[] for _ in program.nodes]
    for number, position in last_use.items():
        if number not in outputs:
            dying[position].append(number)

    def run(inputs: Sequence[Any], scalars: Sequence[float]) -> list[Any]:
        values: dict[int, Any] = {number: storage.value for number, storage in enumerate(inputs)}
        for position, node in enumerate(program.nodes):
            values.update(run_node(program, node, device, values, scalars))
            for number in dying[position]:
                del values[number]
        return [values[number] for number in program.outputs]

    return run


def run_node(
    program: Program, node: Node, device: Device, values: Mapping[int, Any], scalars: Sequence[float]
) -> dict[int, Any]:
    """Run one node on values that exist: what it makes, by number."""

    def read(operand: Any) -> Any:
        if operand.__class__ is int:
            return values[operand]
        if operand.__class__ is Scalar:
            return scalars[operand.slot]
        if operand.__class__ is Constant:
            return operand.value
        return [values[number] for number in operand] if operand.__class__ is tuple else operand

    if node.fused is not None:
        rows = unfused(node, program.values)
        inner = {position: values[number] for position, number in enumerate(dict.fromkeys(node.reads()))}
        for each in rows.nodes:
            inner.update(run_node(rows, each, device, inner, scalars))
        return {number: inner[made] for number, made in zip(node.results, rows.outputs, strict=True)}
    kernel = device.kernels[node.op] or body_kernel(node.op, device)
    try:
        result = kernel(*[read(each) for each in node.operands], *node.attributes)
    except MemoryError:
        made = program.values[node.results[0]]
        raise too_large(node.op.name, made.shape, made.dtype, device) from None
    return dict(zip(node.results, result if node.op.outputs != 1 else (result,), strict=True))


def run_guarded(
    program: Program, device: Device, inputs: Sequence[Any], scalars: Sequence[float]
) -> tuple[list[Any], int | None]:
    """Run node by node past faults: an output is a value, or the error of the node that it depends on.

    Also gives the number of the first value that could not be made.
    """
    values: dict[int, Any] = {number: storage.value for number, storage in enumerate(inputs)}
    faults: dict[int, BaseException] = {}
    for node in program.nodes:
        fault = next((faults[number] for number in node.reads() if number in faults), None)
        if fault is None:
            try:
                values.update(run_node(program, node, device, values, scalars))
            except Exception as error:
                fault = error
        if fault is not None:
            faults.update(dict.fromkeys(node.results, fault))
    return [faults.get(number, values.get(number)) for number in program.outputs], next(iter(faults), None)
