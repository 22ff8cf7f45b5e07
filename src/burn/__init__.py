"""Burn for Python: a deep-learning framework in which the code that trains is the code that ships.

import burn
from burn import NdArray

x = burn.tensor([[1.0, 2.0], [3.0, 4.0]], device=NdArray().autodiff()).require_grad()
grads = (x * x).sum().backward()
print(x.grad(grads))
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi
from typing import TYPE_CHECKING, Any

from burn.backend import Autodiff, BalancedCheckpointing, NdArray, NoCheckpointing
from burn.device import Device, default_device, set_default_device, set_default_factory
from burn.dtype import (
    Bool,
    DType,
    Float,
    Int,
    bf16,
    bool_,
    f16,
    f32,
    f64,
    i8,
    i16,
    i32,
    i64,
    u8,
    u16,
    u32,
    u64,
)
from burn.errors import (
    ArgumentError,
    AutodiffError,
    BurnError,
    DataError,
    DeviceError,
    DTypeError,
    IndexingError,
    MissingOperation,
    OutOfMemory,
    ShapeError,
)
from burn.guesses import PARTS, Guide, missing_name
from burn.shape import Shape
from burn.tensor import Distribution, Tensor, TensorData
from burn.version import __version__

if TYPE_CHECKING:
    from burn import config, data, module, nn, optim, record
    from burn import grad_clipping as grad_clipping
    from burn import lr_scheduler as lr_scheduler
    from burn import quantization as quantization
    from burn.backend import Cpu, Fusion, LibTorch
    from burn.backend.cpu.pool import get_num_threads, set_num_threads
    from burn.capture import CaptureWarning, Scalar, compile, tune
    from burn.config import Config
    from burn.module import Module, Param
    from burn.tensor.methods.creation import tensor
    from burn.tensor.names import *  # noqa: F403


def _usual_device() -> Device:
    """`Cpu()` where its compiler is installed, else `NdArray()`."""
    if importlib.util.find_spec("llvmlite") is None:
        return NdArray()
    from burn.backend import Cpu

    return Cpu()


set_default_factory(_usual_device)

__all__ = [
    "ArgumentError", "Autodiff", "AutodiffError", "BalancedCheckpointing", "Bool", "BurnError", "CaptureWarning",
    "Config", "Cpu", "DType", "DTypeError", "DataError", "Device", "DeviceError", "Distribution", "Float", "Fusion",
    "IndexingError", "Int", "LibTorch", "MissingOperation", "Module", "NdArray", "NoCheckpointing", "OutOfMemory",
    "Param", "Scalar", "Shape", "ShapeError", "Tensor", "TensorData", "__version__", "bf16", "bool_", "compile",
    "config", "data", "default_device", "f16", "f32", "f64", "get_num_threads", "i16", "i32", "i64", "i8", "module",
    "nn", "optim", "record", "set_default_device", "set_num_threads", "tensor", "tune", "u16", "u32", "u64", "u8",
]  # fmt: skip
if TYPE_CHECKING:  # what is no part of `from burn import *`, and still public
    from burn.tensor import names

    __all__ += names.__all__


_LATER = {
    "CaptureWarning": "burn.capture",
    "Config": "burn.config",
    "Cpu": "burn.backend",
    "Fusion": "burn.backend",
    "LibTorch": "burn.backend",
    "Module": "burn.module",
    "Param": "burn.module",
    "Scalar": "burn.capture",
    "compile": "burn.capture",
    "get_num_threads": "burn.backend.cpu.pool",
    "set_num_threads": "burn.backend.cpu.pool",
    "tune": "burn.capture",
}
_PACKAGES = {"config", "data", "grad_clipping", "lr_scheduler", "module", "nn", "optim", "quantization", "record"}
_PACKAGES |= {
    "backend",
    "capture",
    "control",
    "cube",
    "engine",
    "extension",
    "prelude",
    "program",
    "serve",
    "tools",
    "train",
}

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        """Names and packages that are loaded when somebody asks for them, so that `import burn` stays light."""
        if name in _LATER:
            return getattr(importlib.import_module(_LATER[name]), name)
        if name in _PACKAGES:
            return importlib.import_module(f"burn.{name}")
        if not name.startswith("_"):  # functions of tensors, such as burn.zeros
            from burn.tensor import guesses, names

            if name in names.__all__:
                return getattr(names, name)
            hint = guesses.of_package(name, (*__all__, *_PACKAGES, *names.__all__))
            raise missing_name(__name__, name, hint=hint)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class _CallableModule(types.ModuleType):
    """`burn.device` is a package's module; `burn.device("cpu")`, as others write it, says how devices are named."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from burn.tensor.placing import not_a_device

        raise not_a_device("device", args[0] if args else "")


def _of_part(package: str, name: str) -> str | None:
    from burn.tensor import guesses

    return guesses.of_part(package, name)


PARTS.append(_of_part)
sys.meta_path.append(Guide)
sys.modules["burn.device"].__class__ = _CallableModule
