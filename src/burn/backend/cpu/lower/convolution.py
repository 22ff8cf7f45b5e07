"""Convolutions of channels-last images: what is read and made, and which kernel does it.

Images and their gradients are made by `burn.backend.cpu.lower.direct`, gradients of weights by
`burn.backend.cpu.lower.weight_gradient`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.backend.cpu.lower.direct import is_depthwise, lower_direct, windows_of
from burn.backend.cpu.lower.weight_gradient import lower_weight_gradient
from burn.dtype import f32
from burn.engine.lower.epilogue import epilogue_of, own_operands
from burn.engine.patterns.convolutions import CONVOLUTIONS, shapes_of
from burn.engine.schedule.access import Access
from burn.engine.schedule.images import is_last, permuted
from burn.program.fused import to_first
from burn.program.program import Node, Program
from burn.symbolic import value_of

if TYPE_CHECKING:
    from burn.backend.cpu.lower.calls import CpuCalls
    from burn.engine.lower.loop import Loop

Sizes = tuple[int, ...]


def has_a_kernel(program: Program, node: Node) -> bool:
    """Whether there is a kernel for this convolution; NumPy does the others."""
    if node.op.name not in CONVOLUTIONS:
        return False
    if any(program.values[number].dtype is not f32 for number in (*node.reads(), *node.results)):
        return False
    return all(0 not in shape for shape in shapes_of(node, program.values))


def lower_convolution(calls: CpuCalls, node: Node) -> list[Loop] | None:
    """The steps of a convolution of channels-last images."""
    if node.op.name not in CONVOLUTIONS or not is_last(node):
        return None
    return _Lowering(calls, node).steps()


class _Lowering:
    def __init__(self, calls: CpuCalls, node: Node) -> None:
        self.calls, self.node, self.name = calls, node, node.op.name
        self.given = node.attributes
        operands = [number for number in own_operands(node) if isinstance(number, int)]
        self.accesses = [calls.schedule.accesses[number] for number in operands]
        made = [calls.home(number) for number in node.results]
        if self.name == "conv":
            x, weight = self.accesses
            out = made[0]
        elif self.name == "conv_x_backward":
            out, weight = self.accesses
            x = made[0]
        else:
            x, out = self.accesses
            (weight,) = made
        self.x, self.weight, self.out = x, weight, out
        self.groups: int = self.given[-1]
        self.shapes = (_logical(x), tuple(weight.shape), _logical(out))
        self.label = f"{self.name} {_text(self.shapes[0])} by {_text(self.shapes[1])}"

    def steps(self) -> list[Loop]:
        """A kernel, with what follows the convolution in it."""
        if self.name == "conv_weight_backward":
            windows = windows_of(self.name, self.x.shape[1:-1], self.out.shape[1:-1], self.weight.shape[2:], self.given)
            depthwise = is_depthwise(self.x.shape[-1], self.out.shape[-1], self.groups)
            return lower_weight_gradient(
                self.calls, self.x, self.out, self.weight, windows, self.groups, depthwise, self.label
            )
        read, made = (self.out, self.x) if self.name == "conv_x_backward" else (self.x, self.out)
        epilogue, _ = epilogue_of(self.node)
        label = self.label if epilogue is None else f"{self.label} {epilogue}"
        weight, given = self.weight, self.given
        if self.name == "conv" and is_upright(read, weight, made):
            # Pixels that share what they read lie along a row: a column of them is turned into one.
            read, made = permuted(read, (0, 2, 1, 3)), permuted(made, (0, 2, 1, 3))
            weight = permuted(weight, (0, 1, 3, 2))
            given = (*(tuple(reversed(each)) for each in given[-4:-1]), given[-1])
        return lower_direct(self.calls, self.node, read, weight, made, given, label)


def is_upright(x: Access, weight: Access, out: Access) -> bool:
    """Whether images are one pixel wide and several high: signals, as some exporters write them."""
    return len(x.shape) == 4 and (weight.shape[-1], out.shape[-2], x.shape[-2]) == (1, 1, 1) and bool(out.shape[1] != 1)


def _text(sizes: Sizes) -> str:
    return "x".join(str(value_of(size)) for size in sizes)


def _logical(access: Access) -> Sizes:
    return tuple(access.shape[axis] for axis in to_first(len(access.shape)))
