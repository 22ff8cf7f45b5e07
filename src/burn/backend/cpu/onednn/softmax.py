"""Softmax and its logarithm along one dim, and their gradients from the result."""

from __future__ import annotations

from burn.backend.cpu.onednn.layout import Layout
from burn.backend.cpu.onednn.primitive import INFERENCE, TRAINING, Primitive, Setting, create

_ACCURATE, _LOGARITHM = 0x30000, 0x30001


def softmax(x: Layout, out: Layout, dim: int, *, log: bool = False) -> Primitive:
    """Roles: x, out; both may be the same buffer."""
    return create("softmax_forward", dict(kind=INFERENCE, algorithm=_code(log), x=x, out=out, dim=dim), ("x", "out"))


def softmax_backward(out: Layout, gradient: Layout, x_gradient: Layout, dim: int, *, log: bool = False) -> Primitive:
    """Roles: out, gradient, x_gradient."""
    forward: dict[str, Setting] = dict(kind=TRAINING, algorithm=_code(log), x=x_gradient, out=out, dim=dim)
    hint = create("softmax_forward", forward, ("x", "out"))
    settings: dict[str, Setting] = dict(algorithm=_code(log), x_gradient=x_gradient, gradient=gradient, out=out)
    settings |= dict(dim=dim, hint=hint)
    return create("softmax_backward", settings, ("out", "gradient", "x_gradient"))


def _code(log: bool) -> int:
    return _LOGARITHM if log else _ACCURATE
