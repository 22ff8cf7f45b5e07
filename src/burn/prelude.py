"""What a user imports with `from burn.prelude import *`."""

from burn import nn
from burn.config import Config
from burn.device import Device
from burn.device import Device as Backend
from burn.dtype import Bool, Float, Int
from burn.module import Module
from burn.shape import Shape
from burn.tensor import ElementConversion, Tensor, TensorData

__all__ = [
    "Backend", "Bool", "Config", "Device", "ElementConversion", "Float", "Int", "Module", "Shape", "Tensor",
    "TensorData", "nn",
]  # fmt: skip
