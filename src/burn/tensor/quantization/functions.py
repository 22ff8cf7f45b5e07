"""From floats to a `QuantizedTensor`, and the same error without leaving the floats."""

from __future__ import annotations

from typing import Any

from burn.dtype import HALVES, f32
from burn.errors import ArgumentError
from burn.ops import quantization as rows
from burn.tensor.quantization.calibration import Calibration
from burn.tensor.quantization.quantized import QuantizedTensor
from burn.tensor.quantization.scheme import QuantizationParameters, QuantizationScheme
from burn.tensor.tensor import Tensor


def quantize(x: Tensor[Any], scheme: QuantizationScheme, parameters: QuantizationParameters) -> QuantizedTensor:
    """Make integers of the scheme's type of `x`, in steps of the given scale.

    Arguments:
        parameters: the scale, and in affine mode the zero point.

    >>> from burn.tensor.quantization import PerTensor, QuantizationParameters, quantize
    >>> quantize(burn.tensor([0.5, -1.0]), PerTensor(), QuantizationParameters(0.25)).values.tolist()
    [2, -4]
    """
    check_scheme("quantize", scheme)
    x = x.dequantize().detach()
    scale, zero = _parameters("quantize", x, scheme, parameters)
    shape, _ = scheme.layout(x.shape)
    low, high = scheme.value.low, scheme.value.high
    blocks = x if shape == x.shape else x.reshape(shape)
    values = rows.quantize(blocks, scale, zero, low, high, "i8")
    return QuantizedTensor(values if shape == x.shape else values.reshape(x.shape), scale, scheme, x.dtype, zero)


def quantize_dynamic(x: Tensor[Any], scheme: QuantizationScheme, calibration: Calibration) -> QuantizedTensor:
    """Make integers of `x` that cover the range which the `calibration` finds in it.

    Arguments:
        scheme: which elements share a scale, and which integers stand for them.

    >>> from burn.tensor.quantization import Calibration, PerTensor, quantize_dynamic
    >>> quantize_dynamic(burn.tensor([1.0, -127.0]), PerTensor(), Calibration.MinMax).values.tolist()
    [1, -127]
    """
    return quantize(x, scheme, _measured("quantize_dynamic", x, scheme, calibration))


def fake_quantize(
    x: Tensor[Any],
    scheme: QuantizationScheme,
    parameters: QuantizationParameters | None = None,
    calibration: Calibration = Calibration.MinMax,
) -> Tensor[Any]:
    """Give the floats that `x` has once it was quantised and dequantised, with a gradient that passes straight through.

    A model trained with its weights under this function learns weights that survive the rounding.

    Arguments:
        scheme: which elements share a scale, and which integers stand for them.
        parameters: the scale and zero point; computed from `x` by the `calibration` if None, without a gradient.

    >>> from burn.tensor.quantization import PerTensor, QuantizationParameters, fake_quantize
    >>> fake_quantize(burn.tensor([0.6, -1.0]), PerTensor(), QuantizationParameters(0.25)).tolist()
    [0.5, -1.0]
    """
    check_scheme("fake_quantize", scheme)
    if parameters is None:
        parameters = _measured("fake_quantize", x, scheme, calibration)
    scale, zero = _parameters("fake_quantize", x, scheme, parameters)
    shape, _ = scheme.layout(x.shape)
    low, high = scheme.value.low, scheme.value.high
    if shape == x.shape:
        return rows.fake_quantize(x, scale, zero, low, high)
    return rows.fake_quantize(x.reshape(shape), scale, zero, low, high).reshape(x.shape)


def check_scheme(operation: str, scheme: Any) -> None:
    """Refuse what is no `scheme`; the error names the `operation`.

    >>> from burn.tensor.quantization import PerTensor, check_scheme
    >>> check_scheme("quantize", PerTensor())
    """
    if not isinstance(scheme, QuantizationScheme):
        raise ArgumentError(f"{operation}: {scheme!r} is no QuantizationScheme; write QuantizationScheme.PerTensor()")


def _measured(
    operation: str, x: Tensor[Any], scheme: QuantizationScheme, calibration: Calibration
) -> QuantizationParameters:
    check_scheme(operation, scheme)
    if not isinstance(calibration, Calibration):
        raise ArgumentError(f"{operation}: {calibration!r} is no Calibration; write Calibration.MinMax")
    return scheme.compute_q_params(calibration.compute_range(x.dequantize().detach(), scheme))


def _parameters(
    operation: str, x: Tensor[Any], scheme: QuantizationScheme, parameters: Any
) -> tuple[Tensor[Any], Tensor[Any] | None]:
    """Scale and zero point as tensors on the device of `x`."""
    given, zero = (
        (parameters.scale, parameters.zero) if isinstance(parameters, QuantizationParameters) else (parameters, None)
    )
    if scheme.is_affine and zero is None:
        raise ArgumentError(f"{operation}: an affine scheme needs a zero point: QuantizationParameters(scale, zero)")
    if not scheme.is_affine and zero is not None:
        raise ArgumentError(f"{operation}: a symmetric scheme has no zero point; use QuantizationMode.Affine")
    scale = given.detach().to(x.device) if isinstance(given, Tensor) else _as_scale(operation, x, given)
    if zero is None:
        return scale, None
    return scale, zero.to(x.device) if isinstance(zero, Tensor) else _as_zero(operation, x, scheme, zero)


def _as_scale(operation: str, x: Tensor[Any], number: Any) -> Tensor[Any]:
    """A number as a scale for all elements."""
    try:
        value = float(number)
    except (TypeError, ValueError):
        raise ArgumentError(f"{operation}: the scale must be a number or a tensor, got {number!r}") from None
    return Tensor.full((1,) if x.shape else (), value, x.device, f32 if x.dtype in HALVES else x.dtype)


def _as_zero(operation: str, x: Tensor[Any], scheme: QuantizationScheme, number: Any) -> Tensor[Any]:
    """An integer as the zero point of all elements."""
    low, high = scheme.value.low, scheme.value.high
    if isinstance(number, bool) or not isinstance(number, int) or not low <= number <= high:
        raise ArgumentError(
            f"{operation}: the zero point must be a tensor or an int from {low} to {high}, got {number!r}"
        )
    return Tensor.full((1,) if x.shape else (), number, x.device, "i8")
