"""Optimizers: from gradients to a better model.

optim = AdamConfig().init()
model = optim.step(1e-3, model, loss.backward())
"""

from typing import TYPE_CHECKING, Any

from burn.guesses import missing_name
from burn.module.groups import ParamGroup
from burn.optim.accumulator import GradientsAccumulator
from burn.optim.adagrad import AdaGrad, AdaGradConfig
from burn.optim.adam import Adam, AdamConfig
from burn.optim.adamw import AdamW, AdamWConfig
from burn.optim.adan import Adan, AdanConfig
from burn.optim.decay import WeightDecay, WeightDecayConfig
from burn.optim.gradients import GradientsParams
from burn.optim.lbfgs import LBFGS, Lbfgs, LBFGSConfig, LbfgsConfig, LineSearchFn
from burn.optim.momentum import Momentum, MomentumConfig
from burn.optim.muon import AdjustLrFn, Muon, MuonConfig
from burn.optim.optimizer import LearningRate, Optimizer
from burn.optim.rmsprop import RmsProp, RmsPropConfig
from burn.optim.sgd import Sgd, SgdConfig
from burn.optim.simple import SimpleOptimizer

ModuleOptimizer = Optimizer

__all__ = [
    "AdaGrad", "AdaGradConfig", "Adam", "AdamConfig", "AdamW", "AdamWConfig", "Adan", "AdanConfig", "AdjustLrFn",
    "GradientsAccumulator", "GradientsParams", "LBFGS", "LBFGSConfig", "Lbfgs", "LbfgsConfig", "LearningRate",
    "LineSearchFn", "ModuleOptimizer", "Momentum", "MomentumConfig", "Muon", "MuonConfig", "Optimizer", "ParamGroup",
    "RmsProp", "RmsPropConfig", "Sgd", "SgdConfig", "SimpleOptimizer", "WeightDecay", "WeightDecayConfig",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing_name(__name__, name, __all__)
