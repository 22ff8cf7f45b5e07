"""Which nodes a loop can hold, and the code of their elements, which their rows tell.

Half precision is computed in f32: loads widen and stores round, so a chain rounds once at its end, and where a cast
says so.
"""

from __future__ import annotations

from typing import Any

from burn.cube import KernelBuilder
from burn.cube.ir import Value
from burn.dtype import HALVES, DType, f32
from burn.engine.target import computes
from burn.ops.op import TABLE, Op
from burn.program.program import Node, Program


def computed(dtype: DType) -> DType:
    """The dtype in which a kernel computes elements of `dtype`."""
    return f32 if dtype in HALVES else dtype


def fits_a_loop(program: Program, node: Node) -> bool:
    """Whether a loop can hold this node: its row has an element or a reduction, and they are for its dtypes."""
    if node.op.group not in ("elementwise", "reduction"):
        return False
    dtypes = [program.values[number].dtype for number in (*node.reads(), *node.results)]
    known = node.op.element_dtypes is None or dtypes[-1] in node.op.element_dtypes
    return known and all(computes(dtype) for dtype in dtypes)


def is_term(op: Op) -> bool:
    """Whether other kernels can do to their results what a row does to each element: its operands alone tell it."""
    return op.group == "elementwise" and not op.attributes


def term(b: KernelBuilder, name: str, *operands: Value) -> Value:
    """The element of a row that `is_term`."""
    element: Any = TABLE[name].element
    result: Value = element(b, *operands)
    return result


def written_out(program: Program, node: Node, constants: dict[int, Any]) -> str:
    """The code of an element as text, where nothing else tells it from that of another version.

    The package's own rows are told apart by the state of their files (see `burn.engine.lower.recipe`). `constants` are
    operands that are known numbers, by their position.
    """
    if node.op.function.__module__.startswith("burn."):
        return ""
    b = KernelBuilder()
    operands = []
    with b.grid(b.size()) as i:
        for position, operand in enumerate(node.operands):
            if position in constants:
                operands.append(b.const(f32, constants[position]))
            else:
                dtype = program.values[operand].dtype if isinstance(operand, int) else f32
                operands.append(b.load(b.buffer(dtype), i))
        value = term(b, node.op.name, *operands)
        b.store(b.buffer(value.dtype, write=True), i, value)
    return b.finish().key()
