"""From a model to one with small integers, and back: which parameters become integers, and how.

    Quantizer()                                                     # every float parameter, one scale each
    Quantizer(scheme=QuantizationScheme.PerChannel(dim=-1), min_rank=2)
    Quantizer(scheme=..., parameters=ParamGroup.under("encoder"))

A scheme of channels or blocks does not fit every parameter: blocks may not divide a shape, and a channel of
one element would take more memory for its scale than it saves. Such parameters stay in float, or get one scale
for the whole tensor with `rest="tensor"`. Several quantizers may follow each other, because a parameter that is
quantised stays as it is. Running statistics are no weights and stay in float.
"""

from __future__ import annotations

import math
from typing import Any, Literal, TypeVar

from burn.errors import ArgumentError, ShapeError
from burn.module import Module, ModuleMapper, Param, ParamId
from burn.module.groups import ParamGroup
from burn.quantization.report import QuantizationEntry, QuantizationReport
from burn.shape import Shape
from burn.tensor import Tensor
from burn.tensor.quantization import Calibration, QuantizationScheme, QuantizedTensor

M = TypeVar("M", bound=Module)
Rest = Literal["float", "tensor"]


class Quantizer:
    """Quantises parameters after training; `report` tells what the last `quantize_weights` did.

    `calibration` says which range of floats the integers cover, `scheme` which elements share a scale and how many bits
    they have (8 and one scale each without it). `parameters` is a `ParamGroup`, `min_rank` leaves out those of fewer
    dims, and `rest` ("float" or "half") is what becomes of the others.

    >>> from burn.quantization import Quantizer
    >>> quantizer = Quantizer(min_rank=2)
    >>> small = nn.Linear(64, 64).quantize_weights(quantizer)
    >>> quantizer.report.bytes_before, quantizer.report.bytes_after
    (16640, 4356)
    """

    def __init__(
        self,
        calibration: Calibration = Calibration.MinMax,
        scheme: QuantizationScheme | None = None,
        *,
        parameters: ParamGroup | None = None,
        min_rank: int = 0,
        rest: Rest = "float",
    ) -> None:
        scheme = QuantizationScheme.PerTensor() if scheme is None else scheme
        faults = [
            f"{name} must be {what}, got {given!r}"
            for name, given, good, what in (
                ("calibration", calibration, isinstance(calibration, Calibration), "a Calibration"),
                ("scheme", scheme, isinstance(scheme, QuantizationScheme), "a QuantizationScheme"),
                ("parameters", parameters, parameters is None or isinstance(parameters, ParamGroup), "a ParamGroup"),
                ("min_rank", min_rank, type(min_rank) is int and min_rank >= 0, "an int, 0 or more"),
                ("rest", rest, rest in ("float", "tensor"), "'float' or 'tensor'"),
            )
            if not good
        ]
        if faults:
            raise ArgumentError(f"Quantizer: {'; '.join(faults)}")
        self.calibration, self.scheme = calibration, scheme
        self.parameters = ParamGroup.all() if parameters is None else parameters
        self.min_rank, self.rest = min_rank, rest
        self.report = QuantizationReport()

    def quantize_tensor(self, tensor: Tensor[Any]) -> QuantizedTensor:
        """One tensor under the scheme; an error where the scheme does not fit its shape."""
        return tensor.quantize_dynamic(self.scheme, self.calibration)

    def quantize_module(self, module: M) -> M:
        """A model with the chosen parameters quantised: what `model.quantize_weights(quantizer)` does."""
        found = [(path, param) for path, param in module.named_parameters() if param.dtype.is_float]
        if found and not any(self.parameters.matches(param.id, path) for path, param in found):
            known = ", ".join(path for path, _ in found)
            raise ArgumentError(f"quantize_weights: {self.parameters!r} chooses no float parameter of {known}")
        made: dict[int, Param[Any]] = {}
        entries = []
        for path, param in found:
            made[id(param)], entry = self._quantized(path, param)
            entries.append(entry)
        self.report = QuantizationReport(tuple(entries))
        return module.map(lambda param: made.get(id(param), param))

    def _quantized(self, path: str, param: Param[Any]) -> tuple[Param[Any], QuantizationEntry]:
        size = _num_bytes(param)
        scheme, reason = self._scheme_for(path, param)
        if scheme is not None:
            floats = param.val().detach()
            tensor = floats.quantize_dynamic(scheme, self.calibration)
            error = float((floats - tensor.dequantize()).abs().max().item())
            if math.isfinite(error):
                step = float(tensor.scale.max().item())
                entry = QuantizationEntry(path, param.shape, scheme, reason, size, tensor.num_bytes(), step, error)
                return param.with_value(tensor), entry
            reason = "not finite: it holds NaN or infinity"
        return param, QuantizationEntry(path, param.shape, None, reason, size, size)

    def _scheme_for(self, path: str, param: Param[Any]) -> tuple[QuantizationScheme | None, str]:
        """The scheme for a parameter, or None, and the reason where it is not the one that was asked for."""
        if isinstance(param.val(), QuantizedTensor):
            return None, "quantised already"
        if not self.parameters.matches(param.id, path):
            return None, "not among the parameters chosen"
        if param.rank < self.min_rank:
            return None, f"rank {param.rank}, less than {self.min_rank}"
        if not param.num_elements():
            return None, "no elements"
        reason = _misfit(self.scheme, param.shape)
        if not reason:
            return self.scheme, ""
        if self.rest == "tensor":
            return QuantizationScheme.PerTensor(self.scheme.mode, self.scheme.value), reason
        return None, reason

    def __repr__(self) -> str:
        extra = "" if self.parameters == ParamGroup.all() else f", parameters={self.parameters!r}"
        extra += f", min_rank={self.min_rank}" if self.min_rank else ""
        extra += f", rest={self.rest!r}" if self.rest != "float" else ""
        return f"Quantizer({self.calibration!r}, {self.scheme!r}{extra})"


class Dequantize(ModuleMapper):
    """Makes float parameters of quantised ones: as fast as before, as large as before, and trained again.

    The values are those of the quantised model. Parameters that were frozen stay frozen.

    >>> from burn.quantization import Dequantize, Quantizer
    >>> small = nn.Linear(2, 3).quantize_weights(Quantizer())
    >>> small.map(Dequantize())
    Linear {d_input: 2, d_output: 3, bias: true, params: 9}
    """

    def map_float(self, id: ParamId, tensor: Tensor[Any]) -> Tensor[Any]:
        """The floats of a quantised parameter; any other `tensor` stays as it is. `id` is not looked at."""
        return tensor.dequantize()


def _misfit(scheme: QuantizationScheme, shape: Shape) -> str:
    """Why a scheme is not for a shape, or nothing."""
    if isinstance(scheme, QuantizationScheme.PerTensor):
        return ""
    try:
        layout, dims = scheme.layout(shape)
    except (ShapeError, IndexError) as error:
        return str(error).removeprefix("quantize: ")
    if math.prod(layout[dim] for dim in dims) == 1:
        return "every element would have a scale of its own"
    return ""


def _num_bytes(param: Param[Any]) -> int:
    value = param.val()
    return value.num_bytes() if isinstance(value, QuantizedTensor) else value.num_elements() * value.dtype.size
