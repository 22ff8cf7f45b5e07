"""Quantisation under Burn's names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.quantization import (
        Calibration,
        QuantizationParameters,
        QuantizationScheme,
        QuantizedTensor,
    )
    from burn.tensor.tensor import Tensor


class QuantizationMethods:
    """From floats to small integers and back. No gradient flows through."""

    __slots__ = ()

    def quantize(  # type: ignore[misc]
        self: Tensor[B], scheme: QuantizationScheme, qparams: QuantizationParameters
    ) -> QuantizedTensor:
        """Keep this tensor as integers, in steps of the given scale (and around a zero point, in affine mode)."""
        from burn.tensor.quantization import quantize

        return quantize(self, scheme, qparams)

    def quantize_dynamic(  # type: ignore[misc]
        self: Tensor[B], scheme: QuantizationScheme, calibration: Calibration | None = None
    ) -> QuantizedTensor:
        """Keep this tensor as integers that cover its own range: all of it, if no other calibration is given."""
        from burn.tensor.quantization import Calibration, quantize_dynamic

        return quantize_dynamic(self, scheme, Calibration.MinMax if calibration is None else calibration)

    def dequantize(self: Tensor[B]) -> Tensor[Any]:  # type: ignore[misc]
        """The floats of a quantised tensor; a float tensor is its own."""
        return self
