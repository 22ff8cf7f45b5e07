"""Mixed precision: the step computes in bf16 or f16, the parameters that the optimizer keeps stay in full.

Before each step a low copy of the parameters is made; its gradients are brought back to full precision. In f16 small
gradients would vanish, so the loss is multiplied by a scale first and the gradients divided by it. A step whose
gradients overflow is left out and the scale halved; after `growth_interval` good steps it is doubled. The learner can
scale a loss only where it calls `backward` itself: `TrainOutput(self, loss, item)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from burn.device import Device
from burn.dtype import bf16, f16, f32
from burn.module.param import Param
from burn.module.state import State
from burn.optim import GradientsParams
from burn.tensor import Tensor
from burn.train.step import checked, detached, loss_scale, optimized
from burn.train.strategy.captured import Notice, captured
from burn.train.strategy.protocol import TrainingStrategy
from burn.tree import flatten, unflatten

FIRST_SCALE = 2.0**16
GROWTH_INTERVAL = 2000
PRECISIONS = {"bf16": bf16, "f16": f16}


def lowered(model: Any, dtype: Any) -> Any:
    """A model with float parameters in a lower precision, and state cells of its own."""
    return model.map(lambda param: param.val().detach().cast(dtype) if param.dtype.is_float else param)


def cast_floats(value: Any, dtype: Any) -> Any:
    """A tree with its float tensors in another precision."""
    leaves, structure = flatten(value)
    return unflatten(
        structure, [leaf.cast(dtype) if isinstance(leaf, Tensor) and leaf.dtype.is_float else leaf for leaf in leaves]
    )


def low_gradients(model: Any, batch: Any, name: str, scale: Any) -> Any:
    """Gradients in full precision, whether the loss was scaled, and the item."""
    dtype = PRECISIONS[name]
    low = lowered(model, dtype)
    with loss_scale(scale):
        output = checked(low.train_step(cast_floats(batch, dtype)), low)
    full: dict[str, Any] = {leaf.id: leaf.dtype for _, leaf in model.leaves() if isinstance(leaf, Param)}
    grads = GradientsParams()
    for id, gradient in output.grads.items():
        gradient = gradient.cast(full[id])
        grads.register(id, gradient / scale if output.scaled else gradient)
    for (_, main), (_, other) in zip(model.leaves(), low.leaves(), strict=True):
        if isinstance(main, State):
            main.update(other.value)
    return grads, output.scaled, cast_floats(detached(output.item), f32)


def low_step(model: Any, optim: Any, batch: Any, lr: Any, name: str) -> Any:
    """A whole step without scaling: bf16 has the range of f32."""
    grads, _, item = low_gradients(model, batch, name, None)
    return optimized(model, optim, lr, grads), item


def scaled_gradients(model: Any, batch: Any, scale: Any) -> Any:
    """Gradients of a scaled loss, and their sum of magnitudes: it is finite if all of them are."""
    grads, was_scaled, item = low_gradients(model, batch, "f16", scale)
    total = None
    for _, gradient in grads.items():
        magnitude = gradient.abs().sum()
        total = magnitude if total is None else total + magnitude
    return grads, was_scaled, total, item


def apply(model: Any, optim: Any, grads: Any, lr: Any) -> Any:
    """The model after a step."""
    return optimized(model, optim, lr, grads)


def low_validate(model: Any, batch: Any, name: str) -> Any:
    """One batch of validation in low precision."""
    dtype = PRECISIONS[name]
    return cast_floats(detached(model.valid_step(cast_floats(batch, dtype))), f32)


class MixedPrecision(TrainingStrategy):
    """One device, low precision inside the step: `"bf16"`, or `"f16"`, in which the loss is scaled.

    The parameters stay in full precision. `LearnerBuilder.mixed_precision(name)` is the usual way to it.

    `capture` and `notice` are those of `SingleDevice`.

    >>> from burn.train import LearnerBuilder
    >>> builder = LearnerBuilder("artifacts").mixed_precision("bf16")
    """

    def __init__(
        self, model: Any, optim: Any, device: Device, name: str, capture: bool = True, notice: Notice = print
    ) -> None:
        self.model, self.optim, self.devices, self.name = model, optim, (device,), name
        self.scale, self.good_steps, self.skipped = FIRST_SCALE, 0, 0
        self._notice = notice
        self._told = False
        self._step = captured(low_step, "training step", capture, notice)
        self._gradients = captured(scaled_gradients, "training step", capture, notice)
        self._apply = captured(apply, "update", capture, notice)
        self._valid = captured(low_validate, "validation step", capture, notice)

    def train(self, batches: Sequence[Any], counts: Sequence[int], lr: Any) -> list[Any]:
        """One batch."""
        (batch,) = batches
        if self.name == "bf16":
            self.model, item = self._step(self.model, self.optim, batch, lr, self.name)
            return [item]
        grads, was_scaled, total, item = self._gradients(self.model, batch, self.scale)
        if not was_scaled and not self._told:
            self._told = True
            self._notice(
                "the loss is not scaled, because train_step calls backward() itself; small gradients vanish in f16: "
                "write TrainOutput(self, loss, item)"
            )
        magnitude = float(total.item())
        if magnitude - magnitude == 0.0:
            self.model = self._apply(self.model, self.optim, grads, lr)
            self.good_steps += 1
            if self.good_steps >= GROWTH_INTERVAL:
                self.good_steps, self.scale = 0, self.scale * 2.0
        else:
            self.skipped += 1
            self.good_steps, self.scale = 0, max(self.scale / 2.0, 1.0)
        return [item]

    def valid_model(self) -> Any:
        """The model in low precision, without autodiff."""
        return lowered(self.model.valid(), PRECISIONS[self.name])

    def valid(self, model: Any, batch: Any) -> Any:
        """The item of one batch."""
        return self._valid(model, batch, self.name)

    def state(self) -> dict[str, Any]:
        """The scale of the loss."""
        return {"loss_scale": [self.scale, self.good_steps, self.skipped]}

    def load_state(self, state: dict[str, Any]) -> None:
        """Go on with a scale."""
        if "loss_scale" in state:
            self.scale, self.good_steps, self.skipped = state["loss_scale"]
