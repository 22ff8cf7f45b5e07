"""Metrics of classes and labels against scikit-learn, over epochs of batches of different sizes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from burn import Cpu, NdArray
from burn.errors import ArgumentError, ShapeError
from burn.train.metric import (
    AccuracyInput,
    AccuracyMetric,
    ClassReduction,
    ConfusionMatrixMetric,
    ConfusionStatsInput,
    FBetaScoreMetric,
    HammingScore,
    HammingScoreInput,
    MetricMetadata,
    PrecisionMetric,
    RecallMetric,
    TopKAccuracyInput,
    TopKAccuracyMetric,
)
from tests.train.metric.epochs import TOTAL, epoch, once, scores

sklearn = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn to compare with")
Micro, Macro = ClassReduction.Micro, ClassReduction.Macro


def labels(seed: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Logits and truths (items, 5); the last label is rare."""
    random = np.random.default_rng(seed)
    truth = random.random((TOTAL, 5)) < [0.5, 0.4, 0.3, 0.2, 0.05]
    return (random.normal(0, 1, truth.shape) + truth).astype(np.float32), truth


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=repr)
def test_accuracy(device) -> None:
    logits, targets = scores(4)
    value = epoch(AccuracyMetric(), AccuracyInput, logits, targets, device=device)
    assert value == pytest.approx(100 * sklearn.accuracy_score(targets, logits.argmax(1)))


def test_accuracy_without_padding() -> None:
    logits, targets = scores(4)
    kept = targets != 2
    value = epoch(AccuracyMetric(pad_token=2), AccuracyInput, logits, targets)
    assert value == pytest.approx(100 * sklearn.accuracy_score(targets[kept], logits.argmax(1)[kept]))
    assert AccuracyMetric().with_pad_token(2).pad_token == 2


def test_a_batch_of_padding_alone_has_no_accuracy_and_changes_none() -> None:
    metric = AccuracyMetric(pad_token=0)
    assert once(metric, AccuracyInput(np.eye(3), np.array([0, 1, 1]))) == 50.0
    assert math.isnan(once(metric, AccuracyInput(np.eye(3), np.zeros(3, int))))
    assert metric.running_value() == 50.0


def test_sequences_count_as_their_items() -> None:
    logits = np.eye(4)[None].repeat(2, 0)
    assert once(AccuracyMetric(), AccuracyInput(logits, np.array([[0, 1, 2, 3], [0, 0, 0, 0]]))) == 62.5


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("digits", [None, 0], ids=["distinct", "ties"])
def test_top_k_accuracy(k: int, digits: int | None) -> None:
    logits, targets = scores(6, digits=digits)
    metric = TopKAccuracyMetric(k)
    assert metric.name() == f"Top-K Accuracy @ TopK({k})"
    order = np.argsort(-logits, 1, kind="stable")[:, :k]
    expected = 100 * (order == targets[:, None]).any(1).mean()
    if digits is None:
        assert expected == pytest.approx(100 * sklearn.top_k_accuracy_score(targets, logits, k=k, labels=range(6)))
    assert epoch(metric, TopKAccuracyInput, logits, targets) == pytest.approx(expected)


def test_scores_that_are_not_numbers_are_never_right() -> None:
    assert once(TopKAccuracyMetric(2), TopKAccuracyInput(np.full((3, 3), np.nan), np.array([0, 1, 2]))) == 0.0


METRICS = [
    (PrecisionMetric, {}, lambda *a, **k: sklearn.precision_score(*a, zero_division=0, **k), "Precision"),
    (RecallMetric, {}, lambda *a, **k: sklearn.recall_score(*a, zero_division=0, **k), "Recall"),
    (FBetaScoreMetric, {"beta": 1.0}, lambda *a, **k: sklearn.f1_score(*a, zero_division=0, **k), "FBetaScore (1.0)"),
    (
        FBetaScoreMetric,
        {"beta": 2.0},
        lambda *a, **k: sklearn.fbeta_score(*a, beta=2, zero_division=0, **k),
        "FBetaScore (2.0)",
    ),
]
NAMES = [name for *_, name in METRICS]


