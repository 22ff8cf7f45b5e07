"""Quantisation of models: parameters as small integers, and back to floats.

    quantizer = Quantizer(Calibration.MinMax, QuantizationScheme.PerTensor())
    small = model.quantize_weights(quantizer)
    print(quantizer.report)
    small.save_file("model")
    fast = model.load_file("model").map(Dequantize())

What a scheme and a calibration are stands in `burn.tensor.quantization`, which works on single tensors.
"""

from burn.quantization.dequantize import Dequantize
from burn.quantization.quantizer import Quantizer
from burn.quantization.report import QuantizationEntry, QuantizationReport
from burn.tensor.quantization import (
    Calibration,
    CalibrationRange,
    QuantizationMode,
    QuantizationParameters,
    QuantizationScheme,
    QuantizationType,
    QuantizedTensor,
    fake_quantize,
)

__all__ = [
    "Calibration",
    "CalibrationRange",
    "Dequantize",
    "QuantizationEntry",
    "QuantizationMode",
    "QuantizationParameters",
    "QuantizationReport",
    "QuantizationScheme",
    "QuantizationType",
    "QuantizedTensor",
    "Quantizer",
    "fake_quantize",
]
