"""The way back: a mapper that gives a quantised model its floats."""

from __future__ import annotations

from typing import Any

from burn.module import ModuleMapper, ParamId
from burn.tensor import Tensor


class Dequantize(ModuleMapper):
    """Makes float parameters of quantised ones: as fast as before, as large as before, and trained again.

    The values are those of the quantised model. Parameters that were frozen stay frozen.
    """

    def map_float(self, id: ParamId, tensor: Tensor[Any]) -> Tensor[Any]:
        """The floats of a quantised parameter; any other stays as it is."""
        return tensor.dequantize()
