"""Every metric that is kept in the middle of an epoch goes on in another object as if nothing had happened."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import burn
from burn import NdArray
from burn.errors import ArgumentError
from burn.record.attributes import plain, unplain
from burn.train import metric as package
from burn.train.metric import (
    AccuracyInput,
    AccuracyMetric,
    AucPrMetric,
    AurocMetric,
    BleuInput,
    BleuScore,
    CerInput,
    CharErrorRate,
    ClassReduction,
    ConfusionMatrixMetric,
    ConfusionStatsInput,
    DiceInput,
    DiceMetric,
    FBetaScoreMetric,
    HammingScore,
    HammingScoreInput,
    ImagePairInput,
    LearningRateMetric,
    LossInput,
    LossMetric,
    MeanAbsoluteErrorMetric,
    MeanSquaredErrorMetric,
    Metric,
    MetricEntry,
    MetricMetadata,
    MsSsimMetric,
    NumericMetric,
    PerplexityInput,
    PerplexityMetric,
    PrecisionMetric,
    PsnrMetric,
    R2ScoreMetric,
    RankingInput,
    RecallMetric,
    RegressionInput,
    RootMeanSquaredErrorMetric,
    RougeLInput,
    RougeLScore,
    SsimMetric,
    SystemMetric,
    TopKAccuracyInput,
    TopKAccuracyMetric,
    WerInput,
    WordErrorRate,
)
from burn.train.progress import Progress
from tests.train.metric.epochs import scores

LOGITS, CLASSES = scores(4)
LABELS = np.random.default_rng(1).integers(0, 2, LOGITS.shape)
IMAGES = np.random.default_rng(2).random((48, 1, 32, 32)).astype(np.float32)
WORDS = [f"a{i % 3} b{i % 5} c d{i % 2} e" for i in range(48)]
OTHERS = [f"a{i % 4} b{i % 5} c e d{i % 2}" for i in range(48)]

KINDS: list[tuple[Any, Any, Any, Any]] = [
    (LossMetric, LossInput, np.abs(LOGITS[:, 0]), None),
    (AccuracyMetric, AccuracyInput, LOGITS, CLASSES),
    (lambda: TopKAccuracyMetric(2), TopKAccuracyInput, LOGITS, CLASSES),
    (lambda: PrecisionMetric.multiclass(1, ClassReduction.Macro), ConfusionStatsInput, LOGITS, CLASSES),
    (lambda: RecallMetric.multilabel(0.5), ConfusionStatsInput, LOGITS, LABELS),
    (lambda: FBetaScoreMetric.multiclass(2.0), ConfusionStatsInput, LOGITS, CLASSES),
    (ConfusionMatrixMetric, None, LOGITS, CLASSES),
    (AurocMetric.multiclass, RankingInput, LOGITS, CLASSES),
    (lambda: AucPrMetric.multilabel(ClassReduction.Micro), RankingInput, LOGITS, LABELS),
    (HammingScore, HammingScoreInput, LOGITS, LABELS),
    (PerplexityMetric, PerplexityInput, LOGITS, CLASSES),
    (MeanSquaredErrorMetric, RegressionInput, LOGITS, LOGITS[::-1]),
    (RootMeanSquaredErrorMetric, RegressionInput, LOGITS, LOGITS[::-1]),
    (MeanAbsoluteErrorMetric, RegressionInput, LOGITS, LOGITS[::-1]),
    (R2ScoreMetric, RegressionInput, LOGITS, LOGITS[::-1]),
    (DiceMetric, DiceInput, IMAGES > 0.5, IMAGES > 0.4),
    (PsnrMetric, ImagePairInput, IMAGES, IMAGES[::-1]),
    (SsimMetric, ImagePairInput, IMAGES, IMAGES[::-1]),
    (lambda: MsSsimMetric(betas=(0.5, 0.5)), ImagePairInput, IMAGES, IMAGES[::-1]),
    (BleuScore, BleuInput, WORDS, OTHERS),
    (RougeLScore, RougeLInput, WORDS, OTHERS),
    (CharErrorRate, CerInput, WORDS, OTHERS),
    (WordErrorRate, WerInput, WORDS, OTHERS),
    (LearningRateMetric, None, None, None),
]


def entries(metric: Any, kind: Any, first: Any, second: Any, places: range) -> list[MetricEntry]:
    found = []
    for place in places:
        part = slice(8 * place, 8 * place + 8)
        kind = kind or metric.input_type
        inputs = [each[part] for each in (first, second) if each is not None]
        item = kind(*inputs) if kind is not None else None
        found.append(metric.update(item, MetricMetadata(Progress(8 * place + 8, 48), lr=0.1 / (place + 3))))
    return found


@pytest.mark.parametrize("case", KINDS, ids=lambda case: case[0]().name())
def test_a_metric_goes_on_exactly(case: Any) -> None:
    make, *data = case
    whole, first, second = make(), make(), make()
    expected = entries(whole, *data, range(6))
    entries(first, *data, range(3))
    saved = json.loads(json.dumps(plain(first.epoch_state())))
    second.clear()
    second.load_epoch_state(unplain(saved))
    assert entries(second, *data, range(3, 6)) == expected[3:]
    if hasattr(whole, "running_value"):
        assert second.running_value() == whole.running_value()
    assert plain(second.epoch_state()) == plain(whole.epoch_state())


def test_all_kinds_are_tried() -> None:
    tried = {type(case[0]()) for case in KINDS}
    kinds = {each for each in vars(package).values() if isinstance(each, type) and issubclass(each, Metric)}
    concrete = {each for each in kinds if not each.__abstractmethods__ and not issubclass(each, SystemMetric)}
    assert {each.__name__ for each in concrete - tried} <= {"IterationSpeedMetric", "CudaMetric", "StateMetric"}


def test_a_metric_of_tensors_gets_them_back_on_its_device() -> None:
    class Sums(NumericMetric[Any]):
        def __init__(self) -> None:
            self.clear()

        def name(self) -> str:
            return "Sums"

        def clear(self) -> None:
            self.total: Any = None

        def update(self, item: Any, metadata: MetricMetadata) -> MetricEntry:
            self.total = item if self.total is None else self.total + item
            return MetricEntry("Sums", "", "0.0")

        def value(self) -> float:
            return float(self.total.sum().item())

    one, other = Sums(), Sums()
    one.update(burn.tensor([1.0, 0.1], device=NdArray()), MetricMetadata.fake())
    other.load_epoch_state(json.loads(json.dumps(one.epoch_state())), NdArray())
    other.update(burn.tensor([1.0, 1.0], device=NdArray()), MetricMetadata.fake())
    assert other.value() == np.float32(2.0) + (np.float32(0.1) + np.float32(1.0))


def test_what_cannot_be_kept_is_named() -> None:
    metric: Any = LossMetric()
    metric.source = open("/dev/null")  # noqa: SIM115
    with metric.source, pytest.raises(ArgumentError, match="a checkpoint cannot keep `source`, a TextIOWrapper"):
        metric.epoch_state()
