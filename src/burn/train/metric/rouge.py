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
    """Summaries (`outputs`) and references (`targets`), one for each: token numbers (batch, length), or strings.

    >>> from burn.train.metric import MetricMetadata, RougeLInput, RougeLScore
    >>> RougeLScore().update(RougeLInput(["the cat sat"], ["the old cat sat down"]), MetricMetadata.fake()).formatted
    'epoch 75.00 % - batch 75.00 %'
    """

    outputs: Texts
    targets: Texts


class RougeLScore(StateMetric[RougeLInput]):
    """The F1 score of the longest common subsequence of words, in percent: the mean over texts.

    Sequences of token numbers end at `pad_token`.

    >>> from burn.train.metric import MetricMetadata, RougeLInput, RougeLScore
    >>> metric = RougeLScore(pad_token=0)
    >>> metric.update(RougeLInput([[3, 4, 5, 0]], [[3, 5, 4, 6]]), MetricMetadata.fake()).formatted
    'epoch 57.14 % - batch 57.14 %'
    """

    input_type: ClassVar[type | None] = RougeLInput
    unit = "%"

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__("ROUGE-L")
        self.pad_token = pad_token

    def with_pad_token(self, index: int) -> Self:
        """Sequences end where the token `index` stands."""
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
