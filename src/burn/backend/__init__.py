"""Who computes: the backends, and the decorators around them.

`LibTorch` loads PyTorch and `Cpu` loads LLVM, so they are imported when they are first named.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burn.backend.autodiff import Autodiff, BalancedCheckpointing, NoCheckpointing
from burn.backend.ndarray import NdArray
from burn.device import Device
from burn.packages import missing

if TYPE_CHECKING:
    from burn.backend.cpu.device import Cpu
    from burn.backend.fusion import Fusion
    from burn.backend.torch import LibTorch
    from burn.ops.op import Op

__all__ = ["Autodiff", "BalancedCheckpointing", "Cpu", "Fusion", "LibTorch", "NdArray", "NoCheckpointing"]

_LATER = {
    "Cpu": ("burn.backend.cpu.device", "llvmlite"),
    "Fusion": ("burn.backend.fusion", ""),
    "LibTorch": ("burn.backend.torch", "torch"),
}
"""From name to (module, package it needs)."""


def _region_driver(device: Device, op: Op) -> Any:
    return importlib.import_module("burn.backend.regions").region_kernel(device, op)


Device.region_driver = _region_driver

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, package = _LATER[name]
        try:
            found = getattr(importlib.import_module(module), name)
        except ModuleNotFoundError as error:
            if not package or error.name != package:
                raise
            raise ModuleNotFoundError(missing(name, package), name=package) from None
        globals()[name] = found
        return found
