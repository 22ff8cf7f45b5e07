"""What a user imports with `from burn.prelude import *`."""

from burn.device import Device
from burn.device import Device as Backend
from burn.dtype import Bool, Float, Int
from burn.shape import Shape
from burn.tensor import ElementConversion, Tensor, TensorData

__all__ = ["Backend", "Bool", "Device", "ElementConversion", "Float", "Int", "Shape", "Tensor", "TensorData"]
