"""What a step does to a module and to the optimizer, whatever the optimizer is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from burn import ArgumentError, Autodiff, AutodiffError, Cpu, LibTorch, NdArray, Tensor
from burn.module import Module, Param, State
from burn.module.groups import ParamGroup
from burn.optim import (
    AdamConfig,
    AdamWConfig,
    GradientsParams,
    MomentumConfig,
    MuonConfig,
    Optimizer,
    RmsPropConfig,
    SgdConfig,
    SimpleOptimizer,
)
from tests.optim.tasks import DEVICES, assert_equal, falling, loss_of, network, ours, theirs, values_of

DEVICE = DEVICES["ndarray"].autodiff()


def backward(model: Any, device: Any = DEVICE) -> Any:
    return loss_of(model, device).backward()


def test_a_step_returns_a_new_module_and_leaves_the_old_one() -> None:
    model = network(DEVICE)
    before = values_of(model)
    stepped = AdamConfig().init().step(0.1, model, backward(model))
    assert stepped is not model
    assert_equal(values_of(model), before, 0.0)
    assert stepped.inner.weight.id == model.inner.weight.id
    assert stepped.inner.weight.is_require_grad()
    assert all(not np.array_equal(old, new) for old, new in zip(before, values_of(stepped), strict=True))


def test_gradients_are_used_up() -> None:
    model, optim = network(DEVICE), SgdConfig().init()
    grads = backward(model)
    stepped = optim.step(0.1, model, grads)
    assert len(grads) == 0
    by_id = GradientsParams.from_grads(backward(stepped), stepped)
    optim.step(0.1, stepped, by_id)
    assert by_id.is_empty()
    with pytest.raises(AutodiffError, match="step: these gradients were used up by an earlier step"):
        optim.step(0.1, stepped, by_id)


def test_frozen_parameters_and_parameters_without_gradient_are_untouched() -> None:
    model = network(DEVICE).freeze("inner")
    optim = AdamConfig().init()
    stepped = optim.step(0.1, model, backward(model))
    assert stepped.inner is model.inner
    assert set(optim.slots) == {model.outer.weight.id, model.outer.bias.id}
    part = GradientsParams.from_params(backward(stepped), stepped.outer, [model.outer.bias.id])
    again = optim.step(0.1, stepped, part)
    assert again.outer.weight is stepped.outer.weight
    assert optim.state(model.outer.weight.id).time == 1.0
    assert optim.state(model.outer.bias.id).time == 2.0


class Counting(Module):
    """A parameter, a running value, and a constant."""

    weight: Param
    seen: State
    constant: Any

    def forward(self, x: Any) -> Any:
        self.seen.update(self.seen.value + x.inner().sum())
        return x * self.weight * self.constant


def test_states_get_cells_of_their_own_and_constants_stay() -> None:
    model = Counting(Param(Tensor.ones([2], DEVICE)), State(Tensor.zeros([1], DEVICE)), Tensor.ones([2], DEVICE))
    grads = model(Tensor.ones([2], DEVICE)).sum().backward()
    stepped = SgdConfig().init().step(0.1, model, grads)
    assert stepped.constant is model.constant
    assert stepped.seen is not model.seen
    assert float(stepped.seen.value) == 2.0
    stepped(Tensor.ones([2], DEVICE))
    assert (float(model.seen.value), float(stepped.seen.value)) == (2.0, 4.0)


@pytest.mark.parametrize("rate", [1, np.float32(0.5), np.float64(0.25)])
def test_a_learning_rate_is_any_number(rate: Any) -> None:
    model = network(DEVICE)
    expected = SgdConfig().init().step(float(rate), model, backward(model))
    assert_equal(values_of(SgdConfig().init().step(rate, model, backward(model))), values_of(expected))


@pytest.mark.parametrize("rate", ["fast", None, True, [0.1], float("nan")])
def test_what_is_no_learning_rate_is_refused(rate: Any) -> None:
    model = network(DEVICE)
    with pytest.raises(ArgumentError, match=r"step: the learning rate is (a number|NaN)"):
        SgdConfig().init().step(rate, model, backward(model))


def test_all_gradients_of_a_wrong_shape_are_listed_and_nothing_happens() -> None:
    model, optim, grads = network(DEVICE), AdamConfig().init(), GradientsParams()
    for param in model.parameters():
        grads.register(param.id, Tensor.ones([4], DEVICE))
    with pytest.raises(ArgumentError) as error:
        optim.step(0.1, model, grads)
    assert "inner.weight has shape (5, 7), its gradient (4,)" in str(error.value)
    assert "outer.bias has shape (3,), its gradient (4,)" in str(error.value)
    assert len(grads) == 4
    assert optim.slots == {}


def test_gradients_of_another_model_are_refused() -> None:
    model, other = network(DEVICE), network(DEVICE)
    with pytest.raises(ArgumentError, match="none of the 4 gradients belongs to a parameter of this Network"):
        SgdConfig().init().step(0.1, model, backward(other))


def test_something_that_is_no_gradient_is_refused() -> None:
    model = network(DEVICE)
    with pytest.raises(ArgumentError, match=r"step: needs gradients, got Tensor; write loss.backward\(\)"):
        SgdConfig().init().step(0.1, model, loss_of(model, DEVICE))


def test_states_follow_a_model_to_another_device() -> None:
    rates = falling(0.01)[:10]
    expected = ours(AdamConfig().init(), DEVICES["ndarray"], rates)
    optim, model = AdamConfig().init(), network(DEVICE)
    for rate in rates[:5]:
        model = optim.step(rate, model, backward(model))
    there = DEVICES["libtorch"].autodiff()
    model = model.to_device(there)
    for rate in rates[5:]:
        model = optim.step(rate, model, backward(model, there))
    assert_equal(values_of(model), expected)
    assert optim.state(model.inner.weight.id).state.moment_1.device is there.inner()


def test_gradients_from_another_device_are_moved() -> None:
    model = network(DEVICE)
    there = DEVICES["libtorch"].autodiff()
    fork = model.fork(there)
    grads = GradientsParams.from_grads(backward(fork, there), fork)
    expected = SgdConfig().init().step(0.1, model, backward(model))
    assert_equal(values_of(SgdConfig().init().step(0.1, model, grads)), values_of(expected), 1e-12)


def test_second_order_devices_are_updated_below_both() -> None:
    device = Autodiff(Autodiff(DEVICES["ndarray"]))
    model = network(device)
    stepped = AdamConfig().init().step(0.01, model, loss_of(model, device).backward())
    plain = network(DEVICE)
    expected = AdamConfig().init().step(0.01, plain, backward(plain))
    assert stepped.inner.weight.device is device
    assert_equal(values_of(stepped), values_of(expected))


@pytest.mark.parametrize("device", [NdArray(), LibTorch("cpu"), Cpu()], ids=["ndarray", "libtorch", "cpu"])
def test_states_have_the_dtype_of_their_parameter(device: Any) -> None:
    model, optim = network(device.autodiff()), RmsPropConfig(centered=True).init()
    stepped = optim.step(0.01, model, backward(model, device.autodiff()))
    state = optim.state(model.inner.weight.id).state
    assert stepped.inner.weight.dtype is device.float_dtype
    assert {each.dtype for each in state} == {device.float_dtype}


# Groups


def test_groups_match_by_path_text_pattern_and_id() -> None:
    model = network(DEVICE)
    paths = {path: param.id for path, param in model.named_parameters()}

    def chosen(group: ParamGroup) -> list[str]:
        return [path for path, id in paths.items() if group.matches(id, path)]

    everything = ["inner.weight", "inner.bias", "outer.weight", "outer.bias"]
    assert chosen(ParamGroup.all()) == everything
    assert chosen(ParamGroup.from_path("inner.bias")) == ["inner.bias"]
    assert chosen(ParamGroup.from_paths(["inner.bias", "inner"])) == ["inner.bias"]
    assert chosen(ParamGroup.under("inner")) == ["inner.weight", "inner.bias"]
    assert chosen(ParamGroup.from_predicate("bias")) == ["inner.bias", "outer.bias"]
    assert chosen(ParamGroup.from_predicates(["bias", "out"])) == ["outer.bias"]
    assert chosen(ParamGroup.from_any_predicates(["bias", "out"])) == ["inner.bias", "outer.weight", "outer.bias"]
    assert chosen(ParamGroup.from_regex(r"^inner\.w")) == ["inner.weight"]
    assert chosen(ParamGroup.from_regexes(["inner", "weight$"])) == ["inner.weight"]
    assert chosen(ParamGroup.from_any_regexes(["^inner", "bias$"])) == ["inner.weight", "inner.bias", "outer.bias"]
    assert chosen(ParamGroup.from_ids([model.outer.weight.id])) == ["outer.weight"]
    assert chosen(ParamGroup.ids_from_module(model.outer)) == ["outer.weight", "outer.bias"]
    assert chosen(ParamGroup.under("inner") | ParamGroup.from_path("outer.bias")) == [*everything[:2], "outer.bias"]
    assert chosen(ParamGroup.all().exclude(ParamGroup.from_predicate("bias"))) == ["inner.weight", "outer.weight"]


def test_equal_groups_are_equal_and_say_how_they_are_made() -> None:
    assert ParamGroup.under("a") == ParamGroup.under("a")
    assert len({ParamGroup.under("a"), ParamGroup.under("a"), ParamGroup.under("b")}) == 2
    assert repr(ParamGroup.under("a") - ParamGroup.all()) == "(ParamGroup.under('a') - ParamGroup.all())"
    with pytest.raises(ArgumentError, match=r"from_regexes: '\(' is no regular expression"):
        ParamGroup.from_regex("(")


def test_each_group_has_its_own_optimizer() -> None:
    import torch

    rates = falling(0.05)
    optim = (
        AdamConfig()
        .init()
        .with_group(ParamGroup.from_regex("bias$"), SgdConfig(momentum=MomentumConfig(0.5, 0.0)).init())
    )

    class Both:
        """Two optimizers of PyTorch's as one."""

        def __init__(self, parameters: list[Any]) -> None:
            self.parts = [
                torch.optim.Adam(parameters[::2], 1.0, eps=1e-5),
                torch.optim.SGD(parameters[1::2], 1.0, momentum=0.5),
            ]
            self.param_groups = [group for part in self.parts for group in part.param_groups]

        def zero_grad(self) -> None:
            for part in self.parts:
                part.zero_grad()

        def step(self) -> None:
            for part in self.parts:
                part.step()

    assert_equal(ours(optim, DEVICES["ndarray"], rates), theirs(Both, rates))  # type: ignore[arg-type]


