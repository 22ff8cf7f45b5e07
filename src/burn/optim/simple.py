"""Simple optimizers: how one tensor is updated from its gradient.

A simple optimizer is a pure function of tensors without a graph. What it remembers of a parameter is a
*state*: a named tuple of tensors, None where something is not kept. How often a parameter was updated
is its *time*, a float beside the state, so that a captured step can take it as an argument.

    class Signs(SimpleOptimizer):
        def update(self, lr, tensor, gradient, state):
            return tensor - gradient.sign() * lr, None

    optim = Optimizer(Signs())
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from burn.device import Device
from burn.dtype import DType
from burn.errors import ArgumentError
from burn.guesses import STEP, called_with
from burn.scalar import Scalar
from burn.tensor import Tensor, TensorData

Number: TypeAlias = float | Scalar
"""A number of today: a float, or a `Scalar` while a function is captured."""

State: TypeAlias = tuple[Any, ...]
"""A named tuple of tensors, None for what is not kept."""

FIRST = 1.0
"""The time of a first update."""


class Slot(NamedTuple):
    """What is kept of one parameter."""

    time: Any  # a number, or None for optimizers that need none
    state: State | None


def _instead(cls: type) -> str:
    """What to write where somebody makes the update of one tensor and means an optimizer."""
    return f"write optim = {cls.__name__}Config().init(), then {STEP.removeprefix('write ')}"


class SimpleOptimizer:
    """The update of one tensor: the base of optimizers of your own.

    Subclasses write `update`, and `coefficients` if numbers depend on the time. `lr` is the learning rate, or whatever
    `coefficients` (or `rate`) makes of it; `tensor` and `gradient` are without a graph; `state` is what the last update
    gave. `Optimizer(simple)` applies it to modules.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import Optimizer, SimpleOptimizer
    >>> class SignDescent(SimpleOptimizer):
    ...     def update(self, lr, tensor, gradient, state):
    ...         return tensor - gradient.sign() * lr, None
    >>> model = Optimizer(SignDescent()).step(0.5, model, (model.weight ** 2).sum().backward())
    >>> print(model.weight.numpy().round(4))
    [[ 0.5 -1.5]]
    """

    timed: bool = False
    """Whether the update depends on how many there were before."""

    state_type: Any = None
    """The named tuple that `update` returns as a state; None if it keeps nothing."""

    config: Hashable = None
    """The settings, from which the class makes an equal optimizer. Without them it equals only itself."""

    if not TYPE_CHECKING:

        def __init_subclass__(cls, **options: Any) -> None:
            super().__init_subclass__(**options)
            if "__init__" in vars(cls) and cls.__module__.startswith("burn.optim."):
                cls.__init__ = called_with(_instead(cls))(cls.__init__)

        def __new__(cls, *_args: Any, **_kwargs: Any) -> SimpleOptimizer:
            """The update; ours are made by their configs."""
            if _args and not hasattr(type(_args[0]), "_field_kind") and cls.__module__.startswith("burn.optim."):
                article = "an" if cls.__name__[0] in "AEIOU" else "a"
                raise ArgumentError(f"{cls.__name__}: needs {article} {cls.__name__}Config; {_instead(cls)}")
            return super().__new__(cls)

    def coefficients(self, lr: Number, time: Any) -> Any:
        """The numbers of an update; computed once for all parameters of the same time. Pass them to `update`."""
        return lr

    def update(self, coefficients: Any, tensor: Tensor, gradient: Tensor, state: Any, /) -> tuple[Tensor, Any]:
        """The new values of a parameter and its new state; `state` is None at the first update."""
        raise NotImplementedError(
            f"{type(self).__name__} has no update; write def update(self, lr, tensor, gradient, state)"
        )

    def step(self, lr: Number, tensor: Tensor, gradient: Tensor, slot: Slot | None = None) -> tuple[Tensor, Slot]:
        """One update by itself, a pure function: new values, and the `slot` to pass in the next time."""
        time = next_time(None if slot is None else slot.time) if self.timed else None
        state = None if slot is None else slot.state
        updated, state = self.update(self.coefficients(lr, time), tensor, gradient, state)
        return updated, Slot(time, state)

    def refusal(self, tensor: Tensor) -> str:
        """Why a parameter of this shape cannot be updated; empty if it can."""
        return ""

    def layout(self) -> Any:
        """How a record holds a state: structs, names of tensors, `TIME`, and `Optional` parts."""
        if self.state_type is None:
            return {}
        names = {name: name for name in self.state_type._fields}
        return {"time": TIME, **names} if self.timed else names

    @property
    def token(self) -> Hashable:
        """What tells this optimizer from others: a captured step is recognised by it."""
        return self if self.config is None else (type(self), self.config)

    @staticmethod
    def of_token(token: Any) -> SimpleOptimizer:
        """The optimizer of a token."""
        return token if isinstance(token, SimpleOptimizer) else token[0](token[1])

    def __repr__(self) -> str:
        return f"{type(self).__name__}()" if self.config is None else repr(self.config)


def next_time(time: Any) -> Any:
    """The time after `time`; the first one after None."""
    return FIRST if time is None else time + 1.0


def moved(state: Any, device: Device, dtype: DType | None = None) -> Any:
    """A state on a device. Its parts are tensors, what a record held, or nothing."""
    return None if state is None else type(state)._make(placed(part, device, dtype) for part in state)


def placed(value: Any, device: Device, dtype: DType | None = None) -> Any:
    """A part of a state on a device. What a record held in another float type than the device's waits for the dtype of
    its parameter: a detour would round it."""
    if isinstance(value, TensorData):
        if dtype is None and value.dtype is not device.float_dtype:
            return value
        return Tensor.from_data(value, device, dtype)
    if value is None:
        return None
    tensor = value.to_device(device)
    return tensor if dtype is None else tensor.cast(dtype)


TIME = "time"
"""In a layout: the time of a state, an int in records."""


class Optional(NamedTuple):
    """In a layout: a part that is there when its tensors are."""

    part: Any
