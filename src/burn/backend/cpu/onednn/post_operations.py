"""Post-operations: what a primitive does to its result before storing it.

They run in order on each element while it is still in a register: an activation, an addition to what
the output buffer already holds, or a second operand (a residual, a mask) that broadcasts.

Special values are not always PyTorch's: "relu" and "clip" turn NaN into their lower bound, "exp" turns it
into infinity, and "gelu" may be NaN at infinity. Where that matters, leave the activation to a kernel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from burn.backend.cpu.onednn.layout import Layout
from burn.backend.cpu.onednn.library import Library
from burn.errors import ArgumentError

ELEMENTWISE = {
    "relu": 0x20,  # alpha: the slope below zero
    "tanh": 0x21,
    "elu": 0x22,  # alpha
    "square": 0x23,
    "abs": 0x24,
    "sqrt": 0x25,
    "linear": 0x26,  # alpha * x + beta
    "softplus": 0x27,  # log(1 + exp(alpha * x)) / alpha
    "hard_sigmoid": 0x28,  # clip(alpha * x + beta, 0, 1)
    "sigmoid": 0x29,
    "exp": 0x2A,
    "gelu_tanh": 0x2B,
    "swish": 0x2C,  # x * sigmoid(alpha * x)
    "log": 0x2D,
    "clip": 0x2E,  # between alpha and beta
    "pow": 0x30,  # alpha * x ** beta
    "gelu": 0x31,  # by the error function
    "round": 0x32,
    "mish": 0x33,
    "hard_swish": 0x34,  # x * clip(alpha * x + beta, 0, 1)
}
BINARY = {
    "add": 0x1FFF0, "mul": 0x1FFF1, "max": 0x1FFF2, "min": 0x1FFF3, "div": 0x1FFF4, "sub": 0x1FFF5,
}  # fmt: skip

_SCRATCHPAD_BY_USER = 1


@dataclass(frozen=True, slots=True)
class Elementwise:
    """An activation from `ELEMENTWISE`, with its one or two constants."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def __post_init__(self) -> None:
        if self.name not in ELEMENTWISE:
            raise ArgumentError(f"onednn: unknown activation {self.name!r}; known are {', '.join(ELEMENTWISE)}")


@dataclass(frozen=True, slots=True)
class Sum:
    """Add `scale` times what the output buffer holds before the primitive runs."""

    scale: float = 1.0


@dataclass(frozen=True, slots=True)
class Binary:
    """Combine with another buffer, which broadcasts to the output; number i of the list has the role `operand_i`."""

    name: str
    layout: Layout

    def __post_init__(self) -> None:
        if self.name not in BINARY:
            raise ArgumentError(f"onednn: unknown operation {self.name!r}; known are {', '.join(BINARY)}")


PostOperation: TypeAlias = Elementwise | Sum | Binary


def operands(post: Sequence[PostOperation]) -> list[Layout]:
    """The layouts of the second operands, in order."""
    return [each.layout for each in post if isinstance(each, Binary)]


def with_operands(post: Sequence[PostOperation], layouts: Sequence[Layout]) -> tuple[PostOperation, ...]:
    """The same post-operations with other layouts for their second operands."""
    rest = iter(layouts)
    return tuple(replace(each, layout=next(rest)) if isinstance(each, Binary) else each for each in post)


@contextmanager
def attributes(library: Library, post: Sequence[PostOperation]) -> Iterator[int]:
    """A `dnnl_primitive_attr_t` with these post-operations and a scratchpad that the caller provides."""
    native, check = library.native, library.check
    attribute = library.make("dnnl_primitive_attr_create")
    operations = library.make("dnnl_post_ops_create")
    try:
        for each in post:
            if isinstance(each, Elementwise):
                code = ELEMENTWISE[each.name]
                status = native.dnnl_post_ops_append_eltwise(operations, code, each.alpha, each.beta)
            elif isinstance(each, Sum):
                status = native.dnnl_post_ops_append_sum(operations, each.scale, 0, 0)
            else:
                other = each.layout.handle(library)
                status = native.dnnl_post_ops_append_binary(operations, BINARY[each.name], other)
            check(status, f"onednn: {each}")
        check(native.dnnl_primitive_attr_set_post_ops(attribute, operations), "dnnl_primitive_attr_set_post_ops")
        mode = native.dnnl_primitive_attr_set_scratchpad_mode(attribute, _SCRATCHPAD_BY_USER)
        check(mode, "dnnl_primitive_attr_set_scratchpad_mode")
        yield attribute
    finally:
        native.dnnl_post_ops_destroy(operations)
        native.dnnl_primitive_attr_destroy(attribute)