def test_the_last_group_that_matches_counts() -> None:
    model = network(DEVICE)
    optim = SgdConfig().init().with_group(ParamGroup.under("inner"), AdamConfig().init())
    optim = optim.with_group(ParamGroup.from_path("inner.bias"), SgdConfig().init())
    optim.step(0.1, model, backward(model))
    assert set(optim.slots) == {model.inner.weight.id}


def test_learning_rates_by_group_are_those_of_the_last_group() -> None:
    model = network(DEVICE)
    grads = GradientsParams.from_grads(backward(model), model)
    expected = [
        value - rate * np.asarray(grads[param.id])
        for value, rate, param in zip(values_of(model), (0.1, 0.2, 0.3, 0.2), model.parameters(), strict=True)
    ]
    rates = {ParamGroup.all(): 0.1, ParamGroup.under("outer"): 0.3, ParamGroup.from_predicate("bias"): 0.2}
    assert_equal(values_of(SgdConfig().init().step(rates, model, grads)), expected, 1e-12)


def test_a_parameter_without_a_rate_is_named() -> None:
    model = network(DEVICE)
    with pytest.raises(ArgumentError, match="step: no learning rate is for outer.weight; begin with one for all"):
        SgdConfig().init().step({ParamGroup.under("inner"): 0.1}, model, backward(model))
    with pytest.raises(ArgumentError, match="need ParamGroup keys"):
        SgdConfig().init().step({"inner": 0.1}, model, backward(model))


