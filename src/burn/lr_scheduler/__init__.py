"""Learning-rate schedulers: a rate for each iteration."""

from typing import TYPE_CHECKING, Any

from burn.guesses import missing_name
from burn.lr_scheduler.base import ConstantLr, LrScheduler, LrSchedulerConfig, as_scheduler
from burn.lr_scheduler.composed import (
    ComposedLrScheduler,
    ComposedLrSchedulerConfig,
    SchedulerReduction,
    SequentialLrScheduler,
    SequentialLrSchedulerConfig,
    WarmupLrScheduler,
    WarmupLrSchedulerConfig,
)
from burn.lr_scheduler.cosine import CosineAnnealingLrScheduler, CosineAnnealingLrSchedulerConfig
from burn.lr_scheduler.exponential import ExponentialLrScheduler, ExponentialLrSchedulerConfig
from burn.lr_scheduler.linear import LinearLrScheduler, LinearLrSchedulerConfig
from burn.lr_scheduler.module import ModuleLrScheduler
from burn.lr_scheduler.noam import NoamLrScheduler, NoamLrSchedulerConfig
from burn.lr_scheduler.step import StepLrScheduler, StepLrSchedulerConfig

__all__ = [
    "ComposedLrScheduler", "ComposedLrSchedulerConfig", "ConstantLr", "CosineAnnealingLrScheduler",
    "CosineAnnealingLrSchedulerConfig", "ExponentialLrScheduler", "ExponentialLrSchedulerConfig", "LinearLrScheduler",
    "LinearLrSchedulerConfig", "LrScheduler", "LrSchedulerConfig", "ModuleLrScheduler", "NoamLrScheduler",
    "NoamLrSchedulerConfig", "SchedulerReduction", "SequentialLrScheduler", "SequentialLrSchedulerConfig",
    "StepLrScheduler", "StepLrSchedulerConfig", "WarmupLrScheduler", "WarmupLrSchedulerConfig", "as_scheduler",
]  # fmt: skip


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing_name(__name__, name, __all__)
