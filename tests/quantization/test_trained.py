"""What quantisation costs a model that has learnt something."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from burn import LibTorch, NdArray, Tensor
from burn.device import Device
from burn.module import Module, Param
from burn.nn import Linear
from burn.nn.loss import CrossEntropyLossConfig
from burn.optim import AdamConfig
from burn.quantization import (
    Calibration,
    QuantizationMode,
    QuantizationScheme,
    QuantizationType,
    Quantizer,
    fake_quantize,
)
from burn.tensor.module import linear
from tests.quantization.task import Mlp, Task, accuracy, clusters, digits, train

DEVICE = NdArray()
AFFINE, Q4S = QuantizationMode.Affine, QuantizationType.Q4S
PER_TENSOR = QuantizationScheme.PerTensor()
PER_CHANNEL = QuantizationScheme.PerChannel(dim=-1)
BLOCKS_OF_FOUR_BITS = QuantizationScheme.PerBlock(value=Q4S, size=16)


@pytest.fixture(scope="module", params=["clusters", "digits"])
def trained(request: pytest.FixtureRequest) -> tuple[Task, Mlp]:
    task = clusters() if request.param == "clusters" else digits(request.getfixturevalue("shared") / "data" / "mnist")
    return task, train(task, DEVICE)


def spread(one: Mlp, other: Mlp) -> float:
    """The root mean square difference of the weights."""
    squares = [
        ((one.first.weight - other.first.weight).numpy() ** 2),
        (one.last.weight - other.last.weight).numpy() ** 2,
    ]
    return float(np.sqrt(np.concatenate([each.reshape(-1) for each in squares]).mean()))


@pytest.mark.parametrize("mode", QuantizationMode)
@pytest.mark.parametrize(
    "kind", [QuantizationScheme.PerTensor, lambda mode: QuantizationScheme.PerChannel(mode, dim=-1),
             lambda mode: QuantizationScheme.PerBlock(mode, size=16)],
    ids=["tensor", "channel", "block"],
)  # fmt: skip
def test_eight_bits_cost_less_than_one_per_cent(trained: Any, kind: Any, mode: QuantizationMode) -> None:
    task, model = trained
    quantizer = Quantizer(scheme=kind(mode))
    small = model.quantize_weights(quantizer)
    before, after = accuracy(model, task, DEVICE), accuracy(small, task, DEVICE)
    assert before > 0.85
    assert abs(after - before) <= 0.01
    for entry in quantizer.report.quantized:
        assert entry.error <= entry.step / 2 * 1.0001


def test_finer_scales_err_less(trained: Any) -> None:
    _, model = trained
    schemes = [PER_TENSOR, PER_CHANNEL, QuantizationScheme.PerBlock(size=2)]
    errors = [spread(model, model.quantize_weights(Quantizer(scheme=scheme))) for scheme in schemes]
    assert errors[2] < errors[1] < errors[0]
    affine = spread(model, model.quantize_weights(Quantizer(scheme=QuantizationScheme.PerChannel(AFFINE, dim=-1))))
    assert affine < errors[1]


def test_four_bits_in_blocks_err_more_but_stay_near(trained: Any) -> None:
    task, model = trained
    eight = model.quantize_weights(Quantizer(scheme=QuantizationScheme.PerBlock(size=16), rest="tensor"))
    four = model.quantize_weights(Quantizer(scheme=BLOCKS_OF_FOUR_BITS, rest="tensor"))
    assert 10 * spread(model, eight) < spread(model, four)
    assert accuracy(four, task, DEVICE) >= accuracy(model, task, DEVICE) - 0.03


def test_a_percentile_helps_four_bits_over_whole_tensors(trained: Any) -> None:
    _, model = trained
    scheme = QuantizationScheme.PerTensor(value=Q4S)
    rough = spread(model, model.quantize_weights(Quantizer(scheme=scheme)))
    assert spread(model, model.quantize_weights(Quantizer(Calibration.Percentile(99.9), scheme))) < rough


def test_a_quantised_model_answers_alike_on_another_backend(trained: Any) -> None:
    task, model = trained
    small = model.quantize_weights(Quantizer(scheme=PER_CHANNEL))
    other = LibTorch("cpu")
    assert accuracy(small.to_device(other), task, other) == pytest.approx(accuracy(small, task, DEVICE), abs=0.002)


def test_training_with_fake_quantisation_makes_two_bits_usable() -> None:
    """Weights of three levels: rounding a trained model is poor, training what will be rounded is not."""
    task, scheme = clusters(), QuantizationScheme.PerChannel(value=QuantizationType.Q2S, dim=-1)

    class Aware(Module):
        first: Param
        last: Param

        def forward(self, x: Tensor[Any]) -> Tensor[Any]:
            first, last = (fake_quantize(w, scheme, calibration=Calibration.AbsMean) for w in (self.first, self.last))
            return linear(linear(x, first).relu(), last)

    def learn(model: Any, device: Device) -> Any:
        loss, optim = CrossEntropyLossConfig().init(device), AdamConfig().init()
        for step in range(240):
            rows = np.arange(step * 50, step * 50 + 50) % len(task.x)
            x, y = Tensor.from_data(task.x[rows], device), Tensor.from_data(task.y[rows], device)
            model = optim.step(3e-3, model, loss(model(x), y).backward())
        return model.valid()

    plain = train(task, DEVICE)
    start = Aware(plain.first.weight, plain.last.weight)
    rounded = accuracy(start, task, DEVICE)
    aware = learn(start.autodiff(), DEVICE.autodiff())
    floats = Mlp(Linear(aware.first, None), Linear(aware.last, None))
    small = floats.quantize_weights(Quantizer(Calibration.AbsMean, scheme))
    assert set(small.first.weight.val().values.numpy().reshape(-1).tolist()) == {-1, 0, 1}
    assert accuracy(small, task, DEVICE) == accuracy(aware, task, DEVICE) > rounded + 0.02
