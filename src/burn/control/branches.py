"""Branches: one function or the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.backend.autodiff import Autodiff
from burn.control import branch_gradient
from burn.control.steps import Step, Tensors, Trace, traced
from burn.control.tracing import joined
from burn.control.trees import lifted, meeting, rebuilt, recorder, tensors_of, truth_of
from burn.device import Device
from burn.errors import ArgumentError
from burn.ops.control import COND
from burn.ops.dispatch import wrap
from burn.tensor import Tensor
from burn.tree import Structure


def cond(predicate: Tensor[Any], then: Callable[..., Any], otherwise: Callable[..., Any], *operands: Any) -> Any:
    """Call `then(*operands)` if the `predicate`, a bool tensor of one element, is true, else `otherwise(*operands)`.

    Both must give tensors of the same shapes and dtypes in the same structure. Gradients flow to the operands, and to
    what the functions found around themselves: zeros to what only the other one used.

    >>> from burn.control import cond
    >>> x = burn.tensor([3.0])
    >>> cond(x.sum() > 0.0, lambda x: x * 2.0, lambda x: -x, x).tolist()
    [6.0]
    """
    asked = truth_of("cond", "the predicate", predicate)
    leaves, structure = tensors_of("cond", "an operand", operands)
    device = meeting("cond", [asked, *leaves])
    if recorder(device) is None:
        made = then(*operands) if bool(predicate.item()) else otherwise(*operands)
        tensors_of("cond", "the result", made)
        return made
    found = [_traced(each, device, lifted(leaves, device), structure) for each in (then, otherwise)]
    other = next((each.device for each in found if each.device is not device), None)
    if other is not None:  # a function closes over tensors of another one
        moved = rebuilt(structure, lifted(leaves, other))
        return cond(lifted([asked], other)[0], then, otherwise, *moved)
    if found[0].structure != found[1].structure:
        raise ArgumentError("cond: both functions must give the same structure of tensors")
    if isinstance(device, Autodiff):
        made = branch_gradient.cond(found, device, lifted([asked], device)[0], lifted(leaves, device))
    else:
        programs, closed = joined([(each.part(each.results), each.region.closed) for each in found], len(leaves))
        handles = [each.handle for each in lifted(leaves, device)]
        asked_handles = [each.handle for each in lifted([asked], device)]
        made = [wrap(device, each) for each in device.kernels[COND](asked_handles, [*handles, *closed], *programs)]  # type: ignore[misc]
    return rebuilt(found[0].structure, made)


def _traced(function: Callable[..., Any], device: Device, operands: Tensors, structure: Structure) -> Trace:
    return traced(Step("cond", lambda given, _: (given, function(*given)), structure, None), device, operands, [])
