"""Convolutions of channels-last images: kernels of our own, or library calls with weights packed as the library likes.

Kernels make images and their gradients (`burn.backend.cpu.lower.direct`) and the gradients of weights
(`burn.backend.cpu.lower.weight_gradient`); what is too small to be worth a kernel is the library's, where it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.backend.cpu import onednn
from burn.backend.cpu.lower.access import Access
from burn.backend.cpu.lower.direct import chosen, is_depthwise, lower_direct, windows_of
from burn.backend.cpu.lower.epilogue import epilogue_of, own_operands
from burn.backend.cpu.lower.images import is_last, settings, to_first
from burn.backend.cpu.lower.weight_gradient import lower_weight_gradient
from burn.dtype import f32
from burn.errors import MissingOperation
from burn.program.program import Node, Program

if TYPE_CHECKING:
    from burn.backend.cpu.lower.library import Calls, Step

CONVOLUTIONS = frozenset(("conv", "conv_x_backward", "conv_weight_backward"))

Sizes = tuple[int, ...]


def primitive_of(name: str, x: Sizes, weight: Sizes, out: Sizes, given: tuple[Any, ...], bias: bool) -> Any:
    """The primitive of a row, for logical shapes; raises `MissingOperation` where the library has none."""
    stride, padding, dilation, groups = given[-4:]
    if 0 in x or 0 in weight or 0 in out or min(map(min, padding)) < 0:
        raise MissingOperation("onednn: empty images and negative paddings are left to NumPy")
    windows: dict[str, Any] = dict(stride=stride, padding=padding, dilation=dilation, groups=groups)
    image, result = onednn.Layout.channels_last(x), onednn.Layout.channels_last(out)
    packed = onednn.Layout.any(weight)
    line = onednn.Layout.row_major((weight[0],)) if bias else None
    if name == "conv":
        return onednn.convolution(image, packed, result, line, **windows)
    if name == "conv_x_backward":
        return onednn.convolution_backward_x(result, packed, image, **windows)
    return onednn.convolution_backward_weight(image, result, packed, line, **windows)


def shapes_of(node: Node, values: Any) -> tuple[Sizes, Sizes, Sizes]:
    """The logical shapes of x, weight and the result of a convolution node in logical order."""
    first, second = (tuple(values[number].shape) for number in node.operands[:2])
    made = tuple(values[node.results[0]].shape)
    if node.op.name == "conv":
        return first, second, made
    return (made, second, first) if node.op.name == "conv_x_backward" else (first, made, second)


def has_a_kernel(program: Program, node: Node) -> bool:
    """Whether this convolution runs on a kernel of our own."""
    if node.op.name not in CONVOLUTIONS:
        return False
    if any(program.values[number].dtype is not f32 for number in (*node.reads(), *node.results)):
        return False
    return chosen(node.op.name, *shapes_of(node, program.values), node.attributes)


def fits_the_library(program: Program, node: Node) -> bool:
    """Whether the library computes this convolution, and not by plain loops."""
    if node.op.name not in CONVOLUTIONS or not onednn.available():
        return False
    if any(program.values[number].dtype is not f32 for number in (*node.reads(), *node.results)):
        return False
    try:
        primitive = primitive_of(node.op.name, *shapes_of(node, program.values), node.attributes, False)
    except MissingOperation:
        return False
    return not primitive.is_reference


def lower_convolution(calls: Calls, node: Node) -> list[Step] | None:
    """The steps of a convolution of channels-last images."""
    if node.op.name not in CONVOLUTIONS or not is_last(node):
        return None
    return _Lowering(calls, node).steps()


class _Lowering:
    def __init__(self, calls: Calls, node: Node) -> None:
        self.calls, self.node, self.name = calls, node, node.op.name
        self.given = settings(node)
        operands = [number for number in own_operands(node) if isinstance(number, int)]
        self.accesses = [calls.schedule.accesses[number] for number in operands]
        made = [calls.home(number) for number in node.results]
        if self.name == "conv":
            x, weight, *rest = self.accesses
            out = made[0]
        elif self.name == "conv_x_backward":
            out, weight, *rest = self.accesses
            x = made[0]
        else:
            x, out = self.accesses
            weight, *rest = made
        self.x, self.weight, self.out = x, weight, out
        self.bias = rest[0] if rest else None
        self.groups: int = self.given[-1]
        self.shapes = (_logical(x), tuple(weight.shape), _logical(out))
        self.label = f"{self.name} {'x'.join(map(str, self.shapes[0]))} by {'x'.join(map(str, self.shapes[1]))}"

    def steps(self) -> list[Step]:
        from burn.backend.cpu.lower.library import LibraryCall

        if chosen(self.name, *self.shapes, self.given):
            return self._kernel()
        self.primitive = primitive_of(self.name, *self.shapes, self.given, self.bias is not None)
        roles = {"x": "x", "weight": "weight", "out": "out", "bias": "bias"}
        if self.name == "conv_x_backward":
            roles = {"x": "x_gradient", "weight": "weight", "out": "gradient"}
        elif self.name == "conv_weight_backward":
            roles = {"x": "x", "weight": "weight_gradient", "out": "gradient", "bias": "bias_gradient"}
        before: list[Step] = []
        after: list[Step] = []
        places: dict[str, tuple[int, int]] = {}
        for name, access in (("x", self.x), ("out", self.out)):
            assert access.is_contiguous, f"{self.name}: {name} is not channels-last"
            places[roles[name]] = _place(access)
        if self.bias is not None:
            bias = self.bias
            if not bias.is_contiguous:
                step, bias = self.calls.copy(bias, f32)
                before.append(step)
            places[roles["bias"]] = _place(bias)
        places[roles["weight"]] = self._weight(self.primitive.layouts[roles["weight"]], before, after)
        written = {"conv": "out", "conv_x_backward": "x_gradient"}.get(self.name, "weight_gradient")
        return [*before, LibraryCall(self.primitive, places, self.label, (written,)), *after]

    def _kernel(self) -> list[Step]:
        """A kernel of our own, with what follows the convolution in it."""
        assert self.bias is None, "the bias of a kernel belongs to its epilogue"
        if self.name == "conv_weight_backward":
            windows = windows_of(self.name, self.x.shape[1:-1], self.out.shape[1:-1], self.weight.shape[2:], self.given)
            depthwise = is_depthwise(self.x.shape[-1], self.out.shape[-1], self.groups)
            return lower_weight_gradient(
                self.calls, self.x, self.out, self.weight, windows, self.groups, depthwise, self.label
            )
        read, made = (self.out, self.x) if self.name == "conv_x_backward" else (self.x, self.out)
        epilogue, _ = epilogue_of(self.node)
        label = self.label if epilogue is None else f"{self.label} {epilogue}"
        return lower_direct(self.calls, self.node, read, self.weight, made, self.given, label)

    def _weight(self, wanted: Any, before: list[Step], after: list[Step]) -> tuple[int, int]:
        """Where the primitive finds, or leaves, the weight; packing and unpacking it are steps of their own."""
        from burn.backend.cpu.lower.library import LibraryCall, layout_of

        weight = self.weight
        if any(stride < 0 for stride in weight.strides):
            step, weight = self.calls.copy(weight, f32)
            before.append(step)
        plain = onednn.grouped(layout_of(weight, f32), self.groups)
        if plain == wanted:
            return _place(weight)
        if self.name == "conv_weight_backward":
            number = self.calls.temporary(wanted.size)
            roles = {"x": (number, 0), "out": _place(weight)}
            after.append(LibraryCall(onednn.reorder(wanted, plain), roles, "unpack"))
            return number, 0
        steps, number = self.calls.packed(weight, plain, wanted)
        before.extend(steps)
        return number, 0


def _logical(access: Access) -> Sizes:
    return tuple(access.shape[axis] for axis in to_first(len(access.shape)))


def _place(access: Access) -> tuple[int, int]:
    return access.value, access.offset * f32.size
