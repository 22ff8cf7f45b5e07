"""Operators on signals, and products over named dims."""

from __future__ import annotations

from burn_import.onnx.code.expression import Argument, Expression
from burn_import.onnx.ir.types import ElementType
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator


@operator("DFT")
def dft(op: Operation) -> Expression:
    settings: dict[str, Argument] = {}
    if op.has(1):
        settings["n"] = op.number(1)
    axis = op.number(2) if op.has(2) else None
    if axis is not None and axis.constant != -2:
        settings["dim"] = axis
    settings |= {name: True for name in ("inverse", "onesided") if op.flag(name)}
    return op.function("signal", "dft")(op.x, **settings)


@operator("STFT")
def short_time_dft(op: Operation) -> Expression:
    settings: dict[str, Argument] = {}
    if op.has(3):
        settings["frame_length"] = op.number(3)
    if not op.flag("onesided"):
        settings["onesided"] = False
    return op.function("signal", "short_time_dft")(op.x, op.optional(2), op.number(1), **settings)


WINDOWS = {"HannWindow": "hann_window", "BlackmanWindow": "blackman_window", "HammingWindow": "cosine_window"}


@operator(*WINDOWS)
def window(op: Operation) -> Expression:
    """The standard's Hamming window has the exact fractions, ours the usual 0.54 and 0.46."""
    name = op.node.op_type
    weights = (op.named("(25 / 46, 21 / 46)"),) if name == "HammingWindow" else ()
    settings = _made(op) if op.flag("periodic") else {"periodic": False} | _made(op)
    size = op.number(0)
    if not size.simple:
        size = op.named("int")(size).number()  # what is read from a tensor is a float to type checkers
    return op.function("signal", WINDOWS[name])(*weights, size, **settings)


@operator("MelWeightMatrix")
def mel_weights(op: Operation) -> Expression:
    return op.function("signal", "mel_weights")(*(op.number(index) for index in range(5)), **_made(op))


def _made(op: Operation) -> dict[str, Argument]:
    """Where and of what a new tensor is made."""
    dtype = op.output_dtype()
    return {"device": op.device} | ({} if dtype is ElementType.f32 else {"dtype": dtype})


@operator("Det")
def det(op: Operation) -> Expression:
    return op.function("linalg", "det")(op.x)


@operator("Einsum")
def einsum(op: Operation) -> Expression:
    return op.function("linalg", "einsum")(op.attribute("equation"), *op.tensors())
