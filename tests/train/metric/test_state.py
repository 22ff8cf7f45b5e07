"""Running means, how they are written, and the Book's metric."""

from __future__ import annotations

import math

import numpy as np
import pytest

import burn
from burn import Autodiff, Cpu, NdArray
from burn.errors import DataError
from burn.train.metric import (
    FormatOptions,
    LearningRateMetric,
    LossInput,
    LossMetric,
    Metric,
    MetricEntry,
    MetricMetadata,
    Numeric,
    NumericEntry,
    NumericMetricState,
    format_float,
)
from burn.train.progress import Progress


class BookLossMetric(Metric[LossInput], Numeric):
    """The loss metric of the Book's chapter on metrics."""

    input_type = LossInput

    def __init__(self) -> None:
        self.state = NumericMetricState()

    def update(self, item: LossInput, metadata: MetricMetadata) -> MetricEntry:
        [batch_size] = item.tensor.dims()
        loss = item.tensor.clone().mean().into_data().to_vec()[0]
        return self.state.update(loss, batch_size, FormatOptions(self.name()).precision(2))

    def clear(self) -> None:
        self.state.reset()

    def name(self) -> str:
        return "Loss"

    def value(self) -> float:
        return self.state.value()


@pytest.mark.parametrize("device", [NdArray(), Cpu(), Autodiff(NdArray())], ids=repr)
@pytest.mark.parametrize(("metric", "more"), [(BookLossMetric, ""), (LossMetric, "0")])
def test_the_loss_metric_of_the_book(metric, more, device) -> None:
    metric = metric()  # ours shows four digits that count, wherever the point is
    first = metric.update(LossInput(burn.tensor([1.0, 2.0, 3.0], device=device)), MetricMetadata.fake())
    assert first == MetricEntry("Loss", f"epoch 2.00{more} - batch 2.00{more}", "2.0,3")
    second = metric.update(LossInput(burn.tensor([6.0], device=device)), MetricMetadata.fake())
    assert second == MetricEntry("Loss", f"epoch 3.00{more} - batch 6.00{more}", "6.0,1")
    assert metric.value() == 6.0
    metric.clear()
    assert math.isnan(metric.value())
    assert metric.update(LossInput(burn.tensor([0.5], device=device)), MetricMetadata.fake()).formatted == (
        f"epoch 0.50{more}{more} - batch 0.50{more}{more}"
    )


def test_a_loss_without_dims_weighs_one() -> None:
    metric = LossMetric()
    assert metric.update(LossInput(burn.tensor(3.0, device=NdArray())), MetricMetadata.fake()).serialize == "3.0,1"


def test_a_running_mean_weighs_batches_by_their_size() -> None:
    state, options = NumericMetricState(), FormatOptions("Accuracy").unit("%").precision(2)
    state.update(100.0, 10, options)
    entry = state.update(40.0, 30, options)
    assert entry == MetricEntry("Accuracy", "epoch 55.00 % - batch 40.00 %", "40.0,30")
    assert (state.value(), state.running_value()) == (40.0, 55.0)


def test_a_batch_of_no_items_leaves_the_mean_as_it_is() -> None:
    state, options = NumericMetricState(), FormatOptions("Accuracy").precision(1)
    state.update(10.0, 4, options)
    assert state.update(math.nan, 0, options).formatted == "epoch 10.0 - batch nan"
    assert state.running_value() == 10.0


@pytest.mark.parametrize(
    "value, precision, expected",
    [
        (1.23456, 2, "1.23"),
        (0.000123, 2, "1.23e-4"),
        (-0.000123, 2, "-1.23e-4"),
        (0.0, 2, "0.00"),
        (0.01, 2, "0.01"),
        (1e-12, 1, "1.0e-12"),
        (0.1, None, "0.1"),
        (math.inf, 2, "inf"),
    ],
)
def test_small_numbers_are_written_with_an_exponent(value: float, precision: int | None, expected: str) -> None:
    assert format_float(value, precision) == expected


@pytest.mark.parametrize("entry", [NumericEntry(0.1, 7), NumericEntry(-3.5e-9), NumericEntry(1 / 3, 1)])
def test_entries_of_logs_are_read_back_exactly(entry: NumericEntry) -> None:
    assert NumericEntry.deserialize(entry.serialize() + "\n") == entry
    assert NumericEntry.deserialize("0.5,final") == NumericEntry(0.5)


def test_a_line_that_is_no_entry_is_named() -> None:
    with pytest.raises(DataError, match="'x,1' is neither"):
        NumericEntry.deserialize("x,1")


def test_the_learning_rate_comes_from_the_metadata() -> None:
    metric = LearningRateMetric()
    assert metric.update(None, MetricMetadata(Progress(1, 2), lr=1e-4)).formatted == "epoch 0.0001000 - batch 0.0001000"
    assert metric.value() == 1e-4
    assert metric.update(None, MetricMetadata(Progress(1, 2), lr=1e-4 / 3)).formatted.endswith("batch 3.333e-5")
    metric.clear()
    metric.update(None, MetricMetadata(Progress(1, 2), lr=1e-4))
    metric.update(None, MetricMetadata(Progress(1, 2)))
    assert metric.running_value() == pytest.approx(1e-4)


@pytest.mark.parametrize("dtype", [burn.f16, burn.bf16, burn.f64])
def test_losses_of_every_float_type_are_read(dtype) -> None:
    losses = burn.tensor(np.full(4096, 32.0, np.float32), device=NdArray()).cast(dtype)
    metric = LossMetric()
    metric.update(LossInput(losses), MetricMetadata.fake())
    assert metric.value() == 32.0


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.03127, "0.03127"), (1.20449, "1.204"), (118.23, "118.2"), (1234.6, "1235"), (98765.4, "98765"), (0.0, "0.000"),
     (3.1e-5, "3.100e-5"), (2e7, "2.000e7"), (-0.5, "-0.5000"), (math.nan, "nan"), (math.inf, "inf")],
)  # fmt: skip
def test_four_digits_count_wherever_the_point_is(value: float, text: str) -> None:
    assert FormatOptions("Loss").significant(4).write(value) == text
