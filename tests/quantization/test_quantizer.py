"""The quantizer: which parameters it takes, which it leaves, and what it reports."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn import NdArray, Tensor
from burn.errors import ArgumentError, ShapeError
from burn.module import Module, Param
from burn.module.groups import ParamGroup
from burn.nn import BatchNorm, BatchNormConfig, Linear, LinearConfig
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.quantization import (
    Calibration,
    QuantizationMode,
    QuantizationScheme,
    QuantizationType,
    QuantizedTensor,
    Quantizer,
)

DEVICE = NdArray()


class Net(Module):
    conv: Conv2d
    norm: BatchNorm
    last: Linear

    def forward(self, x: Any) -> Any:
        y = self.norm(self.conv(x)).relu()
        return self.last(y.mean_dims([2, 3]).reshape((y.shape[0], 8)))


def net(device: Any = DEVICE) -> Net:
    return Net(
        Conv2dConfig([3, 8], [3, 3]).init(device), BatchNormConfig(8).init(device), LinearConfig(8, 5).init(device)
    )


def quantised(model: Module) -> list[str]:
    return [path for path, param in model.named_parameters() if isinstance(param.val(), QuantizedTensor)]


EVERY = ["conv.weight", "conv.bias", "norm.gamma", "norm.beta", "last.weight", "last.bias"]


def test_the_quantizer_of_the_book_takes_every_float_parameter() -> None:
    from burn.module import Quantizer as FromModule

    assert FromModule is Quantizer
    quantizer = Quantizer(
        calibration=Calibration.MinMax,
        scheme=QuantizationScheme.PerTensor(QuantizationMode.Symmetric, QuantizationType.QInt8),
    )
    model = net()
    small = model.quantize_weights(quantizer)
    assert quantised(small) == EVERY
    assert quantised(model) == []
    assert [param.id for param in small.parameters()] == [param.id for param in model.parameters()]
    assert small.num_params() == model.num_params()
    assert repr(Quantizer()) == repr(quantizer)


def test_running_statistics_stay_as_they_are() -> None:
    model = net()
    small = model.quantize_weights(Quantizer(scheme=QuantizationScheme.PerTensor(value=QuantizationType.Q2S)))
    assert small.norm.running_var is not model.norm.running_var
    assert small.norm.running_var.value.tolist() == model.norm.running_var.value.tolist()


def test_parameters_of_a_group_and_of_a_rank() -> None:
    assert quantised(net().quantize_weights(Quantizer(min_rank=2))) == ["conv.weight", "last.weight"]
    only = Quantizer(parameters=ParamGroup.under("last"))
    assert quantised(net().quantize_weights(only)) == ["last.weight", "last.bias"]
    assert only.report["conv.weight"].reason == "not among the parameters chosen"
    both = Quantizer(parameters=ParamGroup.from_predicate("weight") - ParamGroup.under("conv"), min_rank=2)
    assert quantised(net().quantize_weights(both)) == ["last.weight"]


def test_what_blocks_do_not_divide_stays_in_float_or_gets_one_scale() -> None:
    scheme = QuantizationScheme.PerBlock(QuantizationMode.Affine, QuantizationType.Q4F, size=8)
    model = net()
    strict = Quantizer(scheme=scheme)
    assert quantised(model.quantize_weights(strict)) == ["conv.bias", "norm.gamma", "norm.beta"]
    assert strict.report["last.weight"].scheme is None
    assert strict.report["last.weight"].reason == "blocks of [8] do not divide the shape (8, 5)"
    loose = Quantizer(scheme=scheme, rest="tensor")
    small = model.quantize_weights(loose)
    assert quantised(small) == EVERY
    assert small.last.weight.val().scheme == QuantizationScheme.PerTensor(QuantizationMode.Affine, QuantizationType.Q4F)
    assert loose.report["last.weight"].reason == "blocks of [8] do not divide the shape (8, 5)"
    with pytest.raises(ShapeError, match="do not divide"):
        strict.quantize_tensor(model.last.weight)


def test_channels_of_one_element_are_not_worth_a_scale() -> None:
    quantizer = Quantizer(scheme=QuantizationScheme.PerChannel(dim=-1))
    assert quantised(net().quantize_weights(quantizer)) == ["conv.weight", "last.weight"]
    assert quantizer.report["last.bias"].reason == "every element would have a scale of its own"
    quantizer = Quantizer(scheme=QuantizationScheme.PerChannel(dim=1))
    net().quantize_weights(quantizer)
    assert "dim 1 is out of range" in quantizer.report["conv.bias"].reason


def test_two_quantizers_one_after_the_other() -> None:
    fine = Quantizer(scheme=QuantizationScheme.PerChannel(dim=0), parameters=ParamGroup.under("conv"), min_rank=2)
    rough = Quantizer(min_rank=2)
    small = net().quantize_weights(fine).quantize_weights(rough)
    assert isinstance(small.conv.weight.val().scheme, QuantizationScheme.PerChannel)
    assert isinstance(small.last.weight.val().scheme, QuantizationScheme.PerTensor)
    assert rough.report["conv.weight"].reason == "quantised already"
    assert rough.report["conv.weight"].bytes_before == small.conv.weight.val().num_bytes()


def test_what_is_not_finite_or_empty_stays_in_float() -> None:
    class Odd(Module):
        wild: Param
        empty: Param
        counts: Param

    model = Odd(
        Param(burn.tensor([1.0, float("inf")], device=DEVICE)), Param(Tensor.zeros((0, 2), DEVICE)),
        Param(burn.tensor([1, 2], device=DEVICE)),
    )  # fmt: skip
    quantizer = Quantizer()
    assert quantised(model.quantize_weights(quantizer)) == []
    assert [(entry.path, entry.reason) for entry in quantizer.report] == [
        ("wild", "not finite: it holds NaN or infinity"), ("empty", "no elements"),
    ]  # fmt: skip


def test_the_report_states_sizes_and_errors() -> None:
    model, quantizer = net(), Quantizer()
    small = model.quantize_weights(quantizer)
    report = quantizer.report
    assert len(report) == len(report.quantized) == 6
    assert report.kept == ()
    entry = report["conv.weight"]
    assert (entry.bytes_before, entry.bytes_after) == (216 * 4, 216 + 4)
    truth = np.abs(small.conv.weight.numpy() - model.conv.weight.numpy()).max()
    assert entry.error == pytest.approx(truth)
    assert 0.0 < entry.error <= entry.step / 2 * 1.0001
    assert report.error == max(each.error for each in report)
    assert report.bytes_before == 4 * sum(param.num_elements() for param in model.parameters())
    with pytest.raises(KeyError):
        report["nothing"]


def test_the_report_reads_as_a_table() -> None:
    quantizer = Quantizer(min_rank=2)
    Net(net().conv, net().norm, Linear(Param(Tensor.ones([8, 5], DEVICE)), None)).quantize_weights(quantizer)
    lines = str(quantizer.report).splitlines()
    assert lines[0].split() == ["parameter", "shape", "bytes", "error", "how"]
    assert lines[2].split("  ")[-1].strip() == "rank 1, less than 2"
    assert lines[5].split() == ["last.weight", "[8,", "5]", "160", "->", "44", "0", "PerTensor(Symmetric,", "QInt8)"]
    assert lines[-1].endswith("2 of 5 quantised")


def test_all_faults_of_a_quantizer_come_at_once() -> None:
    with pytest.raises(ArgumentError) as caught:
        Quantizer("MinMax", "int8", parameters=["weight"], min_rank=-1, rest="half")  # type: ignore[arg-type]
    for part in (
        "calibration must be a Calibration, got 'MinMax'", "scheme must be a QuantizationScheme, got 'int8'",
        "parameters must be a ParamGroup", "min_rank must be an int, 0 or more, got -1",
        "rest must be 'float' or 'tensor', got 'half'",
    ):  # fmt: skip
        assert part in str(caught.value)
    with pytest.raises(ArgumentError, match=r"chooses no float parameter of conv\.weight, conv\.bias"):
        net().quantize_weights(Quantizer(parameters=ParamGroup.under("head")))


def test_a_quantizer_of_ones_own_needs_only_quantize_tensor() -> None:
    class Ternary:
        def quantize_tensor(self, tensor: Tensor[Any]) -> QuantizedTensor:
            scheme = QuantizationScheme.PerTensor(value=QuantizationType.Q2S)
            return tensor.quantize_dynamic(scheme, Calibration.AbsMean)

    small = net().quantize_weights(Ternary())
    assert set(small.conv.weight.val().values.numpy().reshape(-1).tolist()) == {-1, 0, 1}
