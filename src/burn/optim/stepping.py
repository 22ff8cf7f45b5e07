"""One step of an optimizer: every parameter with a gradient is replaced by its update.

Nothing is changed until the whole module was walked: a fault leaves the optimizer and the gradients as
they were, and one error lists all of them. What parameters of the same time have in common (the next time, bias
corrections) is computed once and shared.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from burn.backend.autodiff.gradients import Gradients
from burn.errors import ArgumentError, raise_faults
from burn.module.groups import ParamGroup
from burn.module.param import Param
from burn.module.state import State
from burn.module.walk import is_module, leaves, rebuild
from burn.optim.gradients import GradientsParams, refuse_stale, two_parameters, used_up
from burn.optim.simple import SimpleOptimizer, Slot, moved, next_time
from burn.scalar import Scalar
from burn.tensor import Tensor, TensorData

if TYPE_CHECKING:
    from burn.device import Device
    from burn.optim.optimizer import Member


EVERYTHING = ParamGroup.all()


class Lane:
    """How the parameters of one group are updated, laid out for many of them."""

    __slots__ = ("clipping", "group", "may_refuse", "scale", "simple", "state_type", "timed")

    def __init__(self, member: Member) -> None:
        self.group, self.simple, self.clipping = member
        self.timed = self.simple.timed
        self.state_type: Any = self.simple.state_type or type(None)
        self.may_refuse = type(self.simple).refusal is not SimpleOptimizer.refusal
        self.scale: Tensor | None = None
        """What all gradients are multiplied by, if they are clipped by their common norm."""


class Step:
    """The work of one step; `slots` are the states afterwards."""

    def __init__(self, members: tuple[Member, ...], slots: dict[str, Slot], lr: Any, grads: Any) -> None:
        if not isinstance(grads, Gradients | GradientsParams):
            raise ArgumentError(f"step: needs gradients, got {type(grads).__name__}; write loss.backward()")
        self.lanes = [Lane(member) for member in members]
        self.by_node = grads if isinstance(grads, Gradients) else None
        self.by_id = grads if isinstance(grads, GradientsParams) else None
        self.given = len(grads)
        self.slots = dict(slots)
        self.rates = _rates(lr)
        self.place = (self.lanes[0], self.rates[-1][1])
        self.places: dict[int, tuple[Lane, Any]] = {}  # where lane and rate depend on the path of the parameter
        self.inners: dict[Device, Device] = {}
        self.seen: dict[str, Param] = {}
        self.updated: list[Param] = []
        self.without: list[Param] = []
        self.faults: list[tuple[Param, str]] = []
        self.times: dict[int, tuple[Any, Any]] = {}
        self.shared: dict[tuple[int, int, int], Any] = {}

    def run(self, module: Any) -> Any:
        """The module with its parameters updated."""
        if len(self.lanes) > 1 or self.rates[0][0] != EVERYTHING or len(self.rates) > 1:
            self.find_places(module)
        if any(lane.clipping is not None and lane.clipping.is_global for lane in self.lanes):
            self.find_scales(module)
        made = rebuild(module, self.change)
        self.check(module)
        self.use_up()
        return made

    def use_up(self) -> None:
        """Take the gradients that were used out, so that nothing keeps them."""
        if self.by_node is not None:
            for param in self.updated:
                self.by_node.remove(param)
        elif self.by_id is not None and self.updated:
            self.by_id.used = True
            for param in self.updated:
                self.by_id.remove(param.id)

    def change(self, leaf: Any) -> Any:
        """A leaf of the module after the step."""
        if not isinstance(leaf, Param):
            return leaf.fork() if isinstance(leaf, State) else leaf
        if not leaf.trainable:
            return leaf
        by_id = self.by_id
        gradient = self.gradient(leaf) if by_id is None else by_id.get(leaf.id)
        if gradient is None:
            self.without.append(leaf)
            return leaf
        if leaf.id in self.seen:
            raise two_parameters("step", leaf.id)
        self.seen[leaf.id] = leaf
        if gradient.shape is not leaf.shape and gradient.shape != leaf.shape:
            self.faults.append((leaf, f"has shape {tuple(leaf.shape)}, its gradient {tuple(gradient.shape)}"))
            return leaf
        return self.update(leaf, gradient)

    def gradient(self, param: Param) -> Tensor | None:
        if self.by_id is not None:
            return self.by_id.get(param.id)
        assert self.by_node is not None
        return self.by_node.get(param) if param.is_initialized and param.device.is_autodiff else None

    def update(self, param: Param, gradient: Tensor) -> Param:
        lane, lr = self.places[id(param)] if self.places else self.place
        simple, clipping = lane.simple, lane.clipping
        device, dtype, shape = param.device, param.dtype, param.shape
        inner = self.inners.get(device) or self.without_autodiff(device)
        if inner is device:
            value: Tensor = Tensor(param.handle, device, dtype, shape)
        elif inner is device.below:
            value = Tensor(param.handle.inner, inner, dtype, shape)
        else:
            value = param.val().no_grad()
        if gradient.device is not inner:
            gradient = gradient.no_grad().to_device(inner)
        if lane.may_refuse and (reason := simple.refusal(value)):
            self.faults.append((param, reason))
            return param
        if clipping is not None:
            scale = lane.scale
            gradient = clipping.clip_gradient(gradient) if scale is None else gradient * scale.to_device(inner)
        time = state = None
        slot = self.slots.get(param.id)
        if slot is not None and slot[1].__class__ is lane.state_type:
            time, state = slot
            if state is not None:
                first = state[0]
                if first.__class__ is TensorData or first.device is not inner:
                    state = moved(state, inner, dtype)
                    first = state[0]
                if first.shape is not shape and first.shape != shape:
                    self.faults.append((param, f"has shape {tuple(shape)}, its state {tuple(first.shape)}"))
                    return param
        if lane.timed:
            time = self.next_time(time)
        coefficients = self.coefficients(lane, lr, time)
        old, old_state = value, state
        value, state = simple.update(coefficients, value, gradient, state)
        inner.fall_back(value.handle, old.handle)
        if time is not None or state is not None:
            self.slots[param.id] = Slot(time, state)
            if old_state is not None and state is not None:
                for new_part, old_part in zip(state, old_state, strict=True):
                    if new_part is not None and old_part is not None:
                        inner.fall_back(new_part.handle, old_part.handle)
        self.updated.append(param)
        if inner is not device:
            value = Tensor(device.lift(value), device, dtype, shape)
        return param.with_value(value)

    def without_autodiff(self, device: Device) -> Device:
        """The device below every `Autodiff`, where updates are computed."""
        inner = device
        while inner.is_autodiff:
            inner = inner.inner()
        self.inners[device] = inner
        return inner

    def coefficients(self, lane: Lane, lr: Any, time: Any) -> Any:
        """The numbers of an update: computed once for each rate and time."""
        key = (id(lane), id(lr), id(time))
        found = self.shared.get(key)
        if found is None:
            found = self.shared[key] = lane.simple.coefficients(lr, time)
        return found

    def next_time(self, time: Any) -> Any:
        """The time after `time`: one object for all parameters that shared one."""
        found = self.times.get(id(time))
        if found is None:
            found = self.times[id(time)] = (time, next_time(time))  # holding `time` keeps its id from being used again
        return found[1]

    # Groups and global norms

    def find_places(self, module: Any) -> None:
        """For each parameter the member that updates it and its rate: the last ones whose group it is in."""
        for path, leaf in leaves(module):
            if not isinstance(leaf, Param) or id(leaf) in self.places:
                continue
            lane = next(lane for lane in reversed(self.lanes) if lane.group.matches(leaf.id, path))
            rate = next((rate for group, rate in reversed(self.rates) if group.matches(leaf.id, path)), None)
            if rate is None:
                raise ArgumentError(
                    f"step: no learning rate is for {path}; begin with one for all: {{ParamGroup.all(): 1e-3, ...}}"
                )
            self.places[id(leaf)] = (lane, rate)

    def find_scales(self, module: Any) -> None:
        """For each member that clips by the norm of all its gradients, what they are multiplied by."""
        found: dict[int, tuple[Lane, Tensor]] = {}
        for _, leaf in leaves(module):
            if isinstance(leaf, Param) and leaf.trainable and (gradient := self.gradient(leaf)) is not None:
                lane = self.places[id(leaf)][0] if self.places else self.lanes[0]
                found[id(leaf)] = (lane, gradient.no_grad())
        for lane in self.lanes:
            own = [gradient for each, gradient in found.values() if each is lane]
            if own and lane.clipping is not None and lane.clipping.is_global:
                lane.scale = lane.clipping.scale(own)

    # Faults

    def was_taken(self) -> bool:
        """Whether gradients of these parameters were here before."""
        if self.by_node is None or not self.without:
            return False
        return any(param.id in self.by_node.taken for param in self.without) or bool(
            self.by_node.taken and not self.given
        )

    def check(self, module: Any) -> None:
        """Raise what was found wrong."""
        if self.faults:
            paths: dict[int, str] = {}
            for path, leaf in leaves(module):
                paths.setdefault(id(leaf), path)
            raise_faults("step", [f"{paths[id(param)]} {what}" for param, what in self.faults])
        if self.by_node is not None:
            refuse_stale("step", self.by_node, self.without)
        if self.updated:
            return
        if not self.without and not is_module(module) and not isinstance(module, list | tuple | dict):
            raise ArgumentError(
                f"step: needs a module, got {type(module).__name__}; write model = optim.step(lr, model, grads)"
            )
        used = self.by_id.used and not self.given if self.by_id is not None else self.was_taken()
        if used:
            raise used_up("step")
        if self.given and self.without:
            raise ArgumentError(
                f"step: none of the {self.given} gradients belongs to a parameter of this "
                f"{type(module).__name__}; pass the model that the loss was computed with"
            )


def _rates(lr: Any) -> list[tuple[ParamGroup, Any]]:
    """The learning rates with their groups, in order."""
    if isinstance(lr, Mapping):
        if not lr or not all(isinstance(group, ParamGroup) for group in lr):
            raise ArgumentError(f"step: learning rates by group need ParamGroup keys, got {lr!r}")
        return [(group, _number(rate)) for group, rate in lr.items()]
    return [(EVERYTHING, _number(lr))]


def _checked(lr: float) -> float:
    """The rate, if a step can be taken with it."""
    if 0.0 <= lr < math.inf:
        return lr
    if math.isnan(lr):
        raise ArgumentError("step: the learning rate is NaN")
    climb = "; to climb, step with the gradients of the negated loss" if lr < 0.0 else ""
    raise ArgumentError(f"step: the learning rate must be 0 or more and finite, got {lr}{climb}")


def _number(lr: Any) -> Any:
    if lr.__class__ is float or isinstance(lr, Scalar):
        return _checked(lr) if lr.__class__ is float else lr
    try:
        if isinstance(lr, bool | Tensor | str):
            raise TypeError
        return _checked(float(lr))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"step: the learning rate is a number, got {type(lr).__name__}; "
            "write optim.step(1e-3, model, grads), or scheduler.step() for the rate of a scheduler"
        ) from None
