"""Quantisation of models: parameters as small integers, and back to floats.

    quantizer = Quantizer(Calibration.MinMax, QuantizationScheme.PerTensor())
    small = model.quantize_weights(quantizer)
    print(quantizer.report)
    small.save_file("model")
    fast = model.load_file("model").map(Dequantize())

Each layer has its part under the same name: the rows stand in `burn.ops.quantization`; schemes, calibrations and
tensors of small integers in `burn.tensor.quantization`; this package, which gives all of them, works on whole models.
What only models from files need is `burn_import.functions.quantized`.
"""

from burn.quantization.quantizer import Dequantize, Quantizer
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
