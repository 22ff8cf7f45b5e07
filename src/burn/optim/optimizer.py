"""The optimizer of a module: a simple optimizer applied to every parameter that has a gradient.

    optim = AdamConfig().init()
    model = optim.step(1e-3, model, loss.backward())

A step returns a new module and leaves the old one as it was. The optimizer keeps a state for each parameter
id. It is a mutable tree: `burn.compile` sees its tensors and times as inputs and outputs.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from burn.backend.autodiff.gradients import Gradients
from burn.device import Device
from burn.errors import ArgumentError
from burn.grad_clipping import GradientClipping, GradientClippingConfig
from burn.guesses import STEP, called_with, missing_attribute
from burn.module.groups import ParamGroup
from burn.optim import recording
from burn.optim.gradients import GradientsParams
from burn.optim.simple import Number, SimpleOptimizer, Slot, moved
from burn.optim.stepping import Step
from burn.record.items import Mapping as Map
from burn.record.record import Record

M = TypeVar("M")

LearningRate: TypeAlias = Number | Mapping[ParamGroup, Number]
"""One rate, or a rate for each group: the last group that a parameter belongs to counts."""


class Member(NamedTuple):
    """A group of parameters with the way they are updated."""

    group: ParamGroup
    simple: SimpleOptimizer
    clipping: GradientClipping | None


def _undo(optimizer: weakref.ref[Optimizer], times: Mapping[Any, Any]) -> None:
    """A step has failed: states are those from before by themselves; times become so, and new states go."""
    found = optimizer()
    if found is not None:
        slots = {id: slot if id not in times else Slot(times[id], slot.state) for id, slot in found.slots.items()}
        found.slots = {id: slot for id, slot in slots.items() if times.get(id, slot) is not NEW}


NEW: Any = object()
"""Stands for the time of a state that there was none of."""


class Optimizer:
    """Updates the parameters of modules: what `AdamConfig().init()` and the like make.

    A step returns a new module and leaves the old one as it was; there is no `zero_grad`. A state is kept for each id
    of a parameter.

    `simple` is the update of one tensor and `grad_clipping` bounds gradients; a config's `init` passes both.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import AdamConfig
    >>> optim = AdamConfig().init()
    >>> better = optim.step(0.1, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4), better.weight.numpy().round(4))
    [[ 1. -2.]] [[ 0.9 -1.9]]
    """

    __slots__ = ("_flat", "_slots", "members", "__weakref__")

    _slots: dict[str, Slot] | None  # by parameter id, never changed in place; None: not taken out of `_flat` yet
    _flat: tuple[Sequence[Any], Any] | None  # the same as leaves and structure; None: not computed yet

    def __init__(self, simple: SimpleOptimizer, grad_clipping: GradientClippingConfig | None = None) -> None:
        if not isinstance(simple, SimpleOptimizer):
            raise ArgumentError(f"Optimizer: needs a SimpleOptimizer, got {simple!r}; write AdamConfig().init()")
        self.members: tuple[Member, ...] = (Member(ParamGroup.all(), simple, _clipping(grad_clipping)),)
        self.slots = {}

    @property
    def slots(self) -> dict[str, Slot]:
        """The time and the state of each parameter, by id."""
        found = self._slots
        if found is None:
            assert self._flat is not None
            found = self._slots = _slots_of(*self._flat)
        return found

    @slots.setter
    def slots(self, slots: dict[str, Slot]) -> None:
        self._slots, self._flat = slots, None

    # Settings

    def with_group(
        self,
        group: ParamGroup,
        optimizer: Optimizer | SimpleOptimizer,
        grad_clipping: GradientClipping | GradientClippingConfig | None = None,
    ) -> Optimizer:
        r"""This optimizer with another one for a group of parameters; of several groups the last one counts.

        Parameters that change groups begin with a new state.

        >>> from burn.optim import AdamWConfig, ParamGroup, SgdConfig
        >>> optim = AdamWConfig().init().with_group(ParamGroup.from_regex(r"\.bias$"), SgdConfig().init())
        """
        if not isinstance(group, ParamGroup):
            raise ArgumentError(f"with_group: needs a ParamGroup, got {group!r}; write ParamGroup.under('head')")
        if isinstance(optimizer, Optimizer):
            if len(optimizer.members) > 1:
                raise ArgumentError("with_group: the other optimizer has groups of its own; add them to this one")
            _, simple, own = optimizer.members[0]
            chosen = _clipping(grad_clipping) or own
        else:
            simple, chosen = optimizer, _clipping(grad_clipping)
        return self._with(members=(*self.members, Member(group, simple, chosen)))

    def with_grad_clipping(self, grad_clipping: GradientClipping | GradientClippingConfig | None) -> Optimizer:
        """This optimizer with its gradients clipped before they are used; those of groups are not."""
        first = self.members[0]._replace(clipping=_clipping(grad_clipping))
        return self._with(members=(first, *self.members[1:]))

    def _with(self, members: tuple[Member, ...]) -> Optimizer:
        made = object.__new__(Optimizer)
        made.members, made.slots = members, self.slots
        return made

    @property
    def grad_clipping(self) -> GradientClipping | None:
        """How gradients are clipped."""
        return self.members[0].clipping

    def has_gradient_clipping(self) -> bool:
        """Whether gradients are clipped, in any group."""
        return any(member.clipping is not None for member in self.members)

    # Steps

    @called_with(STEP)
    def step(self, lr: LearningRate, module: M, grads: GradientsParams | Gradients) -> M:
        """`module` with its parameters updated. The gradients are used up.

        `lr` is a number, or what `scheduler.step()` gives; `grads` what `loss.backward()` gives. Frozen parameters and
        parameters without a gradient stay as they are, and so does their state.
        """
        before = self.slots
        work = Step(self.members, before, lr, grads)
        updated: M = work.run(module)
        self.slots = work.slots
        times = {param.id: before[param.id].time if param.id in before else NEW for param in work.updated}
        for device in work.inners.values():
            device.on_failure(partial(_undo, weakref.ref(self), times))
            device.mark()
        return updated

    def state(self, id: str) -> Slot | None:
        """What is kept of the parameter with this id: its time and its state."""
        return self.slots.get(id)

    def to_device(self, device: Device) -> Optimizer:
        """This optimizer with its states on another device; a step would move them too."""
        made = self._with(self.members)
        made.slots = _all_placed(self.slots, device, {})
        return made

    # Records

    def to_record(self) -> Record:
        """The states as a record, to save beside the model.

        >>> from burn.optim import AdamConfig
        >>> from burn.record import DefaultRecorder
        >>> optim = AdamConfig().init()
        >>> DefaultRecorder().record(optim.to_record(), "optim")
        >>> optim = AdamConfig().init().load_record(DefaultRecorder().load("optim"))
        """
        kept = {str(id): slot for id, slot in self.slots.items() if slot.state is not None}
        return Record(Map({id: recording.written(self._simple_of(slot), slot) for id, slot in kept.items()}))

    def load_record(self, record: Record, device: Device | None = None, module: Any = None) -> Optimizer:
        """Go on with the states of a record; gives the optimizer itself.

        The states go to `device`, to that of the record if it has one, or with the first step where their parameters
        are. With a module they get the dtypes of its parameters, as a step would give them.
        """
        slots = recording.read([member.simple for member in self.members], record)
        device = device or record.device
        dtypes = {} if module is None else {str(each.id): each.dtype for each in module.parameters()}
        self.slots = slots if device is None else _all_placed(slots, device, dtypes)
        return self

    def _simple_of(self, slot: Slot) -> SimpleOptimizer:
        return next(each.simple for each in self.members if type(slot.state) is each.simple.state_type)

    # Trees

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        found = self._flat
        if found is None:
            members = tuple([(each.group, each.simple.token, each.clipping) for each in self.members])
            found = self._flat = _flat(members, self.slots)
        return found

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> Optimizer:
        made = object.__new__(cls)
        made.members = tuple(
            Member(group, SimpleOptimizer.of_token(simple), clipping) for group, simple, clipping in token[0]
        )
        made.__tree_update__(token, children)
        return made

    def __tree_update__(self, token: Any, children: Sequence[Any]) -> None:
        # A replayed step comes here at every call; nobody may ever look at single states.
        self._slots, self._flat = None, (tuple(children), token)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in self.__slots__ or name.startswith("__"):
                raise AttributeError(name)
            raise missing_attribute("Optimizer", "Optimizer", name, dir(type(self)))

    def __repr__(self) -> str:
        first, *others = self.members
        groups = "".join(f".with_group({each.group!r}, {each.simple!r})" for each in others)
        return f"<Optimizer {first.simple!r}{groups}, {len(self.slots)} states>"


def _flat(members: Any, slots: dict[str, Slot]) -> tuple[Sequence[Any], Any]:
    """Each distinct time once, then the tensors in order; and a token that says whose they are."""
    times: list[Any] = []
    numbers: dict[int, int] = {}
    tensors: list[Any] = []
    shape: list[Any] = []
    for name, (time, state) in slots.items():
        number = -1
        if time is not None:
            number = numbers.setdefault(id(time), len(times))
            if number == len(times):
                times.append(time)
        if state is None:
            shape.append((name, number, None, None))
        else:
            tensors += [each for each in state if each is not None]
            shape.append((name, number, type(state), tuple([each is not None for each in state])))
    return (*times, *tensors), (members, len(times), tuple(shape))


def _slots_of(children: Sequence[Any], token: Any) -> dict[str, Slot]:
    """The inverse."""
    _, count, shape = token
    times = children[:count]
    take = iter(children[count:]).__next__
    slots: dict[str, Slot] = {}
    for name, number, kind, present in shape:
        state = None if kind is None else kind._make([take() if there else None for there in present])
        slots[name] = Slot(times[number] if number >= 0 else None, state)
    return slots


def _clipping(given: Any) -> GradientClipping | None:
    if given is None or isinstance(given, GradientClipping):
        return given
    if isinstance(given, GradientClippingConfig):
        return given.init()
    raise ArgumentError(
        f"grad_clipping: needs a GradientClippingConfig, got {given!r}; write GradientClippingConfig.Norm(1.0)"
    )


def _all_placed(slots: dict[str, Slot], device: Device, dtypes: Mapping[str, Any]) -> dict[str, Slot]:
    while device.is_autodiff:
        device = device.inner()
    return {name: Slot(time, moved(state, device, dtypes.get(str(name)))) for name, (time, state) in slots.items()}
