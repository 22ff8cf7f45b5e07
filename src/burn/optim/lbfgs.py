"""L-BFGS: steps that know the curvature of the loss from the last few gradients.

It evaluates the loss several times a step, so it takes a function instead of gradients:

    def closure(model):
        loss = loss_of(model(inputs), targets)
        return loss, loss.backward()

    model, loss = optim.step(1.0, model, closure)

The losses are read at every evaluation, so a step is not captured by `burn.compile`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from burn.backend.autodiff.gradients import Gradients
from burn.config import Config
from burn.device import Device
from burn.dtype import DType
from burn.errors import ArgumentError, raise_faults
from burn.module.param import Param
from burn.module.state import State
from burn.module.walk import rebuild
from burn.optim.gradients import GradientsParams, trainable
from burn.optim.line_search import Point, strong_wolfe
from burn.optim.simple import placed
from burn.record.items import Item
from burn.record.record import Record
from burn.tensor import Tensor, TensorData

M = TypeVar("M")
LEAST_CURVATURE = 1e-10


class LineSearchFn(enum.Enum):
    """How L-BFGS finds the length of a step: `NoSearch` takes the learning rate.

    >>> from burn.optim import LBFGSConfig, LineSearchFn
    >>> optim = LBFGSConfig(line_search_fn=LineSearchFn.StrongWolfe).init()
    """

    NoSearch = "None"
    StrongWolfe = "StrongWolfe"


class LbfgsConfig(Config):
    """Settings of L-BFGS (`torch.optim.LBFGS`): steps that know the curvature from the last few gradients.

    Arguments:
        max_iter, max_eval: iterations and evaluations of the loss in one step; 5/4 of the iterations if None.
        history_size: how many gradients are remembered.
        tolerance_grad, tolerance_change: when a step has converged.
        line_search_fn: `LineSearchFn.StrongWolfe`, or the learning rate is the length of steps.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import LBFGSConfig
    >>> def closure(model):
    ...     loss = ((model.weight - 3) ** 2).sum()
    ...     return loss, loss.backward()
    >>> model, loss_before = LBFGSConfig().init().step(1.0, model, closure)
    >>> print(model.weight.numpy().round(4), loss_before)
    [[3. 3.]] 29.0
    """

    max_iter: int = 20
    history_size: int = 100
    tolerance_grad: float = 1e-7
    tolerance_change: float = 1e-9
    max_eval: int | None = None
    line_search_fn: LineSearchFn | None = None

    def init(self) -> Lbfgs:
        """The optimizer."""
        return Lbfgs(self)


class Pair(NamedTuple):
    """A step that was made: how the gradient changed, the step itself, and one over their product."""

    change: Any
    step: Any
    weight: float


class Memory(NamedTuple):
    """What is kept from iteration to iteration."""

    direction: Any = None
    gradient: Any = None
    t: float = 0.0
    scale: float = 1.0
    loss: float = 0.0
    pairs: tuple[Pair, ...] = ()
    iterations: float = 0.0
    evaluations: float = 0.0


class Lbfgs:
    """Updates modules by L-BFGS. It evaluates the loss several times a step, so it takes a function, not gradients.

    `lr` is the length of the first step.

    >>> from burn import NdArray, Param, nn
    >>> model = nn.Linear(weight=Param.from_data([[1.0, -2.0]], NdArray().autodiff()), bias=None)
    >>> from burn.optim import LBFGSConfig, LineSearchFn
    >>> def closure(model):
    ...     loss = ((model.weight - 3) ** 4).sum()
    ...     return loss, loss.backward()
    >>> optim = LBFGSConfig(line_search_fn=LineSearchFn.StrongWolfe).init()
    >>> model, loss_before = optim.step(1.0, model, closure)
    >>> loss_before, closure(model)[0].item() < 1e-3
    (641.0, True)
    """

    __slots__ = ("config", "memory", "__weakref__")

    def __init__(self, config: LbfgsConfig) -> None:
        faults = [f"{name} is at least 1, got {value}" for name, value in
                  (("max_iter", config.max_iter), ("history_size", config.history_size)) if value < 1]  # fmt: skip
        raise_faults("LbfgsConfig", faults)
        self.config = config
        self.memory = Memory()

    def step(self, lr: float, module: M, closure: Callable[[M], Any]) -> tuple[M, float]:
        """`module` after one step, and the loss before it. `closure(module)` gives the loss and its gradients."""
        run = _Run(self.config, self.memory, float(lr), module, closure)
        first = run.iterate()
        self.memory = run.memory
        return run.module, first

    # Records

    def to_record(self) -> Record:
        """What is kept, as a record."""
        memory = self.memory
        if memory.direction is None:
            return Record(None)
        item: Item = {
            **{name: getattr(memory, name).to_data() for name in ("direction", "gradient")},
            **{name: getattr(memory, name) for name in ("t", "scale", "loss", "iterations", "evaluations")},
            "pairs": [
                {"change": p.change.to_data(), "step": p.step.to_data(), "weight": p.weight} for p in memory.pairs
            ],
        }
        return Record(item)

    def load_record(self, record: Record, device: Device | None = None) -> Lbfgs:
        """Go on with what a record holds, on `device` or where the first model is; gives the optimizer."""
        item: Any = record.item
        memory = Memory()
        if item is not None:
            pairs = tuple(Pair(each["change"], each["step"], each["weight"]) for each in item["pairs"])
            memory = Memory(**{**item, "pairs": pairs})
        self.memory = memory if device is None else _placed(memory, device)
        return self

    # Trees

    def __tree__(self) -> tuple[Sequence[Any], Any]:
        direction, gradient, *numbers, pairs, iterations, evaluations = self.memory
        tensors = [] if direction is None else [direction, gradient]
        numbers += [iterations, evaluations]
        return (*numbers, *tensors, *(part for pair in pairs for part in pair)), (self.config, len(tensors), len(pairs))

    @classmethod
    def __untree__(cls, token: Any, children: Sequence[Any]) -> Lbfgs:
        made = cls(token[0])
        made.__tree_update__(token, children)
        return made

    def __tree_update__(self, token: Any, children: Sequence[Any]) -> None:
        t, scale, loss, iterations, evaluations, *rest = children
        direction, gradient = rest[:2] if token[1] else (None, None)
        rest = rest[token[1] :]
        pairs = tuple(Pair(*rest[i : i + 3]) for i in range(0, len(rest), 3))
        self.memory = Memory(direction, gradient, t, scale, loss, pairs, iterations, evaluations)

    def __repr__(self) -> str:
        return f"<Lbfgs {self.config!r}>"


LBFGSConfig, LBFGS = LbfgsConfig, Lbfgs


class _Run:
    """One step: the parameters as one vector, and the module that was evaluated last."""

    def __init__(self, config: LbfgsConfig, memory: Memory, lr: float, module: Any, closure: Any) -> None:
        self.config, self.lr, self.module, self.closure = config, lr, module, closure
        params = trainable(module)
        if not params:
            raise ArgumentError(f"step: {type(module).__name__} has no parameter to train")
        self.params = params
        self.memory = _placed(memory, params[0].val().no_grad().device, params[0].dtype)

    def iterate(self) -> float:
        """Run until it converges or may go on no longer; gives the first loss."""
        config, memory = self.config, self.memory
        first, gradient = self.evaluate()
        loss, evaluations, iterations = first, 1, 0
        most = config.max_iter * 5 // 4 if config.max_eval is None else config.max_eval
        memory = memory._replace(evaluations=memory.evaluations + 1)
        flat = self.vector()
        while _largest(gradient) > config.tolerance_grad and iterations < config.max_iter:
            iterations += 1
            direction, memory = self.direction(gradient, memory)
            t = self.lr if memory.iterations > 1 else min(1.0, 1.0 / float(gradient.abs().sum())) * self.lr
            before = loss
            memory = memory._replace(direction=direction, gradient=gradient, t=t, loss=loss)
            slope = _dot(gradient, direction)
            if slope > -config.tolerance_change:
                break
            extra = 0
            if config.line_search_fn is LineSearchFn.StrongWolfe:
                start = Point(0.0, loss, gradient, slope)
                point, extra = strong_wolfe(
                    lambda t, flat=flat, direction=direction: self.trial(flat, direction, t),  # type: ignore[misc]
                    start, t, _largest(direction), config.tolerance_change,
                )  # fmt: skip
                t, loss, gradient = point.t, point.loss, point.gradient
                flat = flat + direction * t
                self.place(flat)
            else:
                flat = flat + direction * t
                self.place(flat)
                if iterations < config.max_iter:
                    loss, gradient = self.evaluate()
                    extra = 1
            memory = memory._replace(t=t, evaluations=memory.evaluations + extra)
            evaluations += extra
            if (
                evaluations >= most
                or _largest(direction * t) <= config.tolerance_change
                or abs(loss - before) < config.tolerance_change
            ):
                break
        self.memory = memory
        return first

    def direction(self, gradient: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Where to go: the gradient times the inverse curvature that the pairs of the past describe."""
        memory = memory._replace(iterations=memory.iterations + 1)
        if memory.direction is None:
            return -gradient, memory
        change, step = gradient - memory.gradient, memory.direction * memory.t
        product = _dot(change, step)
        if product > LEAST_CURVATURE:
            pairs = (*memory.pairs, Pair(change, step, 1.0 / product))[-self.config.history_size :]
            memory = memory._replace(pairs=pairs, scale=product / _dot(change, change))
        q = -gradient
        shares = []
        for pair in reversed(memory.pairs):
            share = _dot(pair.step, q) * pair.weight
            shares.append(share)
            q = q - pair.change * share
        q = q * memory.scale
        for pair, share in zip(memory.pairs, reversed(shares), strict=True):
            q = q + pair.step * (share - _dot(pair.change, q) * pair.weight)
        return q, memory

    # The module as a vector

    def evaluate(self) -> tuple[float, Tensor]:
        """The loss of the module of this moment, and its gradient as one vector."""
        result = self.closure(self.module)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise ArgumentError("step: the closure returns the loss and its gradients: return loss, loss.backward()")
        loss, grads = result
        if isinstance(grads, Gradients):
            grads = GradientsParams.from_grads(grads, self.module)
        if not isinstance(grads, GradientsParams):
            raise ArgumentError(f"step: the closure returns gradients second, got {type(grads).__name__}")
        found = []
        for param in self.params:
            gradient = grads.get(param.id)
            found.append((param.val().no_grad().zeros_like() if gradient is None else gradient).reshape([-1]))
        return float(loss), Tensor.cat(found, 0)

    def trial(self, flat: Tensor, direction: Tensor, t: float) -> Point:
        self.place(flat + direction * t)
        loss, gradient = self.evaluate()
        return Point(t, loss, gradient, _dot(gradient, direction))

    def vector(self) -> Tensor:
        return Tensor.cat([param.val().no_grad().reshape([-1]) for param in self.params], 0)

    def place(self, flat: Tensor) -> None:
        """The module with the values of a vector."""
        values: dict[str, Tensor] = {}
        begin = 0
        for param in self.params:
            count = param.shape.num_elements()
            values[param.id] = flat.narrow(0, begin, count).reshape(param.shape)
            begin += count

        def change(leaf: Any) -> Any:
            if isinstance(leaf, State):
                return leaf.fork()
            if not isinstance(leaf, Param) or not leaf.trainable or leaf.id not in values:
                return leaf
            return leaf.with_value(values[leaf.id].to_device(leaf.device))

        self.module = rebuild(self.module, change)


def _dot(one: Tensor, other: Tensor) -> float:
    return float((one * other).sum())


def _largest(vector: Tensor) -> float:
    return float(vector.abs().max()) if vector.shape[0] else 0.0


def _placed(memory: Memory, device: Device, dtype: DType | None = None) -> Memory:
    """What is kept, on a device."""

    def place(value: Any) -> Any:
        if isinstance(value, TensorData):
            return placed(value, device, dtype)
        return value.to_device(device) if isinstance(value, Tensor) else value

    pairs = tuple(Pair(*map(place, pair)) for pair in memory.pairs)
    return memory._replace(direction=place(memory.direction), gradient=place(memory.gradient), pairs=pairs)
