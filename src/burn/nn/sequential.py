"""Modules and functions one after the other.

model = Sequential(Linear(784, 64), Relu(), Linear(64, 10))
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, overload

from burn.config import Config, Enumeration
from burn.device import Device
from burn.errors import ArgumentError
from burn.module import Module
from burn.module.display import Content
from burn.tensor import Tensor


class Sequential(Module):
    """Each of the `layers` takes what the one before it gives.

    A layer is a module, a config, which is made on `device` (or the default one), or a function such as `Tensor.relu`.
    An index gives a layer, a slice another `Sequential`.

    >>> model = nn.Sequential(nn.Linear(3, 4), nn.Relu(), nn.Linear(4, 2))
    >>> model(Tensor.ones([5, 3])).shape
    Shape([5, 2])
    >>> model[1]
    Relu
    """

    layers: list[Any]

    def __init__(
        self, *layers: Module | Config | Enumeration | Callable[..., Any], device: Device | None = None
    ) -> None:
        given: Any = layers
        if len(given) == 1 and isinstance(given[0], list | tuple):
            given = given[0]
        self.layers = [_layer(index, each, device) for index, each in enumerate(given)]

    def forward(self, x: Tensor) -> Tensor:
        """What the last layer gives."""
        for layer in self.layers:
            x = layer(x)
        return x

    def __len__(self) -> int:
        return len(self.layers)

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return iter(self.layers)

    @overload
    def __getitem__(self, index: int) -> Any: ...
    @overload
    def __getitem__(self, index: slice) -> Sequential: ...
    def __getitem__(self, index: int | slice) -> Any:
        return Sequential(*self.layers[index]) if isinstance(index, slice) else self.layers[index]

    def custom_content(self, content: Content) -> Content:
        """Add the layers by number to `content`."""
        for index, layer in enumerate(self.layers):
            content.add(str(index), layer if isinstance(layer, Module) else getattr(layer, "__name__", repr(layer)))
        return content


def _layer(index: int, given: Any, device: Device | None) -> Any:
    if isinstance(given, Module):
        return given
    if isinstance(given, type):
        raise ArgumentError(f"Sequential: layer {index} is the class {given.__name__}; write {given.__name__}()")
    if isinstance(given, Config | Enumeration):
        init = getattr(given, "init", None)
        made = None if init is None else init(device)
        if isinstance(made, Module):
            return made
    elif callable(given):
        return given
    elif isinstance(given, dict):
        raise ArgumentError("Sequential: layers have numbers here, not names; write Sequential(*layers.values())")
    raise ArgumentError(f"Sequential: layer {index} is a module, a config of one or a function, got {given!r}")
