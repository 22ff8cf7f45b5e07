"""The leaves of a captured call: tensors on fused devices, and floats."""

from __future__ import annotations

from typing import Any

from burn.backend.autodiff import Autodiff
from burn.backend.autodiff.graph import Leaf, Variable
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.device import Device
from burn.tensor import Tensor


def fused_device(leaves: list[Any]) -> Fusion[Any] | None:
    """The first fused device among the tensors' devices."""
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            device: Device | None = leaf.device
            while device is not None and not isinstance(device, Fusion):
                device = device.below
            if device is not None:
                return device
    return None


def places(leaves: list[Any]) -> str:
    """The devices of the tensors, for a message."""
    devices = {repr(leaf.device) for leaf in leaves if isinstance(leaf, Tensor)}
    return ", ".join(sorted(devices)) or "there is no tensor among them"


def unfit(leaves: list[Any], device: Fusion[Any]) -> str:
    """Why a call with these leaves cannot be captured on `device`, or nothing."""
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            continue
        if fused_device([leaf]) is not device:
            return f"a tensor lives on {leaf.device!r}, the others on {device!r}"
        node = leaf.handle.node if isinstance(leaf.device, Autodiff) else None
        if node is not None and (node.parents or not node.keep):
            return "an argument carries a graph; pass it with .detach() or .inner()"
    return ""


def lazy_handle(tensor: Tensor[Any]) -> Lazy:
    """The fused handle below every `Autodiff`."""
    handle = tensor.handle
    while handle.__class__ is Variable:
        handle = handle.inner
    assert isinstance(handle, Lazy), f"{tensor.device!r} is not fused"
    return handle


def layers_above(device: Device) -> int:
    """How many `Autodiff`s a device has."""
    count = 0
    while isinstance(device, Autodiff):
        device, count = device.below, count + 1
    return count


def wrapped(handle: Lazy, device: Device, layers: int, tracked: bool) -> Tensor[Any]:
    """A tensor of `device` around a fused handle, as a leaf of a new graph if `tracked`."""
    top: Any = handle
    for number in range(layers, 0, -1):
        top = Variable(top, Leaf(None, ()) if tracked and number == 1 else None)
    return Tensor(top, device, handle.dtype, handle.shape)
