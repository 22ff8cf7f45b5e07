"""The backward pass: from a result to the leaves, in the reverse order of recording."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from burn.backend.autodiff.gradients import Gradients
from burn.backend.autodiff.graph import Node, Port, Recipe
from burn.backend.autodiff.reduce import reduce_to_shape
from burn.errors import AutodiffError
from burn.ops import dispatch
from burn.shape import Shape
from burn.tensor import Tensor

if TYPE_CHECKING:
    from burn.device import Device
    from burn.ops.op import Vjp

_CONSUMED: tuple[Any, ...] = ("consumed",)


def backward(root: Node, seed: Tensor[Any], inner: Device, retain_graph: bool) -> Gradients[Any]:
    """Carry `seed` from `root` to every leaf. What a node kept is released as soon as it was used."""
    return Gradients(carried([(root, seed)], inner, retain_graph))


def carried(
    seeds: Sequence[tuple[Node, Tensor[Any]]], inner: Device, retain_graph: bool = False, since: int = 0
) -> dict[Node, Tensor[Any]]:
    """What arrives at every leaf, and at nodes that are older than number `since`, which is not carried further."""
    pending: dict[int, Any] = {}
    for root, seed in seeds:
        pending[root.order] = pending[root.order] + seed if root.order in pending else seed
    nodes = {root.order: root for root, _ in seeds}
    heap = [-order for order in nodes]
    heapq.heapify(heap)
    kept: dict[Node, Tensor[Any]] = {}
    while heap:
        order = -heapq.heappop(heap)
        node = nodes.pop(order)
        gradient = pending.pop(order)
        if node.keep or order < since:
            kept[node] = gradient
        if order < since:
            continue
        if node.saved is _CONSUMED:
            raise AutodiffError(
                "backward: this graph was already used by an earlier backward, which released it; "
                "call the earlier one with backward(retain_graph=True), or compute the result again"
            )
        for parent, contribution in _contributions(node, gradient, inner):
            key = parent.order
            if key not in pending:
                pending[key] = contribution
                nodes[key] = parent
                heapq.heappush(heap, -key)
            else:
                pending[key] = pending[key] + contribution
        if not retain_graph and node.parents:
            node.saved, node.parents = _CONSUMED, ()
    return kept


def _sum(old: Any, new: Any) -> Any:
    if old is None or new is None:
        return new if old is None else old
    return old + new


def _contributions(node: Node, gradient: Any, inner: Device) -> list[tuple[Node, Any]]:
    """What `node` passes on to each of its parents."""
    parents, vjps, shapes, dtypes = node.parents, node.vjps, node.shapes, node.dtypes
    if node.__class__ is Port:
        owner = cast(Node, parents[0])
        return [(owner, _Slots(gradient if i == node.index else None for i in range(node.count)))]
    if vjps is None:
        return [(parent, gradient) for parent in parents if parent is not None]
    if shapes and shapes[0].__class__ is list:  # one operand that is a list of tensors
        assert dtypes is not None
        values = _apply(node, vjps[0], gradient, inner)
        return [
            (parent, _fit(value, shape, dtype))
            for parent, value, shape, dtype in zip(parents, values, shapes[0], dtypes[0], strict=True)
            if parent is not None
        ]
    result: list[tuple[Node, Any]] = []
    for index, parent in enumerate(parents):
        if parent is None:
            continue
        value = _apply(node, vjps[index], gradient, inner)
        if value is None:
            continue
        if shapes is not None and (dtypes is not None or value.shape != shapes[index]):
            value = _fit(value, shapes[index], dtypes and dtypes[index])
        result.append((parent, value))
    return result


def _fit(value: Tensor[Any], shape: Any, dtype: Any) -> Tensor[Any]:
    """Sum over broadcast dims and take the operand's dtype."""
    if value.shape != shape:
        value = reduce_to_shape(value, shape)
    if dtype is not None and value.dtype is not dtype:
        value = value.cast(dtype)
    return value


def _apply(node: Node, vjp: Vjp, gradient: Any, inner: Device) -> Any:
    """Call a backward rule with what it names."""
    arguments: list[Any] = []
    for kind, index in vjp.sources:
        if kind == "g":
            arguments.append(gradient)
        elif kind == "operand":
            arguments.append(_tensor(node.saved[index], inner))
        elif kind == "out":
            arguments.append(_tensor(node.saved[-1], inner))
        elif kind == "attribute":
            arguments.append(node.arguments[index])
        elif kind == "dtype":
            assert node.dtypes is not None
            arguments.append(node.dtypes[index])
        else:
            assert node.shapes is not None
            shape = node.shapes[index]
            if shape.__class__ is not Shape:
                shape = [Shape(each) for each in shape] if shape.__class__ is list else Shape(shape)
            arguments.append(shape)
    return vjp.function(*arguments)


def _tensor(saved: Any, inner: Device) -> Any:
    """A kept operand as a tensor of the inner device; numbers stay numbers."""
    kind = saved.__class__
    if kind is float or saved is None:
        return saved
    if kind is Recipe:
        return dispatch.wrap(inner, saved.compute())
    if kind is list or kind is tuple:
        return kind(_tensor(each, inner) for each in saved)
    return dispatch.wrap(inner, saved) if inner.is_handle(saved) else saved


class _Slots(tuple[Any, ...]):
    """Gradients of the results of one operation, None where none arrived."""

    __slots__ = ()

    def __add__(self, other: Any) -> _Slots:
        return _Slots(_sum(old, new) for old, new in zip(self, other, strict=True))
