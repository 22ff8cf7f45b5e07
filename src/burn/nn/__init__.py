"""Layers: each with a config that says what it needs and makes it, `LinearConfig(784, 10).init(device)`."""

from burn.nn.dropout import Dropout, DropoutConfig
from burn.nn.initializer import Initializer
from burn.nn.linear import Linear, LinearConfig

__all__ = [
    "Dropout", "DropoutConfig",
    "Initializer",
    "Linear", "LinearConfig",
]  # fmt: skip
