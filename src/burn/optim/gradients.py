"""Gradients by parameter: the link between what `backward` returns and a module.

    grads = loss.backward()                               # by node of the graph
    grads = GradientsParams.from_grads(grads, model)      # by id of the parameter

Ids outlive graphs, so gradients by id can be summed over several backward passes, moved between
devices, and split among optimizers. What is taken out of `grads` is removed from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from burn.backend.autodiff.gradients import Gradients
from burn.device import Device
from burn.errors import ArgumentError, AutodiffError
from burn.module import Param, ParamId
from burn.module.walk import leaves
from burn.tensor import Tensor


class GradientsParams:
    """Gradients by the id of their parameter, on the device without autodiff. A step uses them up.

    `optim.step` takes the result of `backward()` too; this class is for gradients that are summed, moved or changed.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import GradientsParams
    >>> grads = GradientsParams.from_grads((model.weight ** 2).sum().backward(), model)
    >>> print(grads.get(model.weight.id).to_data())
    [[2.0, -4.0]]
    """

    __slots__ = ("_by_id", "used")

    def __init__(self) -> None:
        self._by_id: dict[str, Tensor] = {}
        self.used = False
        """Whether a step took gradients out of here."""

    @classmethod
    def from_grads(cls, grads: Gradients, module: Any) -> GradientsParams:
        """The gradients of every parameter of `module`, taken out of `grads`."""
        return cls._taken("from_grads", grads, trainable(module))

    @classmethod
    def from_module(cls, grads: Gradients, module: Any) -> GradientsParams:
        """The gradients of a part of the model, taken out of `grads`; the others stay there."""
        return cls._taken("from_module", grads, trainable(module))

    @classmethod
    def from_params(cls, grads: Gradients, module: Any, ids: Sequence[str | Param]) -> GradientsParams:
        """The gradients of the parameters with these ids, taken out of `grads`."""
        if isinstance(ids, str):
            raise ArgumentError(f"from_params: needs a list of ids, got {ids!r}; write [{ids!r}]")
        wanted = [each.id if isinstance(each, Param) else ParamId(each) for each in ids]
        known = {leaf.id for _, leaf in leaves(module) if isinstance(leaf, Param)}
        unknown = [str(each) for each in wanted if each not in known]
        if unknown:
            raise ArgumentError(f"from_params: {type(module).__name__} has no parameter with id {', '.join(unknown)}")
        return cls._taken("from_params", grads, [each for each in trainable(module) if each.id in wanted])

    @classmethod
    def _taken(cls, operation: str, grads: Gradients, params: list[Param]) -> GradientsParams:
        if not isinstance(grads, Gradients):
            raise ArgumentError(
                f"{operation}: needs the result of backward(), got {type(grads).__name__}; write loss.backward()"
            )
        found: dict[str, tuple[Param, Tensor]] = {}
        without = []
        for param in params:
            gradient = grads.get(param) if param.device.is_autodiff else None
            if gradient is None:
                without.append(param)
            elif param.id in found:
                raise two_parameters(operation, param.id)
            else:
                found[param.id] = param, gradient
        refuse_stale(operation, grads, without)
        if not found and any(param.id in grads.taken for param in without):
            raise used_up(operation)
        made = cls()
        for id, (param, gradient) in found.items():
            grads.remove(param)
            made._by_id[id] = gradient.no_grad()
        return made

    # A mapping from ids to gradients

    def get(self, id: str) -> Tensor | None:
        """The gradient of the parameter with this `id`; None if there is none."""
        return self._by_id.get(id)

    def remove(self, id: str) -> Tensor | None:
        """Take the gradient of the parameter with this `id` out."""
        return self._by_id.pop(id, None)

    def register(self, id: str, gradient: Tensor) -> None:
        """Put a gradient in under an `id`, in the place of one that may be there."""
        if not isinstance(gradient, Tensor):
            raise ArgumentError(f"register: needs a Tensor, got {type(gradient).__name__}")
        self._by_id[ParamId(id)] = gradient.no_grad()
        self.used = False

    def is_empty(self) -> bool:
        """Whether there is no gradient here."""
        return not self._by_id

    def len(self) -> int:
        """The number of gradients."""
        return len(self._by_id)

    __len__ = len

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_id)

    def __contains__(self, id: object) -> bool:
        return id in self._by_id

    def __getitem__(self, id: str) -> Tensor:
        return self._by_id[id]

    def items(self) -> Iterable[tuple[str, Tensor]]:
        """Ids with their gradients."""
        return self._by_id.items()

    def to_device(self, device: Device, module: Any = None) -> GradientsParams:
        """These gradients on another device; with a module, only those of its parameters."""
        while device.is_autodiff:
            device = device.inner()
        wanted = None if module is None else {param.id for param in trainable(module)}
        made = GradientsParams()
        for id, gradient in self._by_id.items():
            made._by_id[id] = gradient.to_device(device) if wanted is None or id in wanted else gradient
        return made

    # Trees

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        return tuple(self._by_id.values()), (tuple(self._by_id), self.used)

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> GradientsParams:
        made = cls()
        made.__tree_update__(token, children)
        return made

    def __tree_update__(self, token: Any, children: Sequence[Any]) -> None:
        ids, self.used = token
        self._by_id = dict(zip(ids, children, strict=True))

    def __repr__(self) -> str:
        return f"<GradientsParams of {len(self)} parameters>"


def trainable(module: Any) -> list[Param]:
    """The parameters that optimizers may change, each once. One whose values nobody read has no gradient."""
    found = {id(leaf): leaf for _, leaf in leaves(module) if isinstance(leaf, Param)}
    return [leaf for leaf in found.values() if leaf.trainable and leaf.is_initialized]


def two_parameters(operation: str, id: str) -> ArgumentError:
    """The error for two objects with one id, which one state cannot serve."""
    return ArgumentError(
        f"{operation}: two parameters of this module have the id {id}; one of them is a copy: freeze the copy with "
        "no_grad(), or give it an id of its own with Param(tensor)"
    )


def used_up(operation: str) -> AutodiffError:
    """The error for gradients that were used before: a second use would do nothing."""
    return AutodiffError(
        f"{operation}: these gradients were used up by an earlier step; call backward() again, or gather the gradients "
        "of several passes in a GradientsAccumulator"
    )


def refuse_stale(operation: str, grads: Gradients, without: list[Param]) -> None:
    """Raise if gradients of an earlier model are among `grads`: the same ids, but other values."""
    if not without or not len(grads):
        return
    owners = grads.owners()
    stale = [param for param in without if param.id in owners]
    if stale:
        raise AutodiffError(
            f"{operation}: these gradients belong to an earlier model: {len(stale)} of its parameters have changed "
            "since the loss was computed; compute the loss with this model, or split the gradients before the first "
            "step with GradientsParams.from_module(grads, part)"
        )
