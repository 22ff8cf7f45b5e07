"""Convolutions: layers where the weights are constants, else the functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn_import.onnx.code.expression import Expression, binary
from burn_import.onnx.code.fields import Source
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator
from burn_import.onnx.operators.tying import is_tied

AUTOMATIC = {"SAME_UPPER": "same", "SAME_LOWER": "same_lower", "VALID": "valid"}


def pairs(pads: Sequence[int]) -> list[tuple[int, int]]:
    """Pads of the standard, all before and then all after, as one pair a dim."""
    half = len(pads) // 2
    return list(zip(pads[:half], pads[half:]))


def padding(op: Operation, dims: int) -> str | list[tuple[int, int]]:
    """The padding of a window as the functions take it."""
    automatic = op.attribute("auto_pad", "NOTSET")
    if automatic in AUTOMATIC:
        return AUTOMATIC[automatic]
    return pairs(op.attribute("pads") or (0,) * (2 * dims))


def layer_padding(op: Operation, dims: int) -> Expression | bool | None:
    """The padding as the config of a layer takes it; None for none, False where no config can say it."""
    found = padding(op, dims)
    name = op.named("nn").attribute(f"PaddingConfig{dims}d")
    if found == "same":
        return name.attribute("Same")
    if found == "valid" or not any(any(pair) for pair in found):
        return None
    if isinstance(found, str) or any(min(pair) < 0 for pair in found):
        return False
    before, after = [pair[0] for pair in found], [pair[1] for pair in found]
    return name.attribute("Explicit")(*before, *(after if before != after else ()))


def per_dim(values: Sequence[int]) -> Any:
    """A setting of a config: one number in one dim, a tuple in several."""
    return values[0] if len(values) == 1 else tuple(values)


def settings(op: Operation, dims: int) -> dict[str, Any]:
    """Stride, dilation and groups where they are not the usual ones."""
    found: dict[str, Any] = {}
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    if strides != ones:
        found["stride"] = per_dim(strides)
    if dilations != ones:
        found["dilation"] = per_dim(dilations)
    if op.attribute("group", 1) != 1:
        found["groups"] = op.attribute("group")
    return found


def spatial(op: Operation) -> int:
    """How many dims a window slides over, from the weights or the input."""
    for index in (1, 0):
        rank = op.known_rank(index)
        if rank is not None:
            return rank - 2
    return op.rank() - 2


@operator("Conv")
def conv(op: Operation) -> Expression:
    dims = spatial(op)
    weight, bias = op.value(1).constant, op.node.input(2)
    around = layer_padding(op, dims) if dims in (1, 2, 3) else False
    fits = weight is not None and (bias is None or bias.constant is not None) and weight.dtype.is_float
    if fits and around is not False and weight is not None and 0 not in weight.shape and not is_tied(op, 1):
        keywords = settings(op, dims)
        if around is not None:
            keywords["padding"] = around
        if bias is None:
            keywords["bias"] = False
        groups = op.attribute("group", 1)
        channels = (weight.shape[1] * groups, weight.shape[0])
        weights: dict[str, Source] = {"weight": op.weight(1)}
        if bias is not None:
            weights["bias"] = op.weight(2)
        sizes = (*channels, weight.shape[2]) if dims == 1 else (channels, weight.shape[2:])
        return op.layer(f"conv.Conv{dims}d", *sizes, weights=weights, **keywords)(op.x)
    ones = (1,) * dims
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    function = op.function("module", "conv")
    result = function(op.x, op.tensor(1), list(strides), padding(op, dims), list(dilations), op.attribute("group", 1))
    if bias is None:
        return result
    return binary("+", result, op.tensor(2).method("reshape", [1, -1, *ones]))


@operator("ConvTranspose")
def conv_transpose(op: Operation) -> Expression:
    dims = spatial(op)
    ones, zeros = (1,) * dims, (0,) * dims
    weight, bias = op.value(1).constant, op.node.input(2)
    around, more = padding(op, dims), op.attribute("output_padding") or zeros
    symmetric = not isinstance(around, str) and all(pair[0] == pair[1] >= 0 for pair in around)
    fits = weight is not None and (bias is None or bias.constant is not None) and weight.dtype.is_float
    strides, dilations = op.attribute("strides") or ones, op.attribute("dilations") or ones
    small = all(extra < max(step, hole) for extra, step, hole in zip(more, strides, dilations))
    wanted = op.attribute("output_shape")
    if (
        fits
        and symmetric
        and small
        and wanted is None
        and dims in (1, 2, 3)
        and weight is not None
        and 0 not in weight.shape
    ):
        keywords = settings(op, dims)
        if any(any(pair) for pair in around):
            keywords["padding"] = per_dim([pair[0] for pair in around])  # type: ignore[misc]
        if any(more):
            keywords["padding_out"] = per_dim(more)
        if bias is None:
            keywords["bias"] = False
        channels = (weight.shape[0], weight.shape[1] * op.attribute("group", 1))
        weights: dict[str, Source] = {"weight": op.weight(1)}
        if bias is not None:
            weights["bias"] = op.weight(2)
        kernel = per_dim(weight.shape[2:])
        return op.layer(f"conv.ConvTranspose{dims}d", channels, kernel, weights=weights, **keywords)(op.x)
    return op.function("module", "conv_transpose")(
        op.x, op.tensor(1), op.optional(2), list(strides), around, list(more), list(dilations),
        op.attribute("group", 1), None if wanted is None else list(wanted[-dims:]),
    )  # fmt: skip
