"""How many characters or words of a transcription are wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Self

from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata
from burn.train.metric.sequences import Texts, edit_distances, paired


@dataclass(frozen=True)
class CerInput:
    """Transcriptions (`outputs`) and references (`targets`): numbers (batch, length) for characters, or strings.

    >>> from burn.train.metric import CerInput, CharErrorRate, MetricMetadata
    >>> CharErrorRate().update(CerInput(["kitten"], ["sitting"]), MetricMetadata.fake()).formatted
    'epoch 42.86 % - batch 42.86 %'
    """

    outputs: Texts
    targets: Texts


@dataclass(frozen=True)
class WerInput:
    """Transcriptions (`outputs`) and references (`targets`): numbers (batch, length) for words, or strings.

    >>> from burn.train.metric import MetricMetadata, WerInput, WordErrorRate
    >>> WordErrorRate().update(WerInput(["the cat sat"], ["the cat sat down"]), MetricMetadata.fake()).formatted
    'epoch 25.00 % - batch 25.00 %'
    """

    outputs: Texts
    targets: Texts


class _ErrorRate(StateMetric[CerInput | WerInput]):
    """Edits for each token of the references, in percent; over an epoch, all edits by all tokens."""

    unit = "%"
    higher_is_better = False
    words: bool

    def __init__(self, name: str, pad_token: int | None) -> None:
        super().__init__(name)
        self.pad_token = pad_token

    def with_pad_token(self, index: int) -> Self:
        """Sequences end where the token `index` stands."""
        self.pad_token = index
        return self

    def update(self, item: CerInput | WerInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        given, wanted = paired(self._name, item.outputs, item.targets, self.pad_token, self.words)
        length = sum(map(len, wanted))
        edits = int(edit_distances(given, wanted).sum())
        if not length:
            return self.mean(0.0 if not edits else math.inf, 0)
        return self.mean(100.0 * edits / length, length)


class CharErrorRate(_ErrorRate):
    """The character error rate, in percent: the edit distance by the length of the reference. Can exceed 100.

    Sequences of token numbers end at `pad_token`.

    >>> from burn.train.metric import CerInput, CharErrorRate, MetricMetadata
    >>> metric = CharErrorRate(pad_token=0)
    >>> metric.update(CerInput([[3, 4, 5, 0]], [[3, 4, 6, 7]]), MetricMetadata.fake()).formatted
    'epoch 50.00 % - batch 50.00 %'
    """

    input_type: ClassVar[type | None] = CerInput
    words = False

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__("CER", pad_token)


class WordErrorRate(_ErrorRate):
    """The word error rate, in percent: the edit distance in words by the length of the reference. Can exceed 100.

    Sequences of token numbers end at `pad_token`.

    >>> from burn.train.metric import MetricMetadata, WerInput, WordErrorRate
    >>> WordErrorRate().update(WerInput(["a b c"], ["a x c"]), MetricMetadata.fake()).formatted
    'epoch 33.33 % - batch 33.33 %'
    """

    input_type: ClassVar[type | None] = WerInput
    words = True

    def __init__(self, pad_token: int | None = None) -> None:
        super().__init__("WER", pad_token)