@pytest.mark.parametrize("metric, arguments, reference, title", METRICS, ids=NAMES)
@pytest.mark.parametrize("reduction", [Micro, Macro])
def test_multiclass(metric, arguments, reference, title, reduction) -> None:
    logits, targets = scores(5)
    made = metric.multiclass(**arguments, top_k=1, class_reduction=reduction)
    assert made.name() == f"{title} @ TopK(1) [{reduction.name}]"
    expected = 100 * reference(targets, logits.argmax(1), average=reduction.name.lower())
    assert epoch(made, ConfusionStatsInput, logits, targets) == pytest.approx(expected)
    one_hot = targets[:, None] == np.arange(5)
    assert epoch(made, ConfusionStatsInput, logits, one_hot) == pytest.approx(expected)
    per_class = 100 * reference(targets, logits.argmax(1), average=None)
    np.testing.assert_allclose(made.per_class(), per_class)


@pytest.mark.parametrize("metric, arguments, reference, title", METRICS, ids=NAMES)
def test_a_class_that_is_never_predicted_counts_and_one_that_never_occurs_does_not(
    metric, arguments, reference, title
) -> None:
    logits, targets = scores(6)
    targets = np.where(targets == 5, 0, targets)
    logits[:, [2, 5]] = -9.0
    value = epoch(metric.multiclass(**arguments), ConfusionStatsInput, logits, targets)
    assert value == pytest.approx(100 * reference(targets, logits.argmax(1), average="macro"))


@pytest.mark.parametrize("metric, arguments, reference, title", METRICS, ids=NAMES)
@pytest.mark.parametrize("reduction", [Micro, Macro])
def test_several_predictions_for_each_item(metric, arguments, reference, title, reduction) -> None:
    logits, targets = scores(5)
    predicted = np.zeros(logits.shape, bool)
    np.put_along_axis(predicted, np.argsort(-logits, 1)[:, :2], True, 1)
    expected = 100 * reference(targets[:, None] == np.arange(5), predicted, average=reduction.name.lower())
    made = metric.multiclass(**arguments, top_k=2, class_reduction=reduction)
    assert epoch(made, ConfusionStatsInput, logits, targets) == pytest.approx(expected)


@pytest.mark.parametrize("metric, arguments, reference, title", METRICS, ids=NAMES)
@pytest.mark.parametrize("threshold", [0.5, 0.7])
def test_binary(metric, arguments, reference, title, threshold) -> None:
    logits, truth = labels()
    column, wanted = logits[:, :1], truth[:, 0].astype(np.int64)
    probability = sigmoid(column).astype(np.float32)
    made = metric.binary(**arguments, threshold=threshold)
    assert made.name() == f"{title} @ Threshold({threshold}) [Macro]"
    expected = 100 * reference(wanted, probability[:, 0] > threshold)
    assert epoch(made, ConfusionStatsInput, probability, wanted) == pytest.approx(expected)
    from_logits = metric.binary(**arguments, threshold=threshold, sigmoid=True)
    assert epoch(from_logits, ConfusionStatsInput, column, wanted[:, None]) == pytest.approx(expected)


@pytest.mark.parametrize("metric, arguments, reference, title", METRICS, ids=NAMES)
@pytest.mark.parametrize("reduction", [Micro, Macro])
def test_multilabel(metric, arguments, reference, title, reduction) -> None:
    logits, truth = labels()
    expected = 100 * reference(truth, sigmoid(logits) > 0.6, average=reduction.name.lower())
    made = metric.multilabel(**arguments, threshold=0.6, class_reduction=reduction, sigmoid=True)
    assert epoch(made, ConfusionStatsInput, logits, truth) == pytest.approx(expected)


