"""How many words a language model hesitates between."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from burn.train.metric.host import Values, scores_and_classes
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class PerplexityInput:
    """Logits (`outputs`: tokens, vocabulary) and the right tokens (`targets`); both may have a dim of batches before.

    >>> from burn.train.metric import MetricMetadata, PerplexityInput, PerplexityMetric
    >>> batch = PerplexityInput(np.zeros((2, 3, 10)), np.ones((2, 3), int))
    >>> PerplexityMetric().update(batch, MetricMetadata.fake()).formatted
    'epoch 10.00 - batch 10.00'
    """

    outputs: Values
    targets: Values


class PerplexityMetric(StateMetric[PerplexityInput]):
    """The exponential of the mean negative log-likelihood of the right tokens; over an epoch, of all its tokens.

    Tokens whose target is `pad_token` are left out.

    >>> from burn.train.metric import MetricMetadata, PerplexityInput, PerplexityMetric
    >>> metric = PerplexityMetric(pad_token=0)
    >>> metric.update(PerplexityInput([[0.0, 2.0], [0.0, 0.0], [5.0, 0.0]], [1, 1, 0]), MetricMetadata.fake()).formatted
    'epoch 1.507 - batch 1.507'
    """

    input_type: ClassVar[type | None] = PerplexityInput
    higher_is_better = False
    significant = 4

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__("Perplexity")
        self.pad_token = pad_token
        self._total = 0.0
        self._tokens = 0

    def with_pad_token(self, index: int) -> Self:
        """Leave out the token `index`."""
        self.pad_token = index
        return self

    def update(self, item: PerplexityInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        logits, tokens = scores_and_classes(self._name, item.outputs, item.targets)
        if self.pad_token is not None:
            kept = tokens != self.pad_token
            logits, tokens = logits[kept], tokens[kept]
        count = len(tokens)
        if count:
            highest = logits.max(1)
            sums = np.exp(logits - highest[:, None]).sum(1, dtype=np.float64)
            right = logits[np.arange(count), tokens].astype(np.float64)
            batch = float((np.log(sums) + highest - right).sum())
            self._total += batch
            self._tokens += count
        current = _exponential(batch / count) if count else math.nan
        running = _exponential(self._total / self._tokens) if self._tokens else math.nan
        return self.totals(current, running, count)

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self._total, self._tokens = 0.0, 0


def _exponential(value: float) -> float:
    return math.exp(value) if value < 709.0 else math.inf
