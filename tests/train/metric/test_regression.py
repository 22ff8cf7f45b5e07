"""Metrics of numbers and images: against scikit-learn, torchmetrics and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from burn.errors import ArgumentError, ShapeError
from burn.train.metric import (
    DiceInput,
    DiceMetric,
    MeanAbsoluteErrorMetric,
    MeanSquaredErrorMetric,
    MsSsimInput,
    MsSsimMetric,
    PsnrInput,
    PsnrMetric,
    R2ScoreMetric,
    RegressionInput,
    RootMeanSquaredErrorMetric,
    SsimInput,
    SsimMetric,
)
from tests.train.metric.epochs import TOTAL, epoch, once


def numbers(columns: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    targets = random.normal(1000, 3, (TOTAL, columns))
    return targets + random.normal(0, 1, targets.shape), targets


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(
    "metric, reference",
    [
        (MeanSquaredErrorMetric, "mean_squared_error"),
        (RootMeanSquaredErrorMetric, "root_mean_squared_error"),
        (MeanAbsoluteErrorMetric, "mean_absolute_error"),
        (R2ScoreMetric, "r2_score"),
    ],
)
def test_errors_of_numbers(metric, reference: str, columns: int) -> None:
    sklearn = pytest.importorskip("sklearn.metrics", reason="needs scikit-learn to compare with")
    outputs, targets = numbers(columns)
    if columns > 1 and reference == "root_mean_squared_error":
        expected = np.sqrt(sklearn.mean_squared_error(targets, outputs))
    else:
        expected = getattr(sklearn, reference)(targets, outputs)
    assert epoch(metric(), RegressionInput, outputs, targets) == pytest.approx(expected, rel=1e-9)


def test_a_column_and_a_row_of_numbers_are_brought_together_and_not_broadcast() -> None:
    outputs, targets = numbers(1)
    item = RegressionInput(outputs, targets[:, 0])
    assert once(MeanAbsoluteErrorMetric(), item) == pytest.approx(np.abs(outputs - targets).mean())
    with pytest.raises(ShapeError, match="differ"):
        once(MeanAbsoluteErrorMetric(), RegressionInput(np.ones((3, 2)), np.ones((2, 3))))


def test_the_score_of_equal_targets() -> None:
    assert once(R2ScoreMetric(), RegressionInput(np.ones(3), np.ones(3))) == 1.0
    assert once(R2ScoreMetric(), RegressionInput(np.arange(3.0), np.ones(3))) == 0.0


def images(count: int, channels: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(2)
    ramp = np.linspace(0, 1, size)
    targets = 0.5 + 0.4 * np.sin(9 * ramp[:, None] * ramp + random.uniform(0, 6, (count, channels, 1, 1)))
    return (targets + random.normal(0, 0.1, targets.shape)).clip(0, 1).astype(np.float32), targets.astype(np.float32)


def test_peak_signal_to_noise_ratio() -> None:
    outputs, targets = images(TOTAL, 1, 8)
    expected = np.mean([10 * np.log10(1 / np.mean((a - b) ** 2.0)) for a, b in zip(outputs, targets)])
    metric = PsnrMetric(1.0)
    assert metric.name() == "PSNR@1"
    assert epoch(metric, PsnrInput, outputs, targets) == pytest.approx(expected, rel=1e-5)
    assert once(PsnrMetric(255.0), PsnrInput(outputs * 255, targets * 255)) == pytest.approx(expected, rel=1e-5)
    assert once(PsnrMetric(), PsnrInput(outputs, outputs)) == pytest.approx(100.0)


def test_similarity_of_structure() -> None:
    torch = pytest.importorskip("torch")
    theirs = pytest.importorskip("torchmetrics.functional.image", reason="needs torchmetrics to compare with")
    outputs, targets = images(TOTAL, 3, 20)
    pair = torch.tensor(outputs, dtype=torch.float64), torch.tensor(targets, dtype=torch.float64)
    expected = theirs.structural_similarity_index_measure(*pair, data_range=1.0).item()
    metric = SsimMetric(1.0)
    assert metric.name() == "SSIM (dr=1, w=11, σ=1.5)"
    assert epoch(metric, SsimInput, outputs, targets) == pytest.approx(expected, rel=1e-6)


def test_similarity_of_structure_at_several_scales() -> None:
    torch = pytest.importorskip("torch")
    functional = torch.nn.functional
    outputs, targets = images(2, 3, 176)
    x, y = (torch.tensor(each, dtype=torch.float64) for each in (outputs, targets))
    line = torch.exp(-(torch.arange(-5.0, 6.0, dtype=torch.float64) ** 2) / (2 * 1.5**2))
    window = (line[:, None] * line / line.sum() ** 2).expand(3, 1, 11, 11)
    expected = torch.ones(2, 3, dtype=torch.float64)
    for scale, beta in enumerate([0.0448, 0.2856, 0.3001, 0.2363, 0.1333]):
        a, b = (functional.pad(each, (5, 5, 5, 5), "reflect") for each in (x, y))
        means = [functional.conv2d(each, window, groups=3) for each in (a, b, a * a, b * b, a * b)]
        variances = means[2] - means[0] ** 2 + means[3] - means[1] ** 2
        value = (2 * (means[4] - means[0] * means[1]) + 0.03**2) / (variances + 0.03**2)
        if scale == 4:
            value = value * (2 * means[0] * means[1] + 0.01**2) / (means[0] ** 2 + means[1] ** 2 + 0.01**2)
        expected *= value.mean((2, 3)).clamp(0) ** beta
        x, y = functional.avg_pool2d(x, 2), functional.avg_pool2d(y, 2)
    assert once(MsSsimMetric(1.0), MsSsimInput(outputs, targets)) == pytest.approx(expected.mean().item(), rel=1e-9)
    assert once(MsSsimMetric(1.0), MsSsimInput(outputs, outputs)) == pytest.approx(1.0)


def test_images_that_are_too_small_are_named() -> None:
    small = np.ones((1, 1, 8, 8))
    with pytest.raises(ShapeError, match="8 x 8 are smaller than the window of 11"):
        once(SsimMetric(), SsimInput(small, small))
    with pytest.raises(ShapeError, match="176 at least"):
        once(MsSsimMetric(), MsSsimInput(small, small))
    with pytest.raises(ShapeError, match=r"\(batch, channels, height, width\)"):
        once(PsnrMetric(), PsnrInput(small[0], small[0]))


def test_settings_that_cannot_be_are_all_named() -> None:
    with pytest.raises(ArgumentError, match="3 faults"):
        SsimMetric(0.0, kernel_size=4, sigma=-1)
    with pytest.raises(ArgumentError, match="max_pixel_val"):
        PsnrMetric(-1.0)
    with pytest.raises(ArgumentError, match="betas"):
        MsSsimMetric(betas=[])


@pytest.mark.parametrize("background", [False, True])
def test_dice_of_an_epoch_is_that_of_all_masks(background: bool) -> None:
    random = np.random.default_rng(4)
    outputs, targets = random.integers(0, 2, (2, TOTAL, 3, 5, 5))
    first = 0 if background else 1
    x, y = outputs[:, first:], targets[:, first:]
    expected = 2 * (x & y).sum() / (x.sum() + y.sum())
    assert epoch(DiceMetric(include_background=background), DiceInput, outputs, targets) == pytest.approx(expected)
    assert once(DiceMetric(), DiceInput(np.zeros((1, 2, 4)), np.zeros((1, 2, 4)))) == 1.0
