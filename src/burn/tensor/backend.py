"""Backends as the type of an argument: any device, or one that records a graph.

def train(device: AutodiffBackend) -> None:
    assert isinstance(device, AutodiffBackend)
"""

from __future__ import annotations

from typing import Any

from burn.device import Device
from burn.device import Device as Backend


class _RecordsGraph(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Device) and instance.is_autodiff


class AutodiffBackend(metaclass=_RecordsGraph):
    """Every device on which `backward` works: `isinstance(device, AutodiffBackend)`."""


__all__ = ["AutodiffBackend", "Backend"]