def test_counts_of_an_epoch_are_kept() -> None:
    logits, truth = labels()
    metric = RecallMetric.multilabel(0.0)
    epoch(metric, ConfusionStatsInput, logits, truth)
    cells = sklearn.multilabel_confusion_matrix(truth, logits > 0)
    np.testing.assert_array_equal(metric.stats.true_negative, cells[:, 0, 0])
    np.testing.assert_array_equal(metric.stats.false_positive, cells[:, 0, 1])
    np.testing.assert_array_equal(metric.stats.false_negative, cells[:, 1, 0])
    np.testing.assert_array_equal(metric.stats.true_positive, cells[:, 1, 1])


def test_hamming_score() -> None:
    logits, truth = labels()
    value = epoch(HammingScore().with_sigmoid(True), HammingScoreInput, logits, truth)
    assert value == pytest.approx(100 * (1 - sklearn.hamming_loss(truth, sigmoid(logits) > 0.5)))
    metric = HammingScore().with_threshold(0.2)
    assert metric.name() == "Hamming Score @ Threshold(0.2)"
    value = epoch(metric, HammingScoreInput, logits, truth.astype(np.int64))
    assert value == pytest.approx(100 * (1 - sklearn.hamming_loss(truth, logits > 0.2)))


def test_confusion_matrix() -> None:
    logits, targets = scores(4)
    metric = ConfusionMatrixMetric(["ant", "bee", "cat", "dog"])
    metric.running_value = lambda: metric.matrix
    matrix = epoch(metric, AccuracyInput, logits, targets)
    np.testing.assert_array_equal(matrix, sklearn.confusion_matrix(targets, logits.argmax(1)))
    entry = metric.update(AccuracyInput(logits[:1], targets[:1]), MetricMetadata.fake())
    assert entry.serialize == f"[[{targets[0]},{logits[0].argmax()},1]]"
    assert "% on the diagonal, most often" in entry.formatted
    metric.clear()
    assert metric.matrix.size == 0


def test_a_confusion_matrix_as_text() -> None:
    metric = ConfusionMatrixMetric(["no", "maybe", "yes"])
    metric.update(AccuracyInput(np.eye(3)[[0, 1, 2, 2]], np.array([0, 1, 2, 0])), MetricMetadata.fake())
    assert metric.table() == (
        "       no  maybe  yes\n"
        "no      1      0    1\n"
        "maybe   0      1    0\n"
        "yes     0      0    1"
    )  # fmt: skip


@pytest.mark.parametrize(
    "make, message",
    [
        (lambda: TopKAccuracyMetric(0), "k = 0"),
        (lambda: PrecisionMetric.multiclass(0), "k = 0"),
        (lambda: FBetaScoreMetric.binary(0.0), "beta = 0.0"),
        (lambda: once(PrecisionMetric.multiclass(), ConfusionStatsInput(np.ones((3, 1)), np.ones(3, int))), "binary"),
        (lambda: once(ConfusionMatrixMetric(["a"]), AccuracyInput(np.eye(3), np.arange(3))), "1 class names for 3"),
    ],
)
def test_arguments_that_cannot_be_are_refused(make, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


@pytest.mark.parametrize(
    "metric, item, message",
    [
        (AccuracyMetric(), AccuracyInput(np.ones(3), np.ones(3)), r"\(items, classes\), got shape \(3,\)"),
        (AccuracyMetric(), AccuracyInput(np.ones((3, 1)), np.ones(3)), "use HammingScore"),
        (AccuracyMetric(), AccuracyInput(np.ones((3, 2)), np.ones(4)), r"\(4,\) targets do not fit"),
        (
            PrecisionMetric.binary(),
            ConfusionStatsInput(np.ones((3, 2)), np.ones(3, int)),
            r"use PrecisionMetric.multic",
        ),
        (RecallMetric.multilabel(), ConfusionStatsInput(np.ones((3, 2)), np.ones((3, 3))), "do not fit"),
        (HammingScore(), HammingScoreInput(np.ones((3, 2)), np.ones((2, 3))), "differ"),
    ],
)
def test_shapes_that_do_not_fit_are_named(metric, item, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        once(metric, item)
