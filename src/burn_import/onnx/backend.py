"""The interface of `onnx.backend`, so that tools of the standard can run us: everything goes through generated source.

from burn_import.onnx.backend import BurnBackend

outputs = BurnBackend.run_model(proto, [array])
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import burn
from burn.packages import missing
from burn_import.onnx.loading import load

try:
    import onnx.backend.base
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(missing(__name__, "onnx"), name=error.name) from None


class BurnRepresentation(onnx.backend.base.BackendRep):
    """A prepared model."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def run(self, inputs: Any, **options: Any) -> tuple[Any, ...]:
        """The outputs for inputs in the order of the graph, one array, or arrays by name."""
        names = self.model.input_names
        if isinstance(inputs, dict):
            given = dict(inputs)
        elif isinstance(inputs, Sequence) and not isinstance(inputs, str):
            given = dict(zip(names, inputs))
        else:
            given = {names[0]: inputs}
        return tuple(self.model.run(given).values())


class BurnBackend(onnx.backend.base.Backend):
    """`onnx.backend` on `NdArray()` by default; device "CPU:fused" is `Cpu()`."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **options: Any) -> BurnRepresentation:
        """The model, ready to run."""
        super().prepare(model, "CPU", **options)
        return BurnRepresentation(load(model, burn.Cpu() if device == "CPU:fused" else burn.NdArray()))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device in ("CPU", "CPU:fused")
