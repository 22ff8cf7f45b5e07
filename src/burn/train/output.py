"""Outputs of steps that the metrics know how to read.

    return ClassificationOutput(loss, output, targets)

Each is a plain dataclass: it passes through captured steps, moves with `to_device`, and an output of your own that
inherits from one is read by the same metrics. `register_adaptor` teaches further inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np

from burn.device import Device
from burn.tensor import Tensor
from burn.train.metric.accuracy import AccuracyInput, TopKAccuracyInput
from burn.train.metric.adaptor import register_adaptor, registered
from burn.train.metric.bleu import BleuInput
from burn.train.metric.classification import ConfusionStatsInput
from burn.train.metric.error_rate import CerInput, WerInput
from burn.train.metric.hamming import HammingScoreInput
from burn.train.metric.host import host
from burn.train.metric.loss import LossInput
from burn.train.metric.perplexity import PerplexityInput
from burn.train.metric.ranking import RankingInput
from burn.train.metric.regression import RegressionInput
from burn.train.metric.rouge import RougeLInput
from burn.tree import map_leaves

T = TypeVar("T")


class StepOutput:
    """What the outputs have in common: they adapt by what is registered for their class, and leave the device."""

    def adapt(self, input_type: type[T]) -> T:
        """The input of that class (`input_type`); NotImplemented where none is registered."""
        function = registered(type(self), input_type)
        return NotImplemented if function is None else function(self)

    def sync(self, device: Device | None = None) -> Self:
        """Without a graph, and on `device` if one is given: fit for another thread."""

        def move(leaf: Any) -> Any:
            if not isinstance(leaf, Tensor):
                return leaf
            leaf = leaf.no_grad()
            return leaf if device is None else leaf.to_device(device)

        moved: Self = map_leaves(move, self)
        return moved


@dataclass
class ClassificationOutput(StepOutput):
    """The `loss`, scores (`output`: items, classes) and the right classes (`targets`: items).

    What a step returns for `LossMetric`, `AccuracyMetric` and the other metrics of classes to read. Two classes may
    share one column of scores.

    >>> from burn.train import AccuracyMetric, ClassificationOutput
    >>> from burn.train.metric import MetricMetadata, adapt
    >>> scores, classes = burn.tensor([[2.0, 0.0], [0.0, 1.0]]), burn.tensor([0, 0])
    >>> item = ClassificationOutput(nn.CrossEntropyLoss()(scores, classes), scores, classes)
    >>> AccuracyMetric().update(adapt(item, AccuracyMetric()), MetricMetadata.fake()).formatted
    'epoch 50.00 % - batch 50.00 %'
    """

    loss: Tensor
    output: Tensor
    targets: Tensor


@dataclass
class MultiLabelClassificationOutput(StepOutput):
    """The `loss`, scores (`output`) and what is true (`targets`), both (items, labels).

    >>> from burn.train import HammingScore, MultiLabelClassificationOutput
    >>> from burn.train.metric import MetricMetadata, adapt
    >>> scores, truth = burn.tensor([[0.9, 0.1], [0.2, 0.7]]), burn.tensor([[1, 0], [1, 1]])
    >>> item = MultiLabelClassificationOutput(burn.tensor(0.3), scores, truth)
    >>> HammingScore().update(adapt(item, HammingScore()), MetricMetadata.fake()).formatted
    'epoch 75.00 % - batch 75.00 %'
    """

    loss: Tensor
    output: Tensor
    targets: Tensor


@dataclass
class RegressionOutput(StepOutput):
    """The `loss`, predictions (`output`) and the truth (`targets`), both of one shape.

    >>> from burn.train import MeanAbsoluteErrorMetric, RegressionOutput
    >>> from burn.train.metric import MetricMetadata, adapt
    >>> output, targets = burn.tensor([1.0, 2.0]), burn.tensor([1.5, 2.0])
    >>> item = RegressionOutput(((output - targets) ** 2).mean(), output, targets)
    >>> metric = MeanAbsoluteErrorMetric()
    >>> metric.update(adapt(item, metric), MetricMetadata.fake()).formatted
    'epoch 0.2500 - batch 0.2500'
    """

    loss: Tensor
    output: Tensor
    targets: Tensor


@dataclass
class SequenceOutput(StepOutput):
    """The `loss`, `logits` (batch, length, vocabulary) and the right tokens (`targets`: batch, length).

    `predictions` (batch, length) are decoded tokens, where the most likely ones are not what is meant.

    >>> from burn.train import SequenceOutput
    >>> logits = burn.tensor([[[0.1, 0.9], [0.8, 0.2]]])
    >>> SequenceOutput(burn.tensor(0.5), logits, burn.tensor([[1, 0]])).tokens().tolist()
    [[1, 0]]
    """

    loss: Tensor
    logits: Tensor
    targets: Tensor
    predictions: Tensor | None = None

    def tokens(self) -> Any:
        """The predictions; the most likely tokens where there are none."""
        return host(self.logits).argmax(-1) if self.predictions is None else np.asarray(self.predictions)


for _output in (ClassificationOutput, MultiLabelClassificationOutput, RegressionOutput, SequenceOutput):
    register_adaptor(_output, LossInput, lambda output: LossInput(output.loss))

for _scores in (AccuracyInput, TopKAccuracyInput, ConfusionStatsInput, RankingInput, PerplexityInput):
    register_adaptor(ClassificationOutput, _scores, lambda each, kind=_scores: kind(each.output, each.targets))
register_adaptor(ClassificationOutput, HammingScoreInput, lambda each: HammingScoreInput(each.output, each.targets))

for _labels in (HammingScoreInput, ConfusionStatsInput, RankingInput):
    register_adaptor(
        MultiLabelClassificationOutput, _labels, lambda each, kind=_labels: kind(each.output, each.targets)
    )

register_adaptor(RegressionOutput, RegressionInput, lambda each: RegressionInput(each.output, each.targets))

for _words in (AccuracyInput, TopKAccuracyInput, ConfusionStatsInput, PerplexityInput):
    register_adaptor(SequenceOutput, _words, lambda each, kind=_words: kind(each.logits, each.targets))
for _texts in (CerInput, WerInput, BleuInput, RougeLInput):
    register_adaptor(SequenceOutput, _texts, lambda each, kind=_texts: kind(each.tokens(), each.targets))
