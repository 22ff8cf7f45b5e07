"""From arrays to arrays through a module or a graph: recorded once for each set of shapes, replayed after that."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

import burn
from burn import Device, Tensor
from burn.backend import Fusion
from furnace.datatypes import Array

log = logging.getLogger("furnace")

PLANS = 64
"""How many sets of shapes keep their plan; the least recently used one goes first."""


class ModuleRunner:
    """Calls a module with arrays. Each set of shapes and types has a captured function of its own."""

    def __init__(self, module: Any, device: Device) -> None:
        self.module = module
        self.device = device
        self._captures = _is_fused(device) and device in getattr(module, "devices", list)()
        self._plans: OrderedDict[Any, Any] = OrderedDict()

    def __call__(self, inputs: Sequence[Array | None]) -> list[Any]:
        """The outputs in order."""
        key = _key(inputs)
        function = self._plans.get(key)
        if function is None:
            if not self._captures or any(each is None or each.dtype.kind in "OUS" for each in inputs):
                return self._plainly(inputs)
            function = self._plans[key] = burn.compile(_forward, notice=_note)
            if len(self._plans) > PLANS:
                self._plans.popitem(last=False)
        else:
            self._plans.move_to_end(key)
        return _listed(function.numpy(self.module, *[_in_order(each) for each in inputs]))

    def forget(self, inputs: Sequence[Array | None]) -> None:
        """Let go of the plan for inputs of these shapes and types."""
        self._plans.pop(_key(inputs), None)

    def another(self) -> ModuleRunner:
        """The same module with plans of its own: a plan is made for a number of threads."""
        return ModuleRunner(self.module, self.device)

    def _plainly(self, inputs: Sequence[Array | None]) -> list[Any]:
        return _listed(self.module(*[self._placed(each) for each in inputs]))

    def _placed(self, value: Array | None) -> Any:
        if value is None or value.dtype.kind in "OUS":
            return value
        return burn.tensor(value, device=self.device)


class GraphRunner:
    """Runs the graph of an imported model as it stands: `runtime` is what `run` of the model rests on."""

    def __init__(self, model: Any, runtime: Any, device: Device) -> None:
        from burn_import.onnx.errors import TextOnly

        self.model, self.runtime, self.device = model, runtime, device
        self._text_only = TextOnly
        self._module: ModuleRunner | None = None

    def __call__(self, inputs: Sequence[Array | None]) -> list[Any]:
        """The outputs in order."""
        if self._module is None:
            try:
                return [_host(each) for each in self.runtime.outputs(inputs)]
            except self._text_only as reason:  # a row of somebody else's that can only be written
                log.debug("a model runs as its module: %s", reason)
                self._module = ModuleRunner(self.model, self.device)
        return self._module(inputs)

    def forget(self, inputs: Sequence[Array | None]) -> None:
        """Let go of what is kept for inputs of these shapes and types."""
        (self.runtime if self._module is None else self._module).forget(inputs)

    def another(self) -> GraphRunner:
        """The same model with recordings of its own: they are made for a number of threads."""
        return GraphRunner(self.model, self.runtime.another(), self.device)


def _key(inputs: Sequence[Array | None]) -> Any:
    return tuple([None if each is None else (each.shape, each.dtype) for each in inputs])


def _in_order(array: Any) -> Any:
    """An array that a replay takes as it is: bytes of a body may begin anywhere."""
    flags = array.flags
    return array if flags.aligned and flags.c_contiguous else array.copy()


def _is_fused(device: Device) -> bool:
    below: Device | None = device
    while below is not None and not isinstance(below, Fusion):
        below = below.below
    return below is not None


def _note(reason: str) -> None:
    log.debug("a model %s", reason)


def _forward(module: Any, *tensors: Any) -> Any:
    return module(*tensors)


def _listed(value: Any) -> list[Any]:
    values = value if isinstance(value, tuple | list) else [value]
    return [_host(each) for each in values]


def _host(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.numpy()
    if isinstance(value, list | tuple):
        return [_host(each) for each in value]
    return value if isinstance(value, np.ndarray) else np.asarray(value)
