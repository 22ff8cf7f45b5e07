"""Samples of the losses that are rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from burn.errors import DTypeError, IndexingError, ShapeError
from tests.ops.sample import Sample, call, integers, random, refused, samples


def _picked(logits: torch.Tensor, targets: torch.Tensor) -> Any:
    shares = torch.log_softmax(logits, -1)
    return -shares.gather(-1, targets.long().unsqueeze(-1)).squeeze(-1)


@samples("cross_entropy", oracle=_picked)
def _classes() -> Iterator[Sample]:
    yield call(random(3, 4), np.array([0, 3, 1]))
    yield call(random(5, 3).T, np.array([4, 0, 2]))
    yield call(random(2, 3, 6), integers(2, 3, low=0, high=6))
    yield call(random(8, 5, low=-40, high=40)[::2], np.array([1, 1, 0, 4]))
    yield call(random(7), np.array(2))
    yield call(random(3, 1), np.array([0, 0, 0]))
    yield call(random(0, 4), np.zeros((0,), np.int64))


refused("cross_entropy", random(2, 3), np.array([0, 1, 2]), error=ShapeError, match=r"must have the shape \(2,\)")
refused("cross_entropy", random(2, 3), random(2), error=DTypeError, match="int")
refused("cross_entropy", random(2, 3), np.array([0, 3]), error=IndexingError, match="class 3 is out of range")
