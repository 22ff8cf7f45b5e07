"""Data-parallel training: each device computes the gradients of a batch of its own, the first one updates.

The batches of a turn are consecutive batches of the loader. Their gradients are averaged, each weighed by its number
of items: for a loss that is a mean over the batch this is the gradient of the batch that all of them are together. So
two devices with batches of 32 do what one does with batches of 64, batch norms and random draws apart. For a loss
that is a sum, `reduction="sum"` adds the gradients.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from burn.device import Device
from burn.module.state import State
from burn.optim import GradientsAccumulator, GradientsParams
from burn.train.step import checked, detached, optimized
from burn.train.strategy.captured import Notice, captured, once
from burn.train.strategy.gathering import GatheringStrategy
from burn.train.strategy.single import validate


def gradients(model: Any, batch: Any) -> Any:
    """One batch: the gradients and the item."""
    output = checked(model.train_step(batch), model)
    return output.grads, detached(output.item)


class MultiDevice(GatheringStrategy):
    """Several devices on one machine; the model and the optimizer live on the first.

    Each device has a batch of its own in every step; gradients are averaged, each weighed by its number of items, or
    summed with `reduction="sum"`. `LearnerBuilder.devices([...])` is the usual way to it.

    `threads` runs devices at the same time, False in turns; `accumulation`, `capture` and `notice` are those of
    `SingleDevice`.

    >>> from burn import NdArray
    >>> from burn.train import LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").devices([NdArray(), NdArray()])
    """

    def __init__(
        self,
        model: Any,
        optim: Any,
        devices: Sequence[Device],
        reduction: str = "mean",
        accumulation: int = 1,
        capture: bool = True,
        threads: bool = True,
        notice: Notice = print,
    ) -> None:
        self.model, self.optim, self.devices = model, optim, tuple(devices)
        self.reduction, self.accumulation, self._gathered = reduction, accumulation, 0
        self.accumulator = GradientsAccumulator()
        self._replicas: list[Any] | None = None
        tell = once(notice)  # the devices say the same
        self._gradients = [captured(gradients, "training step", capture, tell) for _ in devices]
        self._valid = captured(validate, "validation step", capture, notice)
        # Replicas on one piece of hardware share its random generator: in turns their draws have an order.
        apart = len({device.base for device in devices}) == len(self.devices)
        self._pool = ThreadPoolExecutor(len(self.devices) - 1, "burn-replica") if threads and apart else None

    def train(self, batches: Sequence[Any], counts: Sequence[int], lr: Any) -> list[Any]:
        """One turn."""
        if self._replicas is None:
            self._replicas = [self.model, *(self.model.fork(device.autodiff()) for device in self.devices[1:])]
        results = self._run(self._replicas, batches)
        total = sum(counts)
        sums = GradientsAccumulator()
        for (grads, _), count in zip(results, counts, strict=True):
            weight = 1.0 if self.reduction == "sum" else count / total
            moved = grads.to_device(self.devices[0], self.model)
            if weight != 1.0:
                moved = scaled(moved, weight)
            sums.accumulate(self.model, moved)
        self._average_states(len(batches))
        self.accumulator.accumulate(self.model, sums.grads())
        self._gathered, self._lr = self._gathered + 1, lr
        if self._gathered >= self.accumulation:
            self._gathered = 0
            self.model = optimized(self.model, self.optim, lr, self.accumulator.grads())
            self._replicas = None
        return [item for _, item in results]

    def end_epoch(self) -> None:
        """A step with what is left; replicas are made of the model anew."""
        if self._gathered:
            self._replicas = None
        super().end_epoch()

    def _run(self, replicas: list[Any], batches: Sequence[Any]) -> list[Any]:
        work = list(zip(self._gradients, replicas, batches, self.devices, strict=False))
        if self._pool is None:
            return [function(model, batch) for function, model, batch, _ in work]

        def run(function: Any, model: Any, batch: Any, device: Device) -> Any:
            result = function(model, batch)
            device.sync()  # here, where it can be waited for, and not in the thread that adds up
            return result

        later = [self._pool.submit(run, *each) for each in work[1:]]
        function, model, batch, _ = work[0]
        first = function(model, batch)
        self.devices[0].sync()
        return [first, *(each.result() for each in later)]

    def _average_states(self, count: int) -> None:
        """The running statistics become the mean of those of the replicas that ran."""
        assert self._replicas is not None
        cells = [[leaf for _, leaf in each.leaves() if isinstance(leaf, State)] for each in self._replicas[:count]]
        for main, *others in zip(*cells, strict=True):
            if others and main.dtype.is_float:
                total = main.value
                for other in others:
                    total = total + other.value.to_device(main.device)
                main.update(total / float(len(others) + 1))


def scaled(grads: GradientsParams, factor: Any) -> GradientsParams:
    """Gradients multiplied by a number."""
    made = GradientsParams()
    for name, gradient in grads.items():
        made.register(name, gradient * factor)
    return made