def test_a_parameter_that_changes_its_group_begins_anew() -> None:
    model, optim = network(DEVICE), AdamConfig().init()
    model = optim.step(0.1, model, backward(model))
    optim = optim.with_group(ParamGroup.under("inner"), RmsPropConfig().init())
    optim.step(0.1, model, backward(model))
    assert optim.state(model.inner.bias.id).time is None
    assert optim.state(model.outer.bias.id).time == 2.0


def test_muon_names_every_parameter_that_is_no_matrix() -> None:
    model = network(DEVICE)
    with pytest.raises(ArgumentError) as error:
        MuonConfig().init().step(0.1, model, backward(model))
    assert "inner.bias has rank 1, and Muon is for matrices" in str(error.value)
    assert "outer.bias" in str(error.value)
    optim = AdamWConfig().init().with_group(ParamGroup.from_predicate("weight"), MuonConfig().init())
    optim.step(0.1, model, backward(model))
    assert optim.state(model.inner.bias.id).time == 1.0


# Optimizers of one's own


class Signs(SimpleOptimizer):
    """Steps by the sign of the gradient."""

    def update(self, lr: Any, tensor: Tensor[Any], gradient: Tensor[Any], state: Any) -> Any:
        return tensor - gradient.sign() * lr, None


class Mean(NamedTuple):
    """What `Averaging` keeps."""

    mean: Any


