"""Arguments of control flow: trees of tensors on one device, and what a function made of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.backend.fusion import Fusion
from burn.device import Device, common_device
from burn.errors import ArgumentError, DTypeError, ShapeError
from burn.ops.control import check_truth, described
from burn.tensor import Tensor
from burn.tree import Structure, flatten, unflatten


def tensors_of(name: str, what: str, tree: Any) -> tuple[list[Tensor[Any]], Structure]:
    """The leaves of a tree, which must be tensors."""
    leaves, structure = flatten(tree)
    for leaf in leaves:
        if not isinstance(leaf, Tensor):
            raise ArgumentError(
                f"{name}: {what} has a {type(leaf).__name__}, and only tensors go in and out; "
                "write burn.tensor(...) around it"
            )
    return leaves, structure


def lifted(tensors: Sequence[Tensor[Any]], device: Device) -> list[Tensor[Any]]:
    """The tensors on the device on which they meet."""
    return [
        each if each.device is device else Tensor(device.lift(each), device, each.dtype, each.shape) for each in tensors
    ]


def meeting(name: str, tensors: Sequence[Tensor[Any]]) -> Device:
    """The device on which tensors meet."""
    if not tensors:
        raise ArgumentError(f"{name}: there is no tensor among its arguments, so no device to run on")
    return common_device(name, list(tensors))


def recorder(device: Device) -> Fusion[Any] | None:
    """The device that records programs at the bottom of one `Autodiff` at most; None where there is none."""
    if isinstance(device, Autodiff):
        device = device.below
    return device if isinstance(device, Fusion) else None


def truth_of(name: str, what: str, value: Any) -> Tensor[Any]:
    """What decides, which must be a tensor of one bool."""
    if not isinstance(value, Tensor):
        raise ArgumentError(
            f"{name}: {what} must be a tensor of one bool, got a {type(value).__name__}; compute it with tensors, "
            "or write burn.tensor(...) around it"
        )
    check_truth(name, what, described([value]))
    return value


def rebuilt(structure: Structure, tensors: Sequence[Tensor[Any]]) -> Any:
    """The tree with other tensors."""
    return unflatten(structure, list(tensors))


def same_as_carried(name: str, before: Sequence[Tensor[Any]], structure: Structure, tree: Any) -> list[Tensor[Any]]:
    """What a step carries on, which must be what it was given: structure, shapes and dtypes."""
    leaves, made = tensors_of(name, "what the function carries on", tree)
    if made != structure:
        raise ArgumentError(
            f"{name}: the function must return what it carries in the structure in which it is given it"
        )
    for position, (old, new) in enumerate(zip(before, leaves, strict=True)):
        if old.shape != new.shape:
            raise ShapeError(
                f"{name}: carried value {position} has shape {tuple(old.shape)}, and {tuple(new.shape)} after one "
                "step; it must stay the same"
            )
        if old.dtype is not new.dtype:
            raise DTypeError(
                f"{name}: carried value {position} is {old.dtype}, and {new.dtype} after one step; cast one of them"
            )
    return leaves
