"""The leaves of a captured call: tensors on fused devices, and floats."""

from __future__ import annotations

from typing import Any

from burn.backend.autodiff.graph import Variable
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.device import Device
from burn.scalar import Scalar
from burn.tensor import Tensor
from burn.tree import flatten, unflatten


def fused_device(leaves: list[Any]) -> Fusion[Any] | None:
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            device: Device | None = leaf.device
            while device is not None and not isinstance(device, Fusion):
                device = device.below
            if device is not None:
                return device
    return None


def places(leaves: list[Any]) -> str:
    devices = {repr(leaf.device) for leaf in leaves if isinstance(leaf, Tensor)}
    return ", ".join(sorted(devices)) or "there is no tensor among them"


def described(leaves: list[Any]) -> tuple[Any, ...]:
    """What a capture must know of its leaves: device, shape, dtype, whether tracked, and which are one tensor."""
    found: list[Any] = []
    seen: dict[int, int] = {}
    for index, leaf in enumerate(leaves):
        if leaf.__class__ is float:
            found.append(float)
            continue
        if not isinstance(leaf, Tensor):
            found.append(type(leaf))
            continue
        handle = leaf.handle
        tracked = handle.__class__ is Variable and handle.node is not None
        while handle.__class__ is Variable:
            handle = handle.inner
        found.append((leaf.device, leaf.shape, leaf.dtype, tracked, seen.setdefault(id(handle), index)))
    return tuple(found)


def _bottom(tensor: Tensor[Any]) -> Any:
    """The handle below every `Autodiff`."""
    handle = tensor.handle
    while handle.__class__ is Variable:
        handle = handle.inner
    return handle


def lazy_handle(tensor: Tensor[Any]) -> Lazy:
    """The fused handle below every `Autodiff`."""
    handle = _bottom(tensor)
    assert isinstance(handle, Lazy), f"{tensor.device!r} is not fused"
    return handle


def plain_numbers(result: Any) -> Any:
    leaves, structure = flatten(result)
    if not any(isinstance(leaf, Scalar) for leaf in leaves):
        return result
    return unflatten(structure, [leaf.value if isinstance(leaf, Scalar) else leaf for leaf in leaves])