class Averaging(SimpleOptimizer):
    """Follows the mean of all gradients."""

    timed = True
    state_type = Mean

    def coefficients(self, lr: Any, time: Any) -> Any:
        return lr, 1.0 / time

    def update(self, coefficients: Any, tensor: Tensor[Any], gradient: Tensor[Any], state: Any) -> Any:
        lr, share = coefficients
        mean = gradient if state is None else state.mean + (gradient - state.mean) * share
        return tensor - mean * lr, Mean(mean)


def test_an_optimizer_of_ones_own_needs_an_update() -> None:
    model = network(DEVICE)
    grads = GradientsParams.from_grads(backward(model), model)
    expected = [
        value - 0.1 * np.sign(np.asarray(grads[param.id]))
        for value, param in zip(values_of(model), model.parameters(), strict=True)
    ]
    assert_equal(values_of(Optimizer(Signs()).step(0.1, model, grads)), expected)


def test_the_pure_layer_is_a_function_of_tensors() -> None:
    device = DEVICES["ndarray"]
    x, g = Tensor.from_data([1.0, 2.0], device), Tensor.from_data([1.0, -1.0], device)
    simple = Averaging()
    first, slot = simple.step(0.5, x, g)
    second, later = simple.step(0.5, first, -g, slot)
    np.testing.assert_allclose(first, [0.5, 2.5])
    np.testing.assert_allclose(second, [0.5, 2.5])
    assert (slot.time, later.time) == (1.0, 2.0)
    np.testing.assert_allclose(simple.step(0.5, first, -g, slot)[0], second)


def test_a_state_of_another_shape_is_named() -> None:
    device = DEVICE
    param = Param(Tensor.ones([3], device))

    class One(Module):
        weight: Param

    optim = Optimizer(Averaging())
    model = One(param)
    optim.step(0.1, model, (model.weight * 2.0).sum().backward())
    other = One(param.with_value(Tensor.ones([2], device)))
    with pytest.raises(ArgumentError, match=r"weight has shape \(2,\), its state \(3,\)"):
        optim.step(0.1, other, (other.weight * 2.0).sum().backward())
