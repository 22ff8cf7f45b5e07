"""Gradient accumulation: one step for several backward passes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from burn.backend.autodiff.gradients import Gradients
from burn.device import Device
from burn.errors import ArgumentError
from burn.optim.gradients import GradientsParams, trainable, used_up


class GradientsAccumulator:
    """Sums gradients for one step after several backward passes. `grads()` gives the sums and begins anew.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import GradientsAccumulator, SgdConfig
    >>> accumulator = GradientsAccumulator()
    >>> for _ in range(2):
    ...     accumulator.accumulate(model, (model.weight ** 2).sum().backward())
    >>> model = SgdConfig().init().step(0.1, model, accumulator.grads())
    >>> print(model.weight.numpy().round(4))
    [[ 0.6 -1.2]]
    """

    __slots__ = ("_sums",)

    def __init__(self) -> None:
        self._sums = GradientsParams()

    def accumulate(self, module: Any, grads: GradientsParams | Gradients) -> None:
        """Add the gradients of `module`'s parameters (`grads`) to the sums, and use them up."""
        if isinstance(grads, Gradients):
            grads = GradientsParams.from_grads(grads, module)
        elif not isinstance(grads, GradientsParams):
            raise ArgumentError(f"accumulate: needs gradients, got {type(grads).__name__}; write loss.backward()")
        if grads.used and grads.is_empty():
            raise used_up("accumulate")
        grads.used = True
        new: dict[Device, list[str]] = {}
        for param in trainable(module):
            gradient = grads.remove(param.id)
            if gradient is not None:
                earlier = self._sums.get(param.id)
                if earlier is None:
                    new.setdefault(gradient.device, []).append(param.id)
                else:
                    gradient = earlier + gradient.to_device(earlier.device)
                    gradient.device.fall_back(gradient.handle, earlier.handle)
                self._sums.register(param.id, gradient)
        for device, ids in new.items():
            device.on_failure(partial(_forget, self._sums, ids))

    def grads(self) -> GradientsParams:
        """The sums so far; afterwards there are none."""
        sums, self._sums = self._sums, GradientsParams()
        sums.used = sums.is_empty()  # a step with nothing would do nothing
        return sums

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        return self._sums.__tree__()

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> GradientsAccumulator:
        made = cls()
        made.__tree_update__(token, children)
        return made

    def __tree_update__(self, token: Any, children: Sequence[Any]) -> None:
        self._sums = GradientsParams.__untree__(token, children)

    def __repr__(self) -> str:
        return f"<GradientsAccumulator of {len(self._sums)} parameters>"


def _forget(sums: GradientsParams, ids: list[str]) -> None:
    """The pass in which these sums began has failed."""
    for id in ids:
        sums.remove(id)
