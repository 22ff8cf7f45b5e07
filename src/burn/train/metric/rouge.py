"""ROUGE-L: how much of a text's order of words a summary keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata
from burn.train.metric.sequences import Texts, common_lengths, paired


@dataclass(frozen=True)
class RougeLInput:
    """Summaries and references, one for each: token numbers (batch, length), or strings."""

    outputs: Texts
    targets: Texts


class RougeLScore(StateMetric[RougeLInput]):
    """The F1 score of the longest common subsequence of words, in percent: the mean over texts."""

    input_type: ClassVar[type | None] = RougeLInput
    unit = "%"

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__("ROUGE-L")
        self.pad_token = pad_token

    def with_pad_token(self, index: int) -> Self:
        """Sequences end where this token stands."""
        self.pad_token = index
        return self

    def update(self, item: RougeLInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        given, wanted = paired(self._name, item.outputs, item.targets, self.pad_token, words=True)
        lengths = np.array([len(output) + len(target) for output, target in zip(given, wanted)], np.int64)
        shared = common_lengths(given, wanted)
        # Two empty texts are the same text.
        scores = np.where(lengths == 0, 1.0, 2.0 * shared / np.maximum(lengths, 1))
        return self.mean(100.0 * float(scores.sum()) / max(1, len(scores)), len(scores))
