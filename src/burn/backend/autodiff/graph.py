"""The recorded graph: variables, the nodes behind them, and recipes for what was not kept.

A `Variable` is the handle of an `Autodiff` tensor: a handle of the inner device and, if a gradient
must flow through it, a node. A node knows its parents and what its backward rule needs. Nodes are
numbered in the order of creation, which is the order in which backward visits them, reversed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn.ops.op import Vjp

next_order = itertools.count().__next__


class Node:
    """One step of the graph: an operation that ran."""

    __slots__ = ("arguments", "dtypes", "order", "parents", "saved", "shapes", "vjps", "__weakref__")

    keep = False
    """Whether the gradient that reaches this node is part of the result."""

    def __init__(
        self,
        vjps: dict[int, Vjp] | None,
        parents: tuple[Node | None, ...],
        saved: tuple[Any, ...] = (),
        arguments: tuple[Any, ...] = (),
        shapes: tuple[Any, ...] | None = None,
        dtypes: tuple[Any, ...] | None = None,
    ) -> None:
        self.order = next_order()
        self.vjps = vjps
        self.parents = parents
        self.saved = saved  # operands in order, then the output; None for what is not needed
        self.arguments = arguments  # the attributes of the call
        self.shapes = shapes  # of each operand; None where nothing broadcasts
        self.dtypes = dtypes  # of each operand; None where nothing is converted


class Leaf(Node):
    """A tensor whose gradient the user asked for; it may itself be the result of an operation."""

    __slots__ = ("owner",)

    owner: Any
    """The id of the parameter it belongs to; not set for a plain tensor."""

    keep = True


class Port(Node):
    """One result of an operation that has several."""

    __slots__ = ("count", "index")

    def __init__(self, owner: Node, index: int, count: int) -> None:
        super().__init__(None, (owner,))
        self.index = index
        self.count = count


class Variable:
    """The handle of a tensor on an `Autodiff` device."""

    __slots__ = ("inner", "node", "recipe")

    def __init__(self, inner: Any, node: Node | None, recipe: Recipe | None = None) -> None:
        self.inner = inner
        self.node = node
        self.recipe = recipe


class Recipe:
    """How to compute a value again instead of keeping it."""

    __slots__ = ("arguments", "inputs", "order", "run", "value", "__weakref__")

    def __init__(self, run: Callable[..., Any], inputs: tuple[Any, ...], arguments: tuple[Any, ...]) -> None:
        self.order = next_order()
        self.run = run
        self.inputs = inputs  # handles, numbers, other recipes, or lists of them
        self.arguments = arguments
        self.value: Any = None

    def compute(self) -> Any:
        """The value, computed once for as long as somebody holds this recipe."""
        if self.value is not None:
            return self.value
        stack = [self]
        while stack:
            recipe = stack[-1]
            waiting = [each for each in recipes_in(recipe.inputs) if each.value is None]
            if recipe.value is None and waiting:
                stack.extend(waiting)
                continue
            stack.pop()
            if recipe.value is None:
                inputs = [_value(each) for each in recipe.inputs]
                recipe.value = recipe.run(*inputs, *recipe.arguments)
                recipe.inputs = ()
        return self.value


def recipes_in(inputs: tuple[Any, ...]) -> list[Recipe]:
    """The recipes among inputs, and among the members of lists in them."""
    parts = [part for each in inputs for part in (each if each.__class__ is list else (each,))]
    return [each for each in parts if each.__class__ is Recipe]


def older_recipes(roots: Sequence[Node], since: int) -> list[Recipe]:
    """The recipes, older than number `since`, that a backward down to that number computes; the oldest first."""
    found: dict[Recipe, None] = {}
    seen, nodes = set(roots), list(roots)
    while nodes:
        node = nodes.pop()
        if node.order < since:
            continue
        waiting = recipes_in(node.saved)
        while waiting:
            recipe = waiting.pop()
            if recipe not in found and recipe.value is None:
                found[recipe] = None
                waiting.extend(recipes_in(recipe.inputs))
        parents = {each for each in node.parents if each is not None} - seen
        seen |= parents
        nodes.extend(parents)
    return sorted((each for each in found if each.order < since), key=lambda each: each.order)


def _value(given: Any) -> Any:
    """An input as the kernel takes it, every recipe in it computed before."""
    if given.__class__ is list:
        return [_value(each) for each in given]
    return given.value if given.__class__ is Recipe else given
