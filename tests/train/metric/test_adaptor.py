"""Outputs become inputs of metrics, and the error says what to write where they do not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import burn
from burn import Autodiff, NdArray, Tensor
from burn.train.metric import (
    AccuracyInput,
    AccuracyMetric,
    Adaptor,
    AdaptorError,
    AurocMetric,
    BleuScore,
    CharErrorRate,
    ConfusionMatrixMetric,
    CpuUse,
    FBetaScoreMetric,
    HammingScore,
    LossInput,
    LossMetric,
    MeanSquaredErrorMetric,
    MetricMetadata,
    PerplexityMetric,
    PrecisionMetric,
    R2ScoreMetric,
    TopKAccuracyMetric,
    adapt,
    check_adaptors,
    register_adaptor,
)
from burn.train.output import (
    ClassificationOutput,
    MultiLabelClassificationOutput,
    RegressionOutput,
    SequenceOutput,
)


@dataclass
class PlainOutput:
    loss: Tensor


@dataclass
class OwnOutput:
    loss: Tensor

    def adapt(self, input_type):
        return LossInput(self.loss) if input_type is LossInput else NotImplemented


def tensor(values) -> Tensor:
    return burn.tensor(np.asarray(values), device=NdArray())


def classification() -> ClassificationOutput:
    return ClassificationOutput(tensor([0.5]), tensor([[0.1, 0.9], [0.8, 0.2]]), tensor([1, 1]))


OUTPUTS = [
    (classification(), [LossMetric(), AccuracyMetric(), TopKAccuracyMetric(1), PrecisionMetric.multiclass(),
                        AurocMetric.binary(), ConfusionMatrixMetric(), PerplexityMetric()]),
    (MultiLabelClassificationOutput(tensor([0.5]), tensor([[0.1, 0.9]]), tensor([[0, 1]])),
     [LossMetric(), HammingScore(), FBetaScoreMetric.multilabel(), AurocMetric.multilabel()]),
    (RegressionOutput(tensor([0.5]), tensor([[1.0], [2.0]]), tensor([[1.0], [3.0]])),
     [LossMetric(), MeanSquaredErrorMetric(), R2ScoreMetric()]),
    (SequenceOutput(tensor([0.5]), tensor(np.eye(4)[None]), tensor([[0, 1, 2, 3]])),
     [LossMetric(), AccuracyMetric(), PerplexityMetric(), CharErrorRate(), BleuScore()]),
]  # fmt: skip


@pytest.mark.parametrize("output, metrics", OUTPUTS, ids=lambda each: type(each).__name__)
def test_an_output_serves_its_metrics(output, metrics) -> None:
    check_adaptors(output, metrics)
    for metric in metrics:
        assert metric.update(adapt(output, metric), MetricMetadata.fake()).formatted
    assert isinstance(output, Adaptor)
    assert isinstance(output.adapt(LossInput), LossInput)


def test_values_go_through_an_output() -> None:
    metric = AccuracyMetric()
    metric.update(adapt(classification(), metric), MetricMetadata.fake())
    assert metric.value() == 50.0
    sequence, rate = OUTPUTS[3][0], CharErrorRate()
    rate.update(adapt(sequence, rate), MetricMetadata.fake())
    assert rate.value() == 0.0


def test_a_metric_of_the_machine_needs_no_output() -> None:
    assert adapt(object(), CpuUse()) is None


def test_an_output_with_a_method_of_its_own_is_asked() -> None:
    assert adapt(OwnOutput(tensor([1.0])), LossMetric()).tensor.item() == 1.0
    with pytest.raises(AdaptorError, match="'Accuracy'"):
        adapt(OwnOutput(tensor([1.0])), AccuracyMetric())


def test_a_registered_function_serves_subclasses_too() -> None:
    class Base(PlainOutput):
        pass

    class Derived(Base):
        pass

    with pytest.raises(AdaptorError):
        adapt(Derived(tensor([2.0])), LossMetric())

    @register_adaptor(Base, LossInput)
    def loss_of(output: Base) -> LossInput:
        return LossInput(output.loss)

    assert adapt(Derived(tensor([2.0])), LossMetric()).tensor.item() == 2.0


def test_an_input_is_taken_as_it_is() -> None:
    item = AccuracyInput(tensor([[0.0, 1.0]]), tensor([1]))
    assert adapt(item, AccuracyMetric()) is item


def test_the_error_names_every_metric_that_cannot_read_the_output() -> None:
    with pytest.raises(AdaptorError) as error:
        check_adaptors(PlainOutput(tensor([1.0])), [LossMetric(), CpuUse(), AccuracyMetric()])
    text = str(error.value)
    assert "metric 'Loss': needs LossInput, and PlainOutput does not adapt to it" in text
    assert "metric 'Accuracy': needs AccuracyInput" in text
    assert "register_adaptor(PlainOutput, LossInput, lambda output: LossInput(...))" in text


def test_sync_leaves_graph_and_device() -> None:
    device = Autodiff(NdArray())
    loss = burn.tensor([1.0], device=device).require_grad() * 2
    output = ClassificationOutput(loss, burn.tensor([[1.0, 2.0]], device=device), tensor([1]))
    synced = output.sync(NdArray())
    assert isinstance(synced, ClassificationOutput)
    assert [each.device for each in (synced.loss, synced.output, synced.targets)] == [NdArray()] * 3
    assert synced.loss.item() == 2.0
