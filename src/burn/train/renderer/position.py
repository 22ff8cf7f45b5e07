"""Where a training is, in the items of all its epochs: what a gauge of the whole needs."""

from __future__ import annotations

from burn.train.progress import TrainingProgress
from burn.train.renderer.protocol import TrainingPlan


def items_of_training(plan: TrainingPlan) -> int:
    """Items of all epochs, to train on and to validate with."""
    return plan.epoch_total * (plan.train_items + plan.valid_items)


def items_before(plan: TrainingPlan) -> int:
    """Items of the epochs that an earlier run has done."""
    return (plan.first_epoch - 1) * (plan.train_items + plan.valid_items)


def items_done(plan: TrainingPlan, split: str, progress: TrainingProgress) -> int:
    """Items of the whole training done at this place of a split, `train` or `valid`."""
    before = (progress.epoch - 1) * (plan.train_items + plan.valid_items)
    return before + (plan.train_items if split == "valid" else 0) + progress.progress.items_processed


def epochs_done(progress: TrainingProgress) -> float:
    """The place on the axis of plots: 2.5 in the middle of the third epoch."""
    return progress.epoch - 1 + progress.progress.share
