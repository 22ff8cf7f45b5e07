"""Visitors and mappers: a function for every parameter of a module.

    class Clamp(ModuleMapper):
        def map_float(self, id, tensor):
            return tensor.clamp(-0.5, 0.5)

    model = model.map(Clamp())

A visitor looks, a mapper gives new values. Methods that are not written do nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from burn.module.identity import ParamId
from burn.module.param import Param
from burn.module.state import State
from burn.module.walk import children, is_module
from burn.tensor import Tensor


class ModuleVisitor:
    """Looks at every parameter. Running statistics are visited like float parameters.

    The `visit_` methods are given the `id` and the `tensor`, those around them the `name` of the field and its
    `container_type`; methods that are not written do nothing.

    >>> from burn.module import ModuleVisitor
    >>> class Norms(ModuleVisitor):
    ...     def enter_module(self, name, container_type): print(name, container_type)
    ...     def visit_float(self, id, tensor): print(tuple(tensor.shape))
    >>> nn.Linear(2, 3).visit(Norms())
    weight Param
    (2, 3)
    bias Param
    (3,)
    """

    def visit_float(self, id: ParamId, tensor: Tensor[Any]) -> None:
        """Look at a float parameter."""

    def visit_int(self, id: ParamId, tensor: Tensor[Any]) -> None:
        """Look at an int parameter."""

    def visit_bool(self, id: ParamId, tensor: Tensor[Any]) -> None:
        """Look at a bool parameter."""

    def enter_module(self, name: str, container_type: str) -> None:
        """Called before the parts of a field: its name, and `Struct:Linear`, `Enum:Block`, `List`, `Tuple`, `Dict`."""

    def exit_module(self, name: str, container_type: str) -> None:
        """Called after the parts of a field."""


class ModuleMapper:
    """Gives new values to parameters. What a method returns keeps the id, and stays frozen if it was.

    Each method is given the `id` and the `tensor`; those that are not written change nothing.

    >>> from burn.module import ModuleMapper
    >>> class Clamp(ModuleMapper):
    ...     def map_float(self, id, tensor):
    ...         return tensor.clamp(-0.125, 0.125)
    >>> nn.Linear(2, 3).map(Clamp()).weight.abs().max().item() <= 0.125
    True
    """

    def map_float(self, id: ParamId, tensor: Tensor[Any]) -> Tensor[Any]:
        """The new values of a float parameter."""
        return tensor

    def map_int(self, id: ParamId, tensor: Tensor[Any]) -> Tensor[Any]:
        """The new values of an int parameter."""
        return tensor

    def map_bool(self, id: ParamId, tensor: Tensor[Any]) -> Tensor[Any]:
        """The new values of a bool parameter."""
        return tensor


def container_type(value: Any) -> str:
    """What a part of a module is, in words."""
    if is_module(value):
        return f"{'Enum' if hasattr(type(value), 'variant') else 'Struct'}:{type(value).__name__}"
    names: dict[type, str] = {list: "List", tuple: "Tuple", dict: "Dict"}
    return names.get(type(value), type(value).__name__)


def visit(value: Any, visitor: ModuleVisitor) -> None:
    """Lead a visitor through a module."""
    for name, child in children(value):
        if isinstance(child, Param | State):
            visitor.enter_module(name, "Param" if isinstance(child, Param) else "State")
            _look(visitor, child)
            visitor.exit_module(name, "Param" if isinstance(child, Param) else "State")
        elif is_module(child) or isinstance(child, list | tuple | dict):
            visitor.enter_module(name, container_type(child))
            visit(child, visitor)
            visitor.exit_module(name, container_type(child))


def _look(visitor: ModuleVisitor, leaf: Param[Any] | State) -> None:
    tensor = leaf.val() if isinstance(leaf, Param) else leaf.value
    if leaf.dtype.is_float:
        visitor.visit_float(leaf.id, tensor)
    elif leaf.dtype.is_bool:
        visitor.visit_bool(leaf.id, tensor)
    else:
        visitor.visit_int(leaf.id, tensor)


def mapped(mapper: ModuleMapper) -> Callable[[Any], Any]:
    """A mapper as a function of leaves, for `rebuild`."""

    def change(leaf: Any) -> Any:
        if not isinstance(leaf, Param | State):
            return leaf
        tensor = leaf.val() if isinstance(leaf, Param) else leaf.value
        if leaf.dtype.is_float:
            new = mapper.map_float(leaf.id, tensor)
        elif leaf.dtype.is_bool:
            new = mapper.map_bool(leaf.id, tensor)
        else:
            new = mapper.map_int(leaf.id, tensor)
        if isinstance(leaf, State):
            return leaf.with_value(new)
        if new is tensor:
            return leaf
        return _replaced(leaf, new)

    return change


def _replaced(leaf: Param[Any], new: Tensor[Any]) -> Param[Any]:
    if isinstance(new, Param):
        return new
    if leaf.device.is_autodiff and new.device is leaf.device and not new.is_require_grad():
        # A mapper computes on the graph of its parameter; the new value begins a graph of its own.
        new = new.detach()
    return leaf.with_value(new)
