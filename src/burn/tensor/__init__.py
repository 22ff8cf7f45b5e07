"""Tensors: arrays of numbers on a device, and the values around them.

The package is also the function that makes one: `burn.tensor([1.0, 2.0])`.
"""

import sys as _sys
import types as _types
from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from burn.device import Device
from burn.device import Device as Backend
from burn.dtype import Bool, DType, Float, Int
from burn.ops import dispatch as _dispatch
from burn.ops import exchange as _exchange
from burn.ops.indexing import IndexingUpdateOp
from burn.shape import Shape
from burn.tensor.closeness import check_closeness
from burn.tensor.data import TensorData
from burn.tensor.distribution import Distribution
from burn.tensor.element import ElementConversion, elem
from burn.tensor.methods import creation as _creation
from burn.tensor.named import NamedTensor
from burn.tensor.printing import PrintOptions, print_options, set_print_options
from burn.tensor.reductions import ValuesAndIndices
from burn.tensor.slicing import Slice, s
from burn.tensor.tensor import Tensor
from burn.tensor.tolerance import Tolerance
from burn.tensor.transaction import Transaction

_dispatch.set_tensor_class(Tensor)


class _CallablePackage(_types.ModuleType):
    """Lets `burn.tensor(...)` make a tensor while `burn.tensor.activation` stays a module."""

    def __call__(self, *args: _Any, **kwargs: _Any) -> Tensor[_Any]:
        made: Tensor[_Any] = _creation.tensor(*args, **kwargs)
        return made


_CallablePackage.__call__.__doc__ = _creation.tensor.__doc__
_sys.modules[__name__].__class__ = _CallablePackage

_LATER = frozenset("activation linalg loss module quantization recurrent signal vision grid".split())

if not _TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> _Any:
        if name in _LATER:
            return _import_module(f"{__name__}.{name}")
        if name in _exchange.MOVED:
            return _exchange.moved_module(name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "Backend", "Bool", "DType", "Device", "Distribution", "ElementConversion", "Float", "IndexingUpdateOp", "Int",
    "NamedTensor", "PrintOptions", "Shape", "Slice", "Tensor", "TensorData", "Tolerance", "Transaction",
    "ValuesAndIndices", "check_closeness", "elem", "print_options", "s", "set_print_options",
]  # fmt: skip
