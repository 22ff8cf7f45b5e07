"""Muon: momentum made orthogonal, for matrices.

A few Newton-Schulz iterations bring every singular value of the momentum near one, so that a step
moves all directions of a weight matrix alike. Biases, norms and embeddings want another optimizer:

    optim = AdamWConfig().init().with_group(ParamGroup.from_regex(r"weight$"), MuonConfig().init())
"""

from __future__ import annotations

import enum
import math
from typing import Any

from burn.config import Config
from burn.errors import raise_faults
from burn.grad_clipping import GradientClippingConfig
from burn.guesses import STEP, called_with
from burn.optim.decay import WeightDecayConfig, penalty_of
from burn.optim.momentum import Momentum, MomentumConfig, MomentumState
from burn.optim.optimizer import Optimizer
from burn.optim.simple import SimpleOptimizer
from burn.tensor import Tensor


class AdjustLrFn(enum.Enum):
    """How Muon's learning rate depends on the shape of a matrix.

    `Original` is the root of rows by columns where there are more rows; `MatchRmsAdamW` gives steps of AdamW's size.

    >>> from burn.optim import AdjustLrFn
    >>> AdjustLrFn.Original.ratio(400, 100), AdjustLrFn.MatchRmsAdamW.ratio(400, 100)
    (2.0, 4.0)
    """

    Original = "Original"
    """Times `sqrt(max(1, rows / columns))`."""
    MatchRmsAdamW = "MatchRmsAdamW"
    """Times `0.2 * sqrt(max(rows, columns))`: steps as large as AdamW's, so that its rates can be used."""

    def ratio(self, rows: int, columns: int) -> float:
        """What the learning rate of a matrix of so many `rows` and `columns` is multiplied by."""
        if self is AdjustLrFn.Original:
            return math.sqrt(max(1.0, rows / columns)) if columns else 1.0
        return 0.2 * math.sqrt(max(rows, columns))


class MuonConfig(Config):
    r"""Settings of Muon (`torch.optim.Muon`): momentum made orthogonal, for matrices only.

    Arguments:
        weight_decay: decoupled, as in AdamW; None is none.
        momentum: a `MomentumConfig`.
        ns_coefficients, ns_steps, epsilon: of the Newton-Schulz iteration that makes it orthogonal.
        adjust_lr_fn: how the learning rate depends on the shape of a matrix.
        grad_clipping: a `GradientClippingConfig`; None does not clip.

    Biases, norms and embeddings want another optimizer:

    >>> from burn.optim import AdamWConfig, MuonConfig, ParamGroup
    >>> matrices = ParamGroup.from_regex(r"\.weight$").exclude(ParamGroup.from_predicate("embedding"))
    >>> optim = AdamWConfig().init().with_group(matrices, MuonConfig().init())
    """

    weight_decay: WeightDecayConfig | float | None = None
    momentum: MomentumConfig = MomentumConfig(momentum=0.95, dampening=0.0, nesterov=True)
    ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315)
    epsilon: float = 1e-7
    ns_steps: int = 5
    adjust_lr_fn: AdjustLrFn = AdjustLrFn.Original
    grad_clipping: GradientClippingConfig | None = None

    @called_with(STEP)
    def init(self) -> Optimizer:
        """The optimizer."""
        return Optimizer(self.build(), self.grad_clipping)

    def build(self) -> Muon:
        """The update of one matrix, for `with_group`."""
        return Muon(self)


class Muon(SimpleOptimizer):
    """Muon's update of one matrix: along the orthogonal matrix nearest to the momentum.

    >>> import burn
    >>> from burn.optim import MuonConfig
    >>> values, slot = MuonConfig().build().step(0.1, burn.Tensor.zeros([2, 2]), burn.tensor([[3.0, 0.0], [0.0, 0.5]]))
    >>> values.shape
    Shape([2, 2])
    """

    state_type = MomentumState

    def __init__(self, config: MuonConfig) -> None:
        self.config = config
        steps = config.ns_steps
        raise_faults("MuonConfig", [] if 0 <= steps < 100 else [f"ns_steps is from 0 to 99, got {steps}"])
        self.momentum = Momentum(config.momentum)
        self.iteration, self.steps, self.epsilon = config.ns_coefficients, steps, config.epsilon
        self.adjustment = config.adjust_lr_fn
        self.penalty = penalty_of(config.weight_decay)

    def refusal(self, tensor: Tensor) -> str:
        if len(tensor.shape) == 2:
            return ""
        return (
            f"has rank {len(tensor.shape)}, and Muon is for matrices; give the others an optimizer of their own: "
            "AdamWConfig().init().with_group(ParamGroup.from_regex(...), MuonConfig().init())"
        )

    def update(self, lr: Any, tensor: Tensor, gradient: Tensor, state: Any) -> Any:
        direction, velocity = self.momentum.transform(gradient, None if state is None else state.velocity)
        step = self.orthogonal(direction) * (lr * self.adjustment.ratio(*tensor.shape))
        if self.penalty:
            tensor = tensor * (1.0 - lr * self.penalty)
        return tensor - step, MomentumState(velocity)

    def orthogonal(self, matrix: Tensor) -> Tensor:
        """The matrix with its singular values brought near one."""
        rows, columns = matrix.shape
        x = matrix.transpose() if rows > columns else matrix
        x = x / (x * x).sum().sqrt().clamp_min(self.epsilon)
        a, b, c = self.iteration
        for _ in range(self.steps):
            gram = x @ x.transpose()
            x = x * a + (gram * b + (gram @ gram) * c) @ x
        return x.transpose() if rows > columns else x

    def layout(self) -> Any:
        return {"momentum": {"velocity": "velocity"}}
