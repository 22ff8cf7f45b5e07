"""A captured training step gives what an eager one gives, the optimizer's state included."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Tensor
from burn.grad_clipping import GradientClippingConfig
from burn.lr_scheduler import LinearLrSchedulerConfig, ModuleLrScheduler
from burn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    AdanConfig,
    GradientsAccumulator,
    GradientsParams,
    MomentumConfig,
    MuonConfig,
    ParamGroup,
    RmsPropConfig,
    SgdConfig,
)
from tests.optim.tasks import INPUTS, TARGETS, matrices, network, values_of

DEVICE = Cpu().autodiff()

OPTIMIZERS: dict[str, Any] = {
    "sgd": SgdConfig(weight_decay=0.01),
    "sgd-momentum": SgdConfig(momentum=MomentumConfig(nesterov=True)),
    "adam": AdamConfig(),
    "adam-amsgrad": AdamConfig(amsgrad=True, weight_decay=0.1),
    "adamw": AdamWConfig(weight_decay=0.1),
    "adamw-cautious": AdamWConfig(weight_decay=0.1, cautious_weight_decay=True),
    "adagrad": AdaGradConfig(lr_decay=0.1),
    "rmsprop": RmsPropConfig(centered=True),
    "muon": MuonConfig(weight_decay=0.1),
    "adan": AdanConfig(weight_decay=0.1),
    "clipped-by-value": AdamConfig(grad_clipping=GradientClippingConfig.Value(0.01)),
    "clipped-by-norm": AdamConfig(grad_clipping=GradientClippingConfig.Norm(0.1)),
    "clipped-by-global-norm": AdamConfig(grad_clipping=GradientClippingConfig.GlobalNorm(0.1)),
}


def batch() -> tuple[Any, Any]:
    return Tensor.from_floats(INPUTS, DEVICE), Tensor.from_floats(TARGETS, DEVICE)


def error(model: Any, inputs: Any, targets: Any) -> Any:
    difference = model(inputs) - targets
    return (difference * difference).mean()


def train(step: Any, model: Any, optim: Any, rates: list[Any]) -> tuple[list[Any], list[float], Any]:
    """The parameters, losses and state after one step per rate."""
    losses = []
    for rate in rates:
        model, loss = step(model, optim, *batch(), rate)
        losses.append(float(loss))
    return values_of(model), losses, optim.__tree__()


def assert_same(one: Any, other: Any) -> None:
    for mine, theirs in zip(one[0], other[0], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert one[1] == other[1]
    assert one[2][1] == other[2][1]
    for mine, theirs in zip(one[2][0], other[2][0], strict=True):
        np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs))


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_twenty_captured_steps_are_bit_equal_to_eager_ones(name: str) -> None:
    def step(model: Any, optim: Any, inputs: Any, targets: Any, lr: float) -> Any:
        loss = error(model, inputs, targets)
        return optim.step(lr, model, loss.backward()), loss.inner()

    start = matrices(DEVICE) if name == "muon" else network(DEVICE)
    rates = [0.05 * 0.9**n for n in range(20)]
    captured = burn.compile(step)
    expected = train(step, start, OPTIMIZERS[name].init(), rates)
    assert_same(train(captured, start, OPTIMIZERS[name].init(), rates), expected)
    assert len(captured.ready) == 1
    assert expected[1][-1] < expected[1][0]


def test_groups_and_rates_by_group_are_captured() -> None:
    biases = ParamGroup.from_regex("bias$")

    def step(model: Any, optim: Any, inputs: Any, targets: Any, lr: Any) -> Any:
        loss = error(model, inputs, targets)
        return optim.step(lr, model, loss.backward()), loss.inner()

    def optimizer() -> Any:
        return AdamConfig().init().with_group(biases, SgdConfig(momentum=MomentumConfig()).init())

    scheduler = ModuleLrScheduler(LinearLrSchedulerConfig(0.1, 0.01, 20)).with_group(biases, 0.01)
    rates = [scheduler.step() for _ in range(20)]
    start, captured = network(DEVICE), burn.compile(step)
    assert_same(train(captured, start, optimizer(), rates), train(step, start, optimizer(), rates))
    assert len(captured.ready) == 1


def test_an_optimizer_in_the_closure_is_captured() -> None:
    def run(compile: Any) -> Any:
        optim = AdamConfig().init()

        @compile
        def step(model: Any, inputs: Any, targets: Any, lr: float) -> Any:
            loss = error(model, inputs, targets)
            return optim.step(lr, model, loss.backward()), loss.inner()

        return train(lambda model, _, *rest: step(model, *rest), network_start, optim, [0.01] * 20)

    network_start = network(DEVICE)
    assert_same(run(burn.compile), run(lambda function: function))


def test_accumulation_inside_and_outside_is_captured() -> None:
    def run(compile: Any) -> Any:
        accumulator = GradientsAccumulator()

        @compile
        def gradients(model: Any, inputs: Any, targets: Any) -> Any:
            loss = error(model, inputs, targets)
            accumulator.accumulate(model, loss.backward())
            return loss.inner()

        @compile
        def update(model: Any, optim: Any, grads: Any, lr: float) -> Any:
            return optim.step(lr, model, grads)

        model, optim, losses = start, AdamConfig().init(), []
        for index in range(24):
            losses.append(float(gradients(model, *batch())))
            if index % 3 == 2:
                model = update(model, optim, accumulator.grads(), 0.01)
        return values_of(model), losses, optim.__tree__()

    start = network(DEVICE)
    assert_same(run(burn.compile), run(lambda function: function))


def test_a_model_kept_aside_stays_as_it_was() -> None:
    @burn.compile
    def step(model: Any, optim: Any, inputs: Any, targets: Any, lr: float) -> Any:
        loss = error(model, inputs, targets)
        return optim.step(lr, model, loss.backward()), loss.inner()

    model, optim = network(DEVICE), AdamConfig().init()
    kept = []
    for _ in range(8):
        kept.append((model, values_of(model)))
        model, _ = step(model, optim, *batch(), 0.05)
    for old, values in kept:
        for mine, theirs in zip(values_of(old), values, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_parameters_that_step_together_share_one_time() -> None:
    optim, model = AdamConfig().init(), network(DEVICE)
    for _ in range(3):
        model = optim.step(0.01, model, error(model, *batch()).backward())
    children, token = optim.__tree__()
    assert [each for each in children if isinstance(each, float)] == [3.0]
    assert len(children) == 1 + 2 * 4
    assert hash(token) == hash(optim.__tree__()[1])


def test_parameters_of_different_times_keep_their_own() -> None:
    optim, model = AdamConfig().init(), network(DEVICE)
    for _ in range(2):
        grads = error(model, *batch()).backward()
        part = GradientsParams.from_module(grads, model.inner)
        model = optim.step(0.01, model, part)
    model = optim.step(0.01, model, error(model, *batch()).backward())
    children, _ = optim.__tree__()
    assert [each for each in children if isinstance(each, float)] == [3.0, 1.0]
    assert optim.state(model.inner.weight.id).time == 3.0
    assert optim.state(model.outer.weight.id).time == 1.0


def test_a_tree_of_an_optimizer_gives_an_equal_optimizer() -> None:
    optim, model = AdamWConfig().init().with_group(ParamGroup.under("outer"), SgdConfig().init()), network(DEVICE)
    for _ in range(2):
        model = optim.step(0.01, model, error(model, *batch()).backward())
    children, token = optim.__tree__()
    again = type(optim).__untree__(token, children)
    assert again.__tree__()[1] == token
    one = optim.step(0.01, model, error(model, *batch()).backward())
    other = again.step(0.01, model, error(model, *batch()).backward())
    for mine, theirs in zip(values_of(one), values_of(other), strict=True):
        np.testing.assert_array_equal(mine, theirs)
