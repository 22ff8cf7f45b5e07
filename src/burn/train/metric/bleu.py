"""BLEU: how many runs of words a translation shares with its reference."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from burn.errors import ArgumentError
from burn.train.metric.host import Array
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata
from burn.train.metric.sequences import Texts, paired


@dataclass(frozen=True)
class BleuInput:
    """Translations (`outputs`) and references (`targets`), one for each: token numbers (batch, length), or strings.

    >>> from burn.train.metric import BleuInput, BleuScore, MetricMetadata
    >>> batch = BleuInput(["the cat sat on the mat"], ["the cat sat on a mat"])
    >>> BleuScore(max_n=2).update(batch, MetricMetadata.fake()).formatted
    'epoch 70.71 % - batch 70.71 %'
    """

    outputs: Texts
    targets: Texts


@dataclass(frozen=True)
class BleuSmoothing:
    """What stands for a length of runs of which none is shared: without it the score is 0 then.

    `BleuSmoothing.Nothing()`, `BleuSmoothing.AddEpsilon(0.1)` (its `kind` and `epsilon`), `BleuSmoothing.Exponential()`
    (halves each time).

    >>> from burn.train.metric import BleuInput, BleuScore, BleuSmoothing, MetricMetadata
    >>> batch = BleuInput(["the cat sat"], ["the cat slept"])
    >>> BleuScore(max_n=3).update(batch, MetricMetadata.fake()).formatted
    'epoch 0.00 % - batch 0.00 %'
    >>> BleuScore(max_n=3, smoothing=BleuSmoothing.Exponential()).update(batch, MetricMetadata.fake()).formatted
    'epoch 55.03 % - batch 55.03 %'
    """

    kind: str
    epsilon: float = 0.0

    @staticmethod
    def Nothing() -> BleuSmoothing:
        """No smoothing."""
        return BleuSmoothing("Nothing")

    @staticmethod
    def AddEpsilon(epsilon: float) -> BleuSmoothing:
        """As if a small part of a run were shared."""
        return BleuSmoothing("AddEpsilon", epsilon)

    @staticmethod
    def Exponential() -> BleuSmoothing:
        """A half of a run for the first length without a match, a quarter for the next, and so on."""
        return BleuSmoothing("Exponential")


class BleuScore(StateMetric[BleuInput]):
    """The BLEU score with runs of up to `max_n` tokens, in percent; over an epoch, of its texts as one corpus.

    Sequences of token numbers end at `pad_token`. `smoothing` is for short texts.

    >>> from burn.train.metric import BleuInput, BleuScore, MetricMetadata
    >>> batch = BleuInput([[5, 6, 7, 8, 0], [5, 6, 9, 0, 0]], [[5, 6, 7, 8, 0], [5, 6, 7, 9, 0]])
    >>> BleuScore(max_n=2, pad_token=0).update(batch, MetricMetadata.fake()).formatted
    'epoch 77.54 % - batch 77.54 %'
    """

    input_type: ClassVar[type | None] = BleuInput
    unit = "%"

    def __init__(self, max_n: int = 4, *, pad_token: int | None = None, smoothing: BleuSmoothing | None = None) -> None:
        if max_n < 1:
            raise ArgumentError(f"BleuScore: max_n = {max_n}, the longest run that counts, is at least 1")
        super().__init__(f"BLEU-{max_n}")
        self.max_n = max_n
        self.pad_token = pad_token
        self.smoothing = smoothing or BleuSmoothing.Nothing()
        self._epoch = self._nothing()

    @classmethod
    def with_max_n(cls, max_n: int) -> BleuScore:
        """With runs of up to `max_n` tokens."""
        return cls(max_n)

    def with_pad_token(self, index: int) -> Self:
        """Sequences end where the token `index` stands."""
        self.pad_token = index
        return self

    def with_smoothing(self, smoothing: BleuSmoothing) -> Self:
        """What stands for lengths without a match."""
        self.smoothing = smoothing
        return self

    def update(self, item: BleuInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        given, wanted = paired(self._name, item.outputs, item.targets, self.pad_token, words=True)
        batch = self._nothing()
        for output, target in zip(given, wanted):
            batch[0] += len(output), len(target)
            for n in range(1, self.max_n + 1):
                runs, reference = _runs(output, n), _runs(target, n)
                batch[n] += sum((runs & reference).values()), sum(runs.values())
        self._epoch += batch
        return self.totals(self._score(batch), self._score(self._epoch), len(given))

    def clear(self) -> None:
        """Forget the epoch."""
        super().clear()
        self._epoch = self._nothing()

    def _nothing(self) -> Array:
        """The lengths of translations and of references, then for each n the shared runs and all runs."""
        return np.zeros((1 + self.max_n, 2), np.int64)

    def _score(self, counts: Array) -> float:
        (output, target), *runs = counts.tolist()
        if not all(total for _, total in runs):
            return 0.0
        logarithms, halves = 0.0, 1.0
        for found, total in runs:
            if found:
                share = found / total
            elif self.smoothing.kind == "Exponential":
                halves *= 2.0
                share = 1.0 / (halves * total)
            else:
                share = self.smoothing.epsilon / total
            if not share:
                return 0.0
            logarithms += math.log(share)
        brevity = math.exp(1.0 - target / output) if output < target else 1.0
        return 100.0 * brevity * math.exp(logarithms / self.max_n)


def _runs(tokens: list[Any], n: int) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(tokens[at:] for at in range(n))))
