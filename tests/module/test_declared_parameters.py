"""A field that is declared as a parameter holds one, whatever tensor it is given."""

from __future__ import annotations

import burn
from burn import Module, Param, nn
from burn.backend import NdArray
from burn.optim import SgdConfig
from burn.tensor import Tensor

DEVICE = NdArray().autodiff()


class Scaled(Module):
    """A parameter, one that may be missing, and a constant."""

    scale: Param
    shift: Param | None = None
    constant: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


def test_a_plain_tensor_becomes_a_parameter_and_is_trained() -> None:
    model = Scaled(Tensor.ones([2], DEVICE), Tensor.ones([2], DEVICE), Tensor.ones([2], DEVICE))
    assert [name for name, _ in model.named_parameters()] == ["scale", "shift"]
    assert type(model.constant) is Tensor
    loss = model(Tensor.ones([2], DEVICE)).sum()
    stepped = SgdConfig().init().step(0.5, model, loss.backward())
    assert stepped.scale.tolist() == [0.5, 0.5]


def test_layers_made_of_tensors_have_parameters() -> None:
    layer = nn.Linear(weight=burn.ones(3, 2), bias=burn.zeros(2))
    assert layer.num_params() == 8
    assert nn.Linear(weight=burn.ones(3, 2), bias=None).num_params() == 6


def test_a_parameter_stays_the_one_it_is_and_a_result_keeps_its_graph() -> None:
    parameter = Param(Tensor.ones([2], DEVICE))
    assert Scaled(parameter).scale is parameter
    source = Tensor.ones([2], DEVICE).require_grad()
    model = Scaled(source * 3.0)
    gradients = model(Tensor.ones([2], DEVICE)).sum().backward()
    gradient = source.grad(gradients)
    assert gradient is not None
    assert gradient.tolist() == [3.0, 3.0]
