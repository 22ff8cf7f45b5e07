"""Norms against PyTorch: results, gradients and running statistics, on every kind of device."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import burn
from burn import ArgumentError, NdArray, ShapeError, Tensor
from burn.nn import (
    BatchNormConfig,
    GroupNormConfig,
    InstanceNormConfig,
    LayerNormConfig,
    LocalResponseNormConfig,
    Normalization,
    NormalizationConfig,
    RmsNormConfig,
)
from tests.nn.peers import adopted, every_device, fields, floats, numbers, same

DEVICE = NdArray()
AFFINE = {"gamma": "weight", "beta": "bias"}


def drawn(module):
    """A torch module in f64 whose parameters are not the usual ones and zeros."""
    torch.manual_seed(0)
    for param in module.parameters():
        torch.nn.init.normal_(param)
    return module.double()


CASES = {
    "layer": (LayerNormConfig(6), lambda: torch.nn.LayerNorm(6), AFFINE, (2, 3, 6)),
    "layer of one": (LayerNormConfig(1), lambda: torch.nn.LayerNorm(1), AFFINE, (4, 1)),
    "layer of a row": (LayerNormConfig(5, epsilon=0.1), lambda: torch.nn.LayerNorm(5, 0.1), AFFINE, (5,)),
    "layer without bias": (
        LayerNormConfig(4, bias=False), lambda: torch.nn.LayerNorm(4, bias=False), {"gamma": "weight"}, (3, 4)
    ),
    "rms": (RmsNormConfig(5), lambda: torch.nn.RMSNorm(5, 1e-5), {"gamma": "weight"}, (2, 3, 5)),
    "rms with large epsilon": (
        RmsNormConfig(3, epsilon=0.5), lambda: torch.nn.RMSNorm(3, 0.5), {"gamma": "weight"}, (4, 3)
    ),
    "group": (GroupNormConfig(2, 6), lambda: torch.nn.GroupNorm(2, 6), AFFINE, (2, 6, 3, 2)),
    "group of rows": (GroupNormConfig(3, 6, epsilon=1e-3), lambda: torch.nn.GroupNorm(3, 6, 1e-3), AFFINE, (4, 6)),
    "group not affine": (
        GroupNormConfig(1, 3, affine=False), lambda: torch.nn.GroupNorm(1, 3, affine=False), {}, (2, 3, 5)
    ),
    "instance": (
        InstanceNormConfig(3), lambda: torch.nn.InstanceNorm2d(3, affine=True), AFFINE, (2, 3, 4, 3)
    ),
    "instance not affine": (
        InstanceNormConfig(2, epsilon=0.01, affine=False), lambda: torch.nn.InstanceNorm1d(2, 0.01), {}, (3, 2, 7)
    ),
    "local response": (
        LocalResponseNormConfig(3, alpha=0.3, beta=0.6, k=2.0), lambda: torch.nn.LocalResponseNorm(3, 0.3, 0.6, 2.0),
        {}, (2, 5, 3),
    ),
    "local response of images": (
        LocalResponseNormConfig(5, alpha=1.0), lambda: torch.nn.LocalResponseNorm(5, 1.0), {}, (1, 4, 2, 3)
    ),
}  # fmt: skip


@every_device
@pytest.mark.parametrize("case", CASES)
def test_results_and_gradients_are_those_of_torch(case, device):
    config, make, names, shape = CASES[case]
    ours = config.init() if isinstance(config, LocalResponseNormConfig) else config.init(device)
    same(ours, drawn(make()), floats(*shape), names=names, device=device)


def test_an_even_local_response_reaches_further_up():
    x = np.zeros((1, 4, 1))
    x[0, 2] = 2.0
    ours = LocalResponseNormConfig(2, alpha=1.0, beta=1.0, k=0.0).init()
    found = numbers(ours(Tensor.from_data(x + 1e-3, DEVICE)))
    # Channel 1 sees its upper neighbour, channel 3 does not see its lower one.
    assert found[0, 1, 0] < 0.01 < found[0, 3, 0]


# Batch norm


BATCHES = [(4, 3), (2, 3, 5), (3, 3, 2, 4), (2, 3, 2, 1, 2)]
TORCH = {2: torch.nn.BatchNorm1d, 3: torch.nn.BatchNorm1d, 4: torch.nn.BatchNorm2d, 5: torch.nn.BatchNorm3d}


@every_device
@pytest.mark.parametrize("shape", BATCHES, ids=str)
def test_batch_norm_trains_like_torch_and_remembers_the_same_statistics(shape, device):
    theirs = drawn(TORCH[len(shape)](3, 1e-3, 0.3))
    ours = adopted(BatchNormConfig(3, 1e-3, 0.3).init(device), theirs, AFFINE)
    for step in range(3):
        theirs.zero_grad()
        same_step(ours, theirs, floats(*shape, seed=step), device)
    np.testing.assert_allclose(numbers(ours.running_mean), theirs.running_mean.numpy(), rtol=1e-12)
    np.testing.assert_allclose(numbers(ours.running_var), theirs.running_var.numpy(), rtol=1e-12)
    kept = numbers(ours.running_mean).copy()
    x = floats(*shape, seed=7)
    theirs.eval()
    expected = theirs(torch.from_numpy(x)).detach().numpy()
    found = ours.valid()(Tensor.from_data(x, device.inner()))
    np.testing.assert_allclose(numbers(found), expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(numbers(ours.running_mean), kept)


def same_step(ours, theirs, x, device):
    """One step of both, with all gradients, on modules that keep their state."""
    peer = torch.from_numpy(x).requires_grad_()
    expected = theirs(peer)
    weight = floats(*x.shape, seed=11)
    expected.backward(torch.from_numpy(weight))
    mine = Tensor.from_data(x, device).require_grad()
    found = ours(mine)
    grads = (found * Tensor.from_data(weight, device)).sum().backward()
    close = {"rtol": 1e-8, "atol": 1e-10}
    np.testing.assert_allclose(numbers(found), expected.detach().numpy(), **close)
    np.testing.assert_allclose(numbers(mine.grad(grads)), peer.grad.numpy(), **close)
    np.testing.assert_allclose(numbers(ours.gamma.grad(grads)), theirs.weight.grad.numpy(), **close)
    np.testing.assert_allclose(numbers(ours.beta.grad(grads)), theirs.bias.grad.numpy(), **close)


@every_device
def test_frozen_statistics_still_let_gradients_through(device):
    theirs = drawn(torch.nn.BatchNorm1d(3))
    theirs.running_mean.copy_(torch.tensor([0.5, -1.0, 2.0]))
    theirs.running_var.copy_(torch.tensor([0.5, 2.0, 1.5]))
    theirs.eval()
    ours = adopted(BatchNormConfig(3).init(device), theirs, AFFINE)
    ours.running_mean.update(Tensor.from_data([0.5, -1.0, 2.0], device))
    ours.running_var.update(Tensor.from_data([0.5, 2.0, 1.5], device))
    frozen = ours.mode("infer")
    same_step(frozen, theirs, floats(4, 3, 2), device)
    np.testing.assert_array_equal(numbers(frozen.running_mean), [0.5, -1.0, 2.0])


def test_a_model_kept_aside_keeps_its_statistics():
    layer = BatchNormConfig(2).init(DEVICE.autodiff())
    aside = layer.clone()
    layer(Tensor.from_data(floats(5, 2), DEVICE.autodiff()))
    assert numbers(layer.running_mean).any()
    assert not numbers(aside.running_mean).any()


def test_batch_norm_outside_training_leaves_its_statistics_alone():
    layer = BatchNormConfig(2).init(DEVICE)
    layer(Tensor.from_data(floats(5, 2), DEVICE))
    np.testing.assert_array_equal(numbers(layer.running_mean), [0, 0])
    in_training = layer.mode("train")
    in_training(Tensor.from_data(floats(5, 2), DEVICE))
    assert numbers(in_training.running_mean).any()


def test_batch_norm_of_one_element_a_channel_cannot_train():
    layer = BatchNormConfig(2).init(DEVICE.autodiff())
    with pytest.raises(ShapeError, match=r"one element a channel.*larger batch"):
        layer(Tensor.ones([1, 2], DEVICE.autodiff()))
    assert not numbers(layer.running_mean).any()
    assert layer.valid()(Tensor.ones([1, 2], DEVICE)).shape == (1, 2)


def test_a_captured_training_step_moves_the_statistics_as_an_eager_one():
    device = burn.Cpu().autodiff()
    config = BatchNormConfig(3)
    eager, captured = config.init(device), config.init(device)

    def step(layer, x):
        grads = (layer(x) * x).sum().backward()
        return layer.gamma.grad(grads)

    compiled = burn.compile(step)
    for seed in range(4):
        x = Tensor.from_data(floats(6, 3, 2, seed=seed), device).float()
        np.testing.assert_allclose(numbers(compiled(captured, x)), numbers(step(eager, x)), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(numbers(captured.running_mean), numbers(eager.running_mean), rtol=1e-5)
    np.testing.assert_allclose(numbers(captured.running_var), numbers(eager.running_var), rtol=1e-5)
    assert numbers(captured.running_mean).any()


# Choice, refusals, records, display


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (NormalizationConfig.Batch(BatchNormConfig(1)), "Batch"),
        (NormalizationConfig.Group(GroupNormConfig(2, 2)), "Group"),
        (NormalizationConfig.Instance(InstanceNormConfig(1)), "Instance"),
        (NormalizationConfig.Layer(LayerNormConfig(1)), "Layer"),
        (NormalizationConfig.Rms(RmsNormConfig(1)), "Rms"),
        (NormalizationConfig.Identity, "Identity"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_a_norm_is_chosen_by_a_config(config, name):
    config = config.with_num_features(4)
    module = config.init(DEVICE)
    assert isinstance(module, Normalization)
    assert module.variant == name
    features = 0 if name == "Identity" else 4
    assert config.num_features() == module.num_features() == features
    x = Tensor.from_data(floats(2, 4, 4), DEVICE)
    assert module(x).shape == (2, 4, 4)
    assert NormalizationConfig.from_json(config.to_json()) == config


def test_the_variants_of_a_record_have_the_places_of_the_older_releases():
    item = NormalizationConfig.Rms(RmsNormConfig(2)).init(DEVICE).into_record().item
    assert (item.name, item.index) == ("Rms", 4)


def test_settings_out_of_range_are_refused_together():
    with pytest.raises(ArgumentError) as caught:
        BatchNormConfig(0, epsilon=-1.0, momentum=2.0).init(DEVICE)
    for part in ("num_features must be 1 or more", "epsilon must be 0 or more", "momentum must be between 0 and 1"):
        assert part in str(caught.value)
    with pytest.raises(ArgumentError, match="num_groups=4 must divide num_channels=6"):
        GroupNormConfig(4, 6).init(DEVICE)
    with pytest.raises(ArgumentError, match="epsilon must be above 0"):
        RmsNormConfig(3, epsilon=0.0).init(DEVICE)
    with pytest.raises(ArgumentError, match="size must be 1 or more"):
        LocalResponseNormConfig(0).init()


def test_inputs_of_the_wrong_shape_are_refused():
    with pytest.raises(ShapeError, match="batch_norm"):
        BatchNormConfig(3).init(DEVICE)(Tensor.ones([3], DEVICE))
    with pytest.raises(ShapeError, match="batch_norm_training"):
        BatchNormConfig(3).init(DEVICE.autodiff())(Tensor.ones([2, 4], DEVICE.autodiff()))
    with pytest.raises(ShapeError, match="layer_norm"):
        LayerNormConfig(3).init(DEVICE)(Tensor.ones([2, 4], DEVICE))
    with pytest.raises(ShapeError, match="LocalResponseNorm"):
        LocalResponseNormConfig(3).init()(Tensor.ones([2, 4], DEVICE))


def test_records_have_every_field_in_order():
    batch = ["gamma", "beta", "running_mean", "running_var", "momentum", "epsilon"]
    assert fields(BatchNormConfig(2).init(DEVICE)) == batch
    assert fields(LayerNormConfig(2).init(DEVICE)) == ["gamma", "beta", "epsilon"]
    assert fields(RmsNormConfig(2).init(DEVICE)) == ["gamma", "epsilon"]
    group = ["gamma", "beta", "num_groups", "num_channels", "epsilon", "affine"]
    assert fields(GroupNormConfig(1, 2).init(DEVICE)) == group
    assert fields(InstanceNormConfig(2).init(DEVICE)) == [name for name in group if name != "num_groups"]


def test_running_statistics_travel_with_the_record():
    layer = BatchNormConfig(2).init(DEVICE.autodiff())
    layer(Tensor.from_data(floats(5, 2), DEVICE.autodiff()))
    loaded = BatchNormConfig(2).init(DEVICE).load_record(layer.into_record())
    np.testing.assert_array_equal(numbers(loaded.running_var), numbers(layer.running_var))


def test_norms_print_their_settings():
    assert str(BatchNormConfig(3, epsilon=0.5).init(DEVICE)) == (
        "BatchNorm {num_features: 3, momentum: 0.1, epsilon: 0.5, params: 12}"
    )
    assert str(LayerNormConfig(3).init(DEVICE)) == "LayerNorm {d_model: 3, epsilon: 0.00001, params: 6}"
    assert str(GroupNormConfig(1, 3, epsilon=0.5).init(DEVICE)) == (
        "GroupNorm {num_groups: 1, num_channels: 3, epsilon: 0.5, affine: true, params: 6}"
    )
    assert str(LocalResponseNormConfig(3, alpha=0.1).init()) == (
        "LocalResponseNorm {size: 3, alpha: 0.1, beta: 0.75, k: 1}"
    )
