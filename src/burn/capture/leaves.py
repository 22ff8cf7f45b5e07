"""The leaves of a captured call: tensors on fused devices, and floats."""

from __future__ import annotations

import dataclasses
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.backend.autodiff.graph import Leaf, Variable
from burn.backend.fusion import Fusion
from burn.backend.fusion.handle import Lazy
from burn.device import Device
from burn.tensor import Tensor
from burn.tree import A_LEAF, STATIC, Structure


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
        if carries_graph(leaf):
            return "an argument carries a graph; pass it with .detach() or .inner()"
    return ""


def carries_graph(leaf: Any) -> bool:
    """Whether a tensor is the result of tracked operations, which a replay does not record."""
    if not isinstance(leaf, Tensor) or not isinstance(leaf.device, Autodiff):
        return False
    node = leaf.handle.node
    return node is not None and (bool(node.parents) or not node.keep)


def detached(value: Any) -> Any:
    """A result without graphs: its tensors, those in lists, tuples, dicts and dataclasses too, cut off from theirs.

    What has no graph is the same object as before, and a tensor found twice stays one.
    """
    return _detached(value, {})


def _detached(value: Any, known: dict[int, Any]) -> Any:
    if isinstance(value, Tensor):
        if not carries_graph(value):
            return value
        return known.setdefault(id(value), value.detach())
    kind = type(value)
    if kind is dict:
        pairs = {key: _detached(each, known) for key, each in value.items()}
        return pairs if any(pairs[key] is not each for key, each in value.items()) else value
    if isinstance(value, list | tuple) and (kind is list or kind is tuple or hasattr(kind, "_make")):
        parts = [_detached(each, known) for each in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        return kind._make(parts) if hasattr(kind, "_make") else kind(parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(each.name, getattr(value, each.name)) for each in dataclasses.fields(value) if each.init]
        changed = {name: new for name, old in fields if (new := _detached(old, known)) is not old}
        return dataclasses.replace(value, **changed) if changed else value
    return value


def described(leaf: Any, fixed: bool) -> tuple[Any, ...]:
    """What a capture must know of a leaf: its class, device, shape, dtype, how many `Autodiff`s are above it, and
    whether it is tracked. Of a number that is `fixed`, itself in the place of the shape."""
    if not isinstance(leaf, Tensor):
        return (leaf.__class__, None, leaf if fixed else None, None, 0, None)
    layers = layers_above(leaf.device)
    node = leaf.handle.node if layers else None
    tracked = None if node is None else bool(node.keep and not node.parents)
    return (leaf.__class__, leaf.device, leaf.shape, leaf.dtype, layers, tracked)


def is_static(structure: Any) -> bool:
    """Whether a value without leaves is meant."""
    return isinstance(structure, Structure) and structure.kind is STATIC


def sequence_of_leaves(structure: Any) -> Any:
    """The class of a list or tuple of nothing but leaves; otherwise no class that a value could have."""
    if isinstance(structure, Structure) and structure.kind in (list, tuple):
        return structure.kind if all(child is A_LEAF for child in structure.children) else None
    return None


def bottom_handle(tensor: Tensor[Any]) -> Any:
    """The handle below every `Autodiff`."""
    handle = tensor.handle
    while handle.__class__ is Variable:
        handle = handle.inner
    return handle


def lazy_handle(tensor: Tensor[Any]) -> Lazy:
    """The fused handle below every `Autodiff`."""
    handle = bottom_handle(tensor)
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
