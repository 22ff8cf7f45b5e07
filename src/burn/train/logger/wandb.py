"""Numbers for an object with `log(dict, step=...)`: a run of Weights & Biases, and everything shaped like one.

builder.loggers([WandbLogger(wandb.init(project="digits"))])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from burn.errors import ArgumentError
from burn.train.logger.protocol import RunLogger, checked_every
from burn.train.store import Split


class WandbLogger(RunLogger):
    """Hands numbers on to `run.log(values, step=...)`: a run of Weights & Biases, and everything shaped like one.

    Every `every`-th training batch and every epoch is handed on, as `train/Loss`, `valid/Loss` and `epoch/train/Loss`.
    Such services ask for steps that never go back, so validation batches are not handed on, only their epochs.

    >>> from burn.train import Split, WandbLogger
    >>> class Run:  # wandb.init(project="digits")
    ...     def log(self, values, step): print(step, values)
    >>> logger = WandbLogger(Run())
    >>> logger.log_batch(Split.Train, 1, 7, {"Loss": 0.5})
    7 {'train/Loss': 0.5}
    """

    def __init__(self, run: Any, every: int = 1) -> None:
        if not callable(getattr(run, "log", None)):
            raise ArgumentError(f"WandbLogger: needs an object with log(values, step=...), got {type(run).__name__}")
        self.run, self.every = run, checked_every("WandbLogger", every)

    def log_batch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Hand a training batch on."""
        if split is Split.Train and step % self.every == 0:
            self.run.log({f"train/{name}": value for name, value in values.items()}, step=step)

    def log_epoch(self, split: Split, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Hand an epoch on."""
        found = {f"epoch/{split.value}/{name}": value for name, value in values.items()}
        self.run.log({**found, "epoch": epoch}, step=step)
