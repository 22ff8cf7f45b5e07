"""Quantised tensors: floats kept as small integers, a scale and, in affine mode, a zero point.

    scheme = QuantizationScheme.PerTensor(QuantizationMode.Symmetric, QuantizationType.QInt8)
    q = x.quantize_dynamic(scheme)
    q.values, q.scale                   # i8 and f32
    y @ q                               # computed in float: an operation dequantises what it reads

A scheme says which elements share a scale and which integers are used; a calibration says which
range of floats those integers cover.
"""

from burn.tensor.quantization.calibration import Calibration
from burn.tensor.quantization.functions import check_scheme, fake_quantize, quantize, quantize_dynamic
from burn.tensor.quantization.quantized import QuantizedTensor
from burn.tensor.quantization.scheme import (
    CalibrationRange,
    PerBlock,
    PerChannel,
    PerTensor,
    QuantizationMode,
    QuantizationParameters,
    QuantizationScheme,
    QuantizationType,
)

__all__ = [
    "Calibration",
    "CalibrationRange",
    "PerBlock",
    "PerChannel",
    "PerTensor",
    "QuantizationMode",
    "QuantizationParameters",
    "QuantizationScheme",
    "QuantizationType",
    "QuantizedTensor",
    "check_scheme",
    "fake_quantize",
    "quantize",
    "quantize_dynamic",
]
