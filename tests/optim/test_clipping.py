"""Gradient clipping against PyTorch's, by itself and inside an optimizer."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from burn import ArgumentError, Tensor
from burn.config import Config
from burn.grad_clipping import GradientClipping, GradientClippingConfig
from burn.module import Module, Param
from burn.module.groups import ParamGroup
from burn.optim import AdamConfig, SgdConfig
from tests.optim.tasks import DEVICES, assert_equal, falling, ours, theirs

GRADIENTS = [np.random.default_rng(seed).standard_normal(shape) for seed, shape in enumerate([(4, 5), (5,), ()])]


def ones_with(gradients: list[Any]) -> list[torch.nn.Parameter]:
    parameters = [torch.nn.Parameter(torch.ones(each.shape, dtype=torch.float64)) for each in gradients]
    for parameter, gradient in zip(parameters, gradients, strict=True):
        parameter.grad = torch.tensor(gradient)
    return parameters


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize("limit", [0.1, 1.0, 100.0])
def test_clipping_gives_what_pytorch_gives(place: str, limit: float) -> None:
    gradients = [Tensor.from_floats(each, DEVICES[place]) for each in GRADIENTS]
    by_value = ones_with(GRADIENTS)
    torch.nn.utils.clip_grad_value_(by_value, limit)
    assert_equal(GradientClipping.Value(limit).clip_gradients(gradients), [each.grad.numpy() for each in by_value])
    together = ones_with(GRADIENTS)
    torch.nn.utils.clip_grad_norm_(together, limit)
    found = GradientClipping.GlobalNorm(limit).clip_gradients(gradients)
    assert_equal(found, [each.grad.numpy() for each in together])
    for each, gradient, start in zip(ones_with(GRADIENTS), gradients, GRADIENTS, strict=True):
        torch.nn.utils.clip_grad_norm_([each], limit)
        clipped = GradientClipping.Norm(limit).clip_gradient(gradient)
        assert clipped.shape == start.shape
        np.testing.assert_allclose(clipped, each.grad.numpy(), rtol=1e-12)


def test_small_gradients_stay_bit_equal_and_zeros_stay_zeros() -> None:
    device = DEVICES["ndarray"]
    gradient = Tensor.from_floats(GRADIENTS[0], device)
    for clipping in (GradientClipping.Value(100.0), GradientClipping.Norm(100.0), GradientClipping.GlobalNorm(100.0)):
        np.testing.assert_array_equal(clipping.clip_gradient(gradient), GRADIENTS[0])
        np.testing.assert_array_equal(clipping.clip_gradient(gradient.zeros_like()), np.zeros((4, 5)))


def by_each(limit: float) -> Any:
    def clip(parameters: list[Any]) -> None:
        for parameter in parameters:
            torch.nn.utils.clip_grad_norm_([parameter], limit)

    return clip


@pytest.mark.parametrize("place", DEVICES)
@pytest.mark.parametrize(
    "config, clip",
    [
        (GradientClippingConfig.Value(0.05), lambda p: torch.nn.utils.clip_grad_value_(p, 0.05)),
        (GradientClippingConfig.Norm(0.1), by_each(0.1)),
        (GradientClippingConfig.GlobalNorm(0.1), lambda p: torch.nn.utils.clip_grad_norm_(p, 0.1)),
    ],
    ids=["value", "norm", "global-norm"],
)
def test_an_optimizer_clips_before_it_steps(place: str, config: Any, clip: Any) -> None:
    optim = AdamConfig(grad_clipping=config, weight_decay=0.01).init()
    expected = theirs(lambda p: torch.optim.Adam(p, 1.0, eps=1e-5, weight_decay=0.01), falling(0.01), clip)
    assert_equal(ours(optim, DEVICES[place], falling(0.01)), expected)


def test_a_global_norm_is_that_of_its_group() -> None:
    limit = 0.05

    def clip(parameters: list[Any]) -> None:
        torch.nn.utils.clip_grad_norm_(parameters[2:], limit)

    optim = (
        SgdConfig()
        .init()
        .with_group(
            ParamGroup.under("outer"), SgdConfig(gradient_clipping=GradientClippingConfig.GlobalNorm(limit)).init()
        )
    )
    assert optim.has_gradient_clipping()
    assert optim.grad_clipping is None
    expected = theirs(lambda p: torch.optim.SGD(p, 1.0), falling(0.1), clip)
    assert_equal(ours(optim, DEVICES["ndarray"], falling(0.1)), expected)


def test_clipping_may_be_set_on_an_optimizer() -> None:
    optim = AdamConfig().init().with_grad_clipping(GradientClippingConfig.Norm(1.0))
    assert optim.grad_clipping == GradientClipping.Norm(1.0)
    assert repr(optim.grad_clipping) == "GradientClipping.Norm(1.0)"
    assert not optim.with_grad_clipping(None).has_gradient_clipping()
    with pytest.raises(ArgumentError, match="needs a GradientClippingConfig, got 1.0"):
        optim.with_grad_clipping(1.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["Value", "Norm", "GlobalNorm"])
def test_a_limit_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ArgumentError, match=f"GradientClipping.{name}: the limit is a number above 0, got -1.0"):
        getattr(GradientClippingConfig, name)(-1.0).init()


def test_a_config_with_clipping_is_written_as_json() -> None:
    config = AdamConfig(weight_decay=0.1).with_grad_clipping(GradientClippingConfig.Norm(2.0))
    assert '"grad_clipping": {\n    "Norm": 2.0\n  }' in config.to_json()
    assert AdamConfig.from_json(config.to_json()) == config
    assert isinstance(config, Config)


def test_a_parameter_of_rank_zero_keeps_its_rank() -> None:
    class One(Module):
        scale: Param

    device = DEVICES["ndarray"].autodiff()
    model = One(Param(Tensor.from_floats(2.0, device)))
    assert model.scale.shape == ()
    optim = AdamConfig(grad_clipping=GradientClippingConfig.GlobalNorm(0.1)).init()
    for _ in range(3):
        model = optim.step(0.1, model, (model.scale * model.scale).backward())
    assert model.scale.shape == ()
