"""Areas under curves against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from burn.errors import ShapeError
from burn.train.metric import AucPrMetric, AurocInput, AurocMetric, ClassReduction, MetricMetadata
from burn.train.progress import Progress
from tests.train.metric.epochs import TOTAL, epoch, once, probabilities, scores

sklearn = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn to compare with")
AREAS = [(AurocMetric, sklearn.roc_auc_score), (AucPrMetric, sklearn.average_precision_score)]


@pytest.mark.parametrize("metric, reference", AREAS, ids=["AUROC", "AUC-PR"])
@pytest.mark.parametrize("digits", [None, 0], ids=["distinct", "ties"])
def test_two_classes(metric, reference, digits: int | None) -> None:
    logits, targets = scores(2, digits=digits)
    expected = 100 * reference(targets, logits[:, 1] - logits[:, 0])
    assert epoch(metric.binary(), AurocInput, logits, targets) == pytest.approx(expected)
    assert epoch(metric.multiclass(), AurocInput, logits, targets) == pytest.approx(expected)
    column = (logits[:, 1] - logits[:, 0])[:, None]
    assert epoch(metric.binary(), AurocInput, column, targets) == pytest.approx(expected)
    assert epoch(metric.binary(), AurocInput, column[:, 0], targets) == pytest.approx(expected)


@pytest.mark.parametrize("given", ["logits", "probabilities"])
def test_each_class_against_the_rest(given: str) -> None:
    logits, targets = scores(4)
    shares = probabilities(logits)
    values = logits if given == "logits" else shares
    expected = 100 * sklearn.roc_auc_score(targets, shares, multi_class="ovr", average="macro")
    assert epoch(AurocMetric(), AurocInput, values, targets) == pytest.approx(expected)
    one_hot = targets[:, None] == np.arange(4)
    expected = 100 * sklearn.roc_auc_score(one_hot, shares, average="micro")
    made = AurocMetric.multiclass(ClassReduction.Micro)
    assert epoch(made, AurocInput, values, one_hot.astype(np.int64)) == pytest.approx(expected)
    expected = 100 * sklearn.average_precision_score(one_hot, shares, average="macro")
    assert epoch(AucPrMetric(), AurocInput, values, targets) == pytest.approx(expected)


@pytest.mark.parametrize("metric, reference", AREAS, ids=["AUROC", "AUC-PR"])
@pytest.mark.parametrize("reduction", ClassReduction)
def test_labels(metric, reference, reduction: ClassReduction) -> None:
    random = np.random.default_rng(1)
    truth = random.random((TOTAL, 3)) < 0.4
    logits = (random.normal(0, 1, truth.shape) + truth).astype(np.float32)
    expected = 100 * reference(truth, logits, average=reduction.name.lower())
    assert epoch(metric.multilabel(reduction), AurocInput, logits, truth) == pytest.approx(expected)


def test_a_batch_of_one_kind_is_worth_a_guess() -> None:
    metric = AurocMetric.binary()
    assert metric.name() == "AUROC [Macro]"
    assert once(metric, AurocInput(np.array([0.1, 0.9]), np.array([1, 1]))) == 50.0
    once(metric, AurocInput(np.array([0.0, 0.2]), np.array([0, 0])))
    assert metric.running_value() == 75.0


def test_a_long_epoch_is_exact_at_its_end_and_on_demand() -> None:
    random = np.random.default_rng(5)
    truth = random.integers(0, 2, 12000)
    values = (truth + random.normal(0, 2, 12000)).astype(np.float32)
    metric = AurocMetric.binary()
    for begin in range(0, 12000, 100):
        end = begin + 100
        item = AurocInput(values[begin:end], truth[begin:end])
        metric.update(item, MetricMetadata(Progress(end, 12000)))
        if end == 9000:
            assert metric.compute() == pytest.approx(100 * sklearn.roc_auc_score(truth[:end], values[:end]))
    assert metric.running_value() == pytest.approx(100 * sklearn.roc_auc_score(truth, values))


def test_what_is_kept_does_not_change_with_the_array_it_came_from() -> None:
    metric, values = AurocMetric.binary(), np.array([0.1, 0.9], np.float32)
    once(metric, AurocInput(values, np.array([0, 1])))
    values[:] = [0.9, 0.1]
    once(metric, AurocInput(np.array([0.2]), np.array([0])))
    assert metric.running_value() == 100.0


def test_shapes_that_do_not_fit_are_named() -> None:
    with pytest.raises(ShapeError, match=r"use AurocMetric.multiclass\(\) for 3 classes"):
        once(AurocMetric.binary(), AurocInput(np.ones((2, 3)), np.ones(2, int)))
    with pytest.raises(ShapeError, match=r"got \(2, 3\) and \(3,\)"):
        once(AurocMetric(), AurocInput(np.ones((2, 3)), np.ones(3, int)))
    with pytest.raises(ShapeError, match="3 labels need targets"):
        once(AurocMetric.multilabel(), AurocInput(np.ones((2, 3)), np.ones(2, int)))
