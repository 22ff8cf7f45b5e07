"""What the training and the dashboard say to each other: one JSON object a line, over two pipes.

To the dashboard go `plan`, `update`, `end`; back come `ready`, `stop`, `kill`. Data only: neither side runs anything
that it reads.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, BinaryIO

from burn.train.progress import Progress, TrainingProgress
from burn.train.renderer.protocol import TrainingPlan

Message = dict[str, Any]


def encode(message: Message) -> bytes:
    """One line. Values that are not finite travel as NaN and Infinity, which our reader takes."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(stream: BinaryIO) -> Iterator[Message]:
    """The messages of a stream until its other end is closed; a line that was cut by a death is left out."""
    for line in stream:
        if line.endswith(b"\n"):
            yield json.loads(line)


def plan_message(plan: TrainingPlan) -> Message:
    """What is to be done."""
    return {"kind": "plan", **asdict(plan)}


def plan_of(message: Message) -> TrainingPlan:
    """The plan of a message."""
    return TrainingPlan(
        epoch_total=int(message["epoch_total"]),
        first_epoch=int(message["first_epoch"]),
        train_items=int(message["train_items"]),
        valid_items=int(message["valid_items"]),
        train_metrics=tuple(message["train_metrics"]),
        valid_metrics=tuple(message["valid_metrics"]),
    )


def place_message(split: str, progress: TrainingProgress) -> list[Any]:
    """Where the training is."""
    inner = progress.progress
    numbers = (inner.items_processed, inner.items_total, progress.epoch, progress.epoch_total, progress.iteration)
    return [split, *numbers]


def place_of(values: list[Any]) -> tuple[str, TrainingProgress]:
    """The split, and how far it is."""
    split, done, total, epoch, epochs, iteration = values
    return str(split), TrainingProgress(Progress(done, total), epoch, epochs, iteration)
