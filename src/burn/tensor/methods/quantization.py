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
        """Keep this tensor as integers, in steps of a given scale.

        Arguments:
            scheme: which elements share a scale, and which integers stand for them.
            qparams: the scale, and in affine mode the zero point.

        >>> from burn.tensor.quantization import PerTensor, QuantizationParameters
        >>> q = burn.tensor([0.5, -1.0]).quantize(PerTensor(), QuantizationParameters(0.25))
        >>> q.values.tolist(), q.dequantize().tolist()
        ([2, -4], [0.5, -1.0])
        """
        from burn.tensor.quantization import quantize

        return quantize(self, scheme, qparams)

    def quantize_dynamic(  # type: ignore[misc]
        self: Tensor[B], scheme: QuantizationScheme, calibration: Calibration | None = None
    ) -> QuantizedTensor:
        """Keep this tensor as integers that cover its own range.

        Arguments:
            scheme: which elements share a scale, and which integers stand for them.
            calibration: how the range is found; all of it if None.

        >>> from burn.tensor.quantization import PerTensor
        >>> burn.tensor([1.0, -127.0]).quantize_dynamic(PerTensor()).values.tolist()
        [1, -127]
        """
        from burn.tensor.quantization import Calibration, quantize_dynamic

        return quantize_dynamic(self, scheme, Calibration.MinMax if calibration is None else calibration)

    def dequantize(self: Tensor[B]) -> Tensor[Any]:  # type: ignore[misc]
        """The floats of a quantised tensor; a float tensor is its own.

        >>> from burn.tensor.quantization import PerTensor
        >>> burn.tensor([1.0, -127.0]).quantize_dynamic(PerTensor()).dequantize().tolist()
        [1.0, -127.0]
        """
        return self
