"""Whole training steps: captured = eager, snapshots, tied weights, mixed optimizers, accumulated gradients."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import burn
from burn import CaptureWarning, Cpu, Fusion, NdArray, Tensor
from burn.module import Module, Param
from burn.nn import (
    BatchNorm,
    BatchNormConfig,
    Dropout,
    DropoutConfig,
    Linear,
    LinearConfig,
    Lstm,
    LstmConfig,
    TransformerEncoder,
    TransformerEncoderConfig,
    TransformerEncoderInput,
)
from burn.nn.conv import Conv2d, Conv2dConfig
from burn.nn.loss import CrossEntropyLoss, MseLoss
from burn.nn.pool import AdaptiveAvgPool2d, AdaptiveAvgPool2dConfig
from burn.optim import AdamConfig, AdamWConfig, GradientsAccumulator, GradientsParams, SgdConfig
from burn.record import BinFileRecorder, NamedMpkFileRecorder

DEVICES = [Cpu().autodiff(), Fusion(NdArray()).autodiff()]
STEPS = 20


class Mlp(Module):
    first: Linear
    dropout: Dropout
    last: Linear

    @classmethod
    def init(cls, device):
        return cls(LinearConfig(6, 16).init(device), DropoutConfig(0.3).init(), LinearConfig(16, 3).init(device))

    def forward(self, x):
        return self.last(self.dropout(self.first(x).relu()))


class Cnn(Module):
    conv: Conv2d
    norm: BatchNorm
    pool: AdaptiveAvgPool2d
    dropout: Dropout
    last: Linear

    @classmethod
    def init(cls, device):
        return cls(
            Conv2dConfig([1, 4], [3, 3]).init(device),
            BatchNormConfig(4).init(device),
            AdaptiveAvgPool2dConfig([2, 2]).init(),
            DropoutConfig(0.25).init(),
            LinearConfig(16, 3).init(device),
        )

    def forward(self, x):
        x = self.dropout(self.norm(self.conv(x)).relu())
        return self.last(self.pool(x).reshape([x.shape[0], 16]))


class Recurrent(Module):
    lstm: Lstm
    last: Linear

    @classmethod
    def init(cls, device):
        return cls(LstmConfig(4, 8, bias=True).init(device), LinearConfig(8, 3).init(device))

    def forward(self, x):
        _, state = self.lstm(x, None)
        return self.last(state.hidden)


class Attentive(Module):
    encoder: TransformerEncoder
    last: Linear

    @classmethod
    def init(cls, device):
        config = TransformerEncoderConfig(8, 16, 2, 2, dropout=0.1, norm_first=True)
        return cls(config.init(device), LinearConfig(8, 3).init(device))

    def forward(self, x):
        return self.last(self.encoder(TransformerEncoderInput(x)).mean_dim(1).squeeze_dim(1))


MODELS = {
    "mlp": (Mlp, (8, 6)),
    "cnn": (Cnn, (8, 1, 6, 6)),
    "lstm": (Recurrent, (4, 5, 4)),
    "transformer": (Attentive, (3, 5, 8)),
}


def train_step(model, optim, x, targets, lr):
    loss = CrossEntropyLoss(None, x.device)(model(x), targets)
    grads = GradientsParams.from_grads(loss.backward(), model)
    return optim.step(lr, model, grads), loss.inner()


def batches(shape, device):
    random = np.random.default_rng(1)
    for _ in range(STEPS):
        x = Tensor.from_data(random.normal(size=shape).astype(np.float32), device)
        yield x, Tensor.from_data(random.integers(0, 3, shape[0]), device)


def trained(name, device, captured, config):
    kind, shape = MODELS[name]
    device.seed(11)
    model, optim = kind.init(device), config.init()
    step = burn.compile(train_step) if captured else train_step
    losses, kept = [], []
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)
        for number, (x, targets) in enumerate(batches(shape, device)):
            old = model
            model, loss = step(model, optim, x, targets, 1e-2 / (1 + number))
            losses.append(loss.item())
            if number in (3, 9):
                kept.append((old, state_of(old)))
    for snapshot, before in kept:
        for path, array in state_of(snapshot).items():
            assert (array == before[path]).all(), f"the model kept aside changed at {path}"
    if captured:
        assert len(step.ready) == 1
    return losses, state_of(model), optim


def state_of(model):
    return {
        path: np.array((leaf.val() if isinstance(leaf, Param) else leaf.value).numpy()) for path, leaf in model.leaves()
    }


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", MODELS)
def test_twenty_captured_steps_equal_twenty_eager_ones(name, device):
    config = AdamWConfig()
    losses, state, optim = trained(name, device, captured=False, config=config)
    captured_losses, captured_state, captured_optim = trained(name, device, captured=True, config=config)
    assert np.allclose(losses, captured_losses, rtol=1e-4, atol=1e-5)
    for path, array in state.items():
        assert np.allclose(captured_state[path], array, rtol=1e-3, atol=2e-5), path
    mine, theirs = optim.to_record().item, captured_optim.to_record().item
    assert len(mine) == len(theirs) > 0


def test_running_statistics_move_in_captured_steps():
    device = DEVICES[0]
    model = Cnn.init(device)
    before = state_of(model)["norm.running_mean"]
    _, after, _ = trained("cnn", device, captured=True, config=SgdConfig())
    assert not np.allclose(before, after["norm.running_mean"])


class Tied(Module):
    into: Linear
    back: Linear

    def forward(self, x):
        return self.back(self.into(x).tanh())


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("recorder", [NamedMpkFileRecorder, BinFileRecorder])
def test_tied_weights_stay_tied_through_step_save_and_load(captured, recorder, tmp_path):
    device = DEVICES[0]
    layer = LinearConfig(4, 4).init(device)
    model, optim = Tied(layer, Linear(layer.weight, LinearConfig(4, 4).init(device).bias)), AdamConfig().init()

    def fit(model, optim, x):
        return optim.step(1e-2, model, MseLoss()(model(x), x).backward())

    step = burn.compile(fit) if captured else fit
    x = Tensor.random([5, 4], device=device)
    for _ in range(5):
        model = step(model, optim, x)
    assert model.into.weight is model.back.weight
    assert model.into.bias is not model.back.bias
    model.save_file(tmp_path / "tied", recorder())
    loaded = Tied(LinearConfig(4, 4).init(device), LinearConfig(4, 4).init(device)).load_file(
        tmp_path / "tied", recorder()
    )
    assert loaded.into.weight is loaded.back.weight
    assert (loaded.into.weight.numpy() == model.into.weight.numpy()).all()


def test_the_optimizer_goes_on_from_a_record_as_if_nothing_had_happened(tmp_path):
    device = DEVICES[0]
    device.seed(5)
    model, optim = Cnn.init(device), AdamConfig().init()
    data = list(batches((8, 1, 6, 6), device))
    for x, targets in data[:5]:
        model, _ = train_step(model, optim, x, targets, 1e-2)
    model.save_file(tmp_path / "model")
    NamedMpkFileRecorder().record(optim.to_record(), tmp_path / "optim")
    again = Cnn.init(device).load_file(tmp_path / "model")
    other = AdamConfig().init().load_record(NamedMpkFileRecorder().load(tmp_path / "optim"))
    for target in ((model, optim), (again, other)):
        device.seed(6)
        one, its = target
        for x, targets in data[5:]:
            one, _loss = train_step(one, its, x, targets, 1e-2)
        if target[0] is model:
            expected = state_of(one)
    for path, array in state_of(one).items():
        assert (array == expected[path]).all(), path


def test_the_sample_with_several_optimizers():
    device = NdArray().autodiff()
    model, optim = Cnn.init(device), SgdConfig().init()
    x, targets = next(batches((8, 1, 6, 6), device))
    before = state_of(model)
    grads = CrossEntropyLoss(None, device)(model(x), targets).backward()

    grads_conv = GradientsParams.from_module(grads, model.conv)
    model = optim.step(0.02, model, grads_conv)
    if model.last.bias is not None:
        grads_bias = GradientsParams.from_params(grads, model.last, [model.last.bias.id])
        model = optim.step(0.001, model, grads_bias)
    grads = GradientsParams.from_grads(grads, model)
    model = optim.step(0.01, model, grads)
    unchanged = [path for path, array in state_of(model).items() if (array == before[path]).all()]
    assert [path for path in unchanged if path != "conv.bias"] == []  # a batch norm follows: its gradient is nearly 0


def test_the_sample_with_accumulated_gradients():
    device = NdArray().autodiff()
    device.seed(1)
    model, accumulator = Mlp.init(device).mode("infer"), GradientsAccumulator()
    x, targets = next(batches((8, 6), device))
    loss = CrossEntropyLoss(None, device)
    whole = GradientsParams.from_grads(loss(model(x), targets).backward(), model)
    for half in (slice(0, 4), slice(4, 8)):
        grads = GradientsParams.from_grads(loss(model(x[half]), targets[half]).backward(), model)
        accumulator.accumulate(model, grads)
    summed = accumulator.grads()
    for param in model.parameters():
        assert np.allclose(summed.get(param.id).numpy() / 2, whole.get(param.id).numpy(), atol=1e-6)
