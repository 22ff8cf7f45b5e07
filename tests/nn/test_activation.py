"""Activation modules against PyTorch, on every kind of device; learnt slopes, gates, and the choice of one."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

import burn.nn
from burn import ArgumentError, NdArray, Tensor
from burn.nn import activation
from burn.nn.activation import (
    GLU,
    Activation,
    ActivationConfig,
    CeluConfig,
    EluConfig,
    Gelu,
    HardShrinkConfig,
    HardSigmoidConfig,
    HardSwish,
    HardtanhConfig,
    LeakyReluConfig,
    LogSigmoid,
    Mish,
    PReluConfig,
    Relu,
    Relu6,
    RReluConfig,
    Selu,
    ShrinkConfig,
    Sigmoid,
    SiLU,
    SoftplusConfig,
    SoftShrinkConfig,
    Softsign,
    SwiGluConfig,
    Tanh,
    Tanhshrink,
    ThresholdConfig,
    ThresholdedReluConfig,
)
from tests.nn.peers import every_device, fields, floats, numbers, same

DEVICE = NdArray()


def hard_sigmoid(alpha, beta):
    return lambda x: (x * alpha + beta).clamp(0.0, 1.0)


CASES = {
    "gelu": (Gelu(), functional.gelu),
    "gelu approximate": (Gelu.new_approximate(), lambda x: functional.gelu(x, approximate="tanh")),
    "relu": (Relu(), functional.relu),
    "relu6": (Relu6(), functional.relu6),
    "leaky relu": (LeakyReluConfig(0.3).init(), lambda x: functional.leaky_relu(x, 0.3)),
    "rrelu at rest": (RReluConfig().init().mode("infer"), lambda x: functional.rrelu(x)),
    "elu": (EluConfig(0.7).init(), lambda x: functional.elu(x, 0.7)),
    # torch's own gradient of celu divides by the slope in single precision
    "celu": (CeluConfig(1.3).init(), lambda x: torch.where(x > 0, x, 1.3 * torch.expm1(x / 1.3))),
    "selu": (Selu(), functional.selu),
    "hardtanh": (HardtanhConfig(-0.5, 0.8).init(), lambda x: functional.hardtanh(x, -0.5, 0.8)),
    "threshold": (ThresholdConfig(0.2, -3.0).init(), lambda x: functional.threshold(x, 0.2, -3.0)),
    "thresholded relu": (ThresholdedReluConfig(0.5).init(), lambda x: functional.threshold(x, 0.5, 0.0)),
    "sigmoid": (Sigmoid(), torch.sigmoid),
    "log sigmoid": (LogSigmoid(), functional.logsigmoid),
    "hard sigmoid": (HardSigmoidConfig().init(), hard_sigmoid(0.2, 0.5)),
    "hard sigmoid with settings": (HardSigmoidConfig(0.5, 0.1).init(), hard_sigmoid(0.5, 0.1)),
    "hard swish": (HardSwish(), functional.hardswish),
    "silu": (SiLU(), functional.silu),
    "mish": (Mish(), functional.mish),
    "softplus": (SoftplusConfig(2.0).init(), lambda x: functional.softplus(x, 2.0)),
    "softsign": (Softsign(), functional.softsign),
    "tanh": (Tanh(), torch.tanh),
    "tanhshrink": (Tanhshrink(), functional.tanhshrink),
    "hard shrink": (HardShrinkConfig(0.4).init(), lambda x: functional.hardshrink(x, 0.4)),
    "soft shrink": (SoftShrinkConfig(0.4).init(), lambda x: functional.softshrink(x, 0.4)),
    "shrink": (ShrinkConfig(0.5, 0.5).init(), lambda x: functional.softshrink(x, 0.5)),
    "shrink without bias": (ShrinkConfig(0.6, 0.0).init(), lambda x: functional.hardshrink(x, 0.6)),
    "glu": (GLU(1), lambda x: functional.glu(x, 1)),
}


@every_device
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients_are_those_of_torch(case, device):
    ours, theirs = CASES[case]
    same(ours, theirs, floats(3, 4, 2) * 2, device=device)


@every_device
@pytest.mark.parametrize(("count", "shape"), [(1, (2, 3)), (3, (2, 3, 4)), (4, (2, 4)), (1, (5,))])
def test_slopes_are_learnt_like_torchs(count, shape, device):
    theirs = torch.nn.PReLU(count, 0.3).double()
    ours = PReluConfig(count, 0.3).init(device)
    np.testing.assert_array_equal(numbers(ours.alpha), np.full(count, 0.3))
    same(ours, theirs, floats(*shape), names={"alpha": "weight"}, device=device)


class Gated(torch.nn.Module):
    """The gate of two linear maps, in torch."""

    def __init__(self, bias):
        super().__init__()
        self.inner = torch.nn.Linear(4, 3, bias)
        self.outer = torch.nn.Linear(4, 3, bias)

    def forward(self, x):
        return functional.silu(self.inner(x)) * self.outer(x)


@every_device
@pytest.mark.parametrize("bias", [False, True])
def test_a_swiglu_is_one_linear_map_weighed_by_another(bias, device):
    ends = ["weight", "bias"] if bias else ["weight"]
    names = {f"linear_{side}.{end}": f"{side}.{end}" for side in ("inner", "outer") for end in ends}
    weights = [name for name in names if name.endswith("weight")]
    ours = SwiGluConfig(4, 3, bias).init(device)
    same(ours, Gated(bias).double(), floats(2, 5, 4), names=names, transposed=weights, device=device)


@every_device
def test_a_randomized_rectifier_draws_slopes_only_for_negative_elements(device):
    x = Tensor.from_data(floats(40, 50), device).require_grad()
    module = RReluConfig(0.2, 0.4).init()
    y = module(x)
    grads = y.sum().backward()
    values, found, slopes = numbers(x), numbers(y), numbers(x.grad(grads))
    np.testing.assert_array_equal(found[values >= 0], values[values >= 0])
    drawn = slopes[values < 0]
    assert drawn.min() >= 0.2
    assert drawn.max() < 0.4
    assert len(np.unique(drawn)) > 0.9 * drawn.size
    assert abs(drawn.mean() - 0.3) < 0.01
    np.testing.assert_allclose(found[values < 0], drawn * values[values < 0], rtol=1e-12)


EXAMPLES = {
    "PRelu": PReluConfig(2), "LeakyRelu": LeakyReluConfig(), "SwiGlu": SwiGluConfig(2, 2),
    "HardSigmoid": HardSigmoidConfig(), "Softplus": SoftplusConfig(), "Elu": EluConfig(), "Celu": CeluConfig(),
    "ThresholdedRelu": ThresholdedReluConfig(), "HardShrink": HardShrinkConfig(), "SoftShrink": SoftShrinkConfig(),
    "Shrink": ShrinkConfig(), "Hardtanh": HardtanhConfig(), "RRelu": RReluConfig(),
    "Threshold": ThresholdConfig(0.1, 0.0),
}  # fmt: skip


@pytest.mark.parametrize("name", ActivationConfig.variants())
def test_an_activation_is_chosen_by_a_config(name):
    kind = getattr(ActivationConfig, name)
    config = kind(EXAMPLES[name]) if name in EXAMPLES else kind
    assert ActivationConfig.from_json(config.to_json()) == config
    module = config.init(DEVICE)
    assert isinstance(module, Activation)
    assert module.variant == ("Gelu" if name == "GeluApproximate" else name)
    x = Tensor.from_data(floats(3, 2), DEVICE)
    assert module(x).shape == (3, 2)
    np.testing.assert_array_equal(numbers(module(x)), numbers(module.value(x)))


def test_the_variants_of_a_record_have_the_places_of_the_older_releases():
    old = ["Gelu", "PRelu", "Relu", "LeakyRelu", "SwiGlu", "Sigmoid", "Tanh", "HardSigmoid"]
    places = []
    for name in old:
        kind = getattr(ActivationConfig, name)
        item = (kind(EXAMPLES[name]) if name in EXAMPLES else kind).init(DEVICE).into_record().item
        places.append((item.name, item.index))
    assert places == [(name, index) for index, name in enumerate(old)]


def test_every_activation_is_at_hand_in_the_package_of_layers():
    missing = [name for name in activation.__all__ if getattr(burn.nn, name, None) is not getattr(activation, name)]
    assert not missing


def test_settings_out_of_range_are_refused():
    for config, message in (
        (RReluConfig(0.5, 0.1), "lower must not be above upper"),
        (HardtanhConfig(1.0, -1.0), "min_val must not be above max_val"),
        (CeluConfig(0.0), "alpha must not be 0"),
        (SoftplusConfig(0.0), "beta must not be 0"),
        (SoftShrinkConfig(-1.0), "lambd must be 0 or more, got -1.0"),
    ):
        with pytest.raises(ArgumentError, match=message):
            config.init()
    with pytest.raises(ArgumentError, match="num_parameters must be 1 or more"):
        PReluConfig(0).init(DEVICE)
    with pytest.raises(ArgumentError, match="d_input must be 1 or more, got 0; d_output must be 1 or more, got -1"):
        SwiGluConfig(0, -1).init(DEVICE)


def test_records_have_every_field_in_order():
    assert fields(PReluConfig().init(DEVICE)) == ["alpha", "alpha_value"]
    assert fields(SwiGluConfig(2, 3).init(DEVICE)) == ["linear_inner", "linear_outer"]


def test_activations_print_their_settings():
    assert str(Relu()) == "Relu"
    assert str(Gelu()) == "Gelu"
    assert str(Gelu.new_approximate()) == "Gelu {approximate: true}"
    assert str(LeakyReluConfig(0.2).init()) == "LeakyRelu {negative_slope: 0.2}"
    assert str(PReluConfig(3).init(DEVICE)) == "PRelu {num_parameters: 3, alpha_value: 0.25, params: 3}"
    assert str(SwiGluConfig(3, 2).init(DEVICE)) == "SwiGlu {d_input: 3, d_output: 2, bias: false, params: 12}"
