"""Optimizer records: their layout, and training that goes on from one as if it had never stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest

import burn
from burn import Cpu, Tensor
from burn.module.groups import ParamGroup
from burn.optim import (
    AdaGradConfig,
    AdamConfig,
    AdamWConfig,
    AdanConfig,
    LbfgsConfig,
    LineSearchFn,
    MomentumConfig,
    MuonConfig,
    RmsPropConfig,
    SgdConfig,
)
from burn.record import (
    BinFileRecorder,
    DoublePrecisionSettings,
    JsonGzFileRecorder,
    NamedMpkBytesRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    Record,
    RecordError,
)
from tests.optim.tasks import DEVICES, assert_equal, loss_of, matrices, network, values_of

DEVICE = DEVICES["ndarray"].autodiff()

OPTIMIZERS: dict[str, Any] = {
    "sgd": SgdConfig(),
    "sgd-momentum": SgdConfig(momentum=MomentumConfig()),
    "adam": AdamConfig(),
    "adam-amsgrad": AdamConfig(amsgrad=True),
    "adamw": AdamWConfig(),
    "adagrad": AdaGradConfig(lr_decay=0.1),
    "rmsprop": RmsPropConfig(),
    "rmsprop-centered": RmsPropConfig(centered=True, momentum=0.0),
    "muon": MuonConfig(),
    "adan": AdanConfig(),
}

RECORDERS = [NamedMpkFileRecorder, NamedMpkGzFileRecorder, BinFileRecorder, JsonGzFileRecorder]


def train(optim: Any, model: Any, steps: int, device: Any = DEVICE) -> Any:
    for _ in range(steps):
        model = optim.step(0.01, model, loss_of(model, device).backward())
    return model


def start_of(name: str, device: Any = DEVICE) -> Any:
    return matrices(device) if name == "muon" else network(device)


@pytest.mark.parametrize("kind", RECORDERS)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_training_goes_on_from_files_bit_for_bit(name: str, kind: Any, tmp_path: Path) -> None:
    config = OPTIMIZERS[name]
    optim, recorder = config.init(), kind(DoublePrecisionSettings)
    model = train(optim, start_of(name), 4)
    model.save_file(tmp_path / "model", recorder)
    recorder.record(optim.to_record(), tmp_path / "optim")
    expected = values_of(train(optim, model, 4))

    fresh = start_of(name).load_file(tmp_path / "model", recorder)
    again = config.init().load_record(recorder.load(tmp_path / "optim"))
    assert_equal(values_of(train(again, fresh, 4)), expected, 0.0)
    assert again.__tree__()[1] == optim.__tree__()[1]


@pytest.mark.parametrize("name", ["adam", "lbfgs"])
@pytest.mark.parametrize("placed", [False, True], ids=["later", "placed"])
def test_a_model_in_64_bits_on_a_device_of_32_goes_on_bit_for_bit(name: str, placed: bool, tmp_path: Path) -> None:
    device = burn.NdArray().autodiff()
    config: Any = {**OPTIMIZERS, "lbfgs": LbfgsConfig(max_iter=3)}[name]
    recorder = NamedMpkFileRecorder(DoublePrecisionSettings)
    inputs = Tensor.from_data(np.random.default_rng(1).standard_normal((11, 5)), device, burn.f64)

    def steps(optim: Any, model: Any) -> Any:
        def closure(model: Any) -> Any:
            loss = (model(inputs) * model(inputs)).mean()
            return loss, loss.backward()

        for _ in range(3):
            model = (
                optim.step(0.01, model, closure)[0] if name == "lbfgs" else optim.step(0.01, model, closure(model)[1])
            )
        return model

    optim = config.init()
    model = steps(optim, network(device).cast("f64"))
    recorder.record(optim.to_record(), tmp_path / "optim")
    expected = values_of(steps(optim, model))
    again = config.init().load_record(recorder.load(tmp_path / "optim"), *([device] if placed else []))
    assert_equal(values_of(steps(again, model)), expected, 0.0)
    assert expected[0].dtype == np.float64


def shape_of(item: Any) -> Any:
    """A record with the shapes in the place of tensors."""
    if isinstance(item, dict) and set(item) == {"bytes", "shape", "dtype"}:
        return tuple(item["shape"])
    return {name: shape_of(each) for name, each in item.items()} if isinstance(item, dict) else item


LAYOUTS: dict[str, Any] = {
    "sgd": None,
    "sgd-momentum": {"momentum": {"velocity": (5, 7)}},
    "adam": {"momentum": {"time": 3, "moment_1": (5, 7), "moment_2": (5, 7)}},
    "adam-amsgrad": {"momentum": {"time": 3, "moment_1": (5, 7), "moment_2": (5, 7), "max_moment_2": (5, 7)}},
    "adamw": {"momentum": {"time": 3, "moment_1": (5, 7), "moment_2": (5, 7)}},
    "adagrad": {"lr_decay": {"time": 3, "sum": (5, 7)}},
    "rmsprop": {
        "square_avg": {"square_avg": (5, 7)},
        "centered": {"grad_avg": None, "avg": (5, 7)},
        "momentum": {"buf": (5, 7)},
    },
    "rmsprop-centered": {
        "square_avg": {"square_avg": (5, 7)},
        "centered": {"grad_avg": (5, 7), "avg": (5, 7)},
        "momentum": None,
    },
    "muon": {"momentum": {"velocity": (5, 7)}},
    "adan": {
        "momentum": {"time": 3, "exp_avg": (5, 7), "exp_avg_sq": (5, 7), "exp_avg_diff": (5, 7), "neg_pre_grad": (5, 7)}
    },
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_file_holds_the_states_under_the_ids_by_rank(name: str, tmp_path: Path) -> None:
    optim, model = OPTIMIZERS[name].init(), start_of(name)
    model = train(optim, model, 3)
    NamedMpkFileRecorder().record(optim.to_record(), tmp_path / "optim")
    item = msgpack.unpackb((tmp_path / "optim.mpk").read_bytes())["item"]
    if LAYOUTS[name] is None:
        assert item == {}
        return
    assert list(item) == [param.id for param in model.parameters() if param.trainable]
    assert shape_of(item[model.inner.weight.id]) == {"V1": {"Rank2": LAYOUTS[name]}}
    if name != "muon":
        assert list(item[model.inner.bias.id]["V1"]) == ["Rank1"]


def test_the_centered_average_of_a_record_is_the_variance() -> None:
    optim, model = RmsPropConfig(centered=True).init(), network(DEVICE)
    model = train(optim, model, 3)
    state = optim.state(model.inner.bias.id).state
    item = optim.to_record().item[model.inner.bias.id].value.value
    expected = np.asarray(state.square_avg) - np.asarray(state.grad_avg) ** 2
    np.testing.assert_allclose(np.asarray(item["centered"]["avg"]), expected)
    loaded = RmsPropConfig(centered=True).init().load_record(optim.to_record())
    again = loaded.to_record().item[model.inner.bias.id].value.value
    np.testing.assert_allclose(np.asarray(again["centered"]["avg"]), expected)


def test_states_are_converted_to_the_dtype_and_device_of_their_parameter(tmp_path: Path) -> None:
    optim = AdamConfig().init()
    train(optim, network(DEVICE), 2)
    NamedMpkFileRecorder().record(optim.to_record(), tmp_path / "optim")  # single precision
    record = NamedMpkFileRecorder().load(tmp_path / "optim")
    device = DEVICES["libtorch"].autodiff()
    again = AdamConfig().init().load_record(record)
    model = network(device)
    ids = list(again.slots)
    for id, param in zip(ids, model.parameters(), strict=True):
        again.slots[param.id] = again.slots.pop(id)
    train(again, model, 1, device)
    state = again.state(model.inner.weight.id)
    assert state.time == 3.0
    assert state.state.moment_1.device is device.inner()
    assert state.state.moment_1.dtype is burn.f64


def test_a_loaded_optimizer_is_captured_from_the_first_call_if_it_knows_its_device() -> None:
    device = Cpu().autodiff()
    inputs = Tensor.ones([2, 5], device)

    def step(model: Any, optim: Any, x: Any, lr: float) -> Any:
        loss = (model(x) ** 2).mean()
        return optim.step(lr, model, loss.backward()), loss.inner()

    model, optim = network(device), AdamConfig().init()
    for _ in range(3):
        model, _ = step(model, optim, inputs, 0.1)
    record = optim.to_record()
    captured = burn.compile(step)
    one, other = optim, AdamConfig().init().load_record(record, device)
    mine = theirs = model
    for _ in range(6):
        mine, _ = step(mine, one, inputs, 0.1)
        theirs, _ = captured(theirs, other, inputs, 0.1)
    assert_equal(values_of(mine), values_of(theirs), 0.0)
    assert len(captured.ready) == 1


def test_loaded_parameters_of_one_time_share_it() -> None:
    optim = AdamConfig().init()
    train(optim, network(DEVICE), 3)
    again = AdamConfig().init().load_record(optim.to_record(), DEVICE)
    assert [each for each in again.__tree__()[0] if isinstance(each, float)] == [3.0]


def test_groups_go_on_from_a_record() -> None:
    def optimizer() -> Any:
        return AdamConfig().init().with_group(ParamGroup.from_regex("bias$"), RmsPropConfig().init())

    optim = optimizer()
    model = train(optim, network(DEVICE), 3)
    again = optimizer().load_record(optim.to_record())
    assert_equal(values_of(train(again, model, 3)), values_of(train(optim, model, 3)), 0.0)


def test_a_record_of_another_optimizer_names_what_is_missing() -> None:
    optim = SgdConfig(momentum=MomentumConfig()).init()
    model = train(optim, network(DEVICE), 1)
    with pytest.raises(RecordError) as error:
        AdamConfig().init().load_record(optim.to_record())
    for param in model.parameters():
        rank = len(param.shape)
        assert f"{param.id}.V1.Rank{rank}.momentum.moment_1: missing in the record" in str(error.value)
    with pytest.raises(RecordError, match="this is no record of an optimizer"):
        AdamConfig().init().load_record(Record(7))


def test_lbfgs_goes_on_from_a_record() -> None:
    def closure(model: Any) -> Any:
        loss = loss_of(model, DEVICE)
        return loss, loss.backward()

    config = LbfgsConfig(max_iter=3, line_search_fn=LineSearchFn.StrongWolfe)
    optim, model = config.init(), network(DEVICE)
    for _ in range(3):
        model, _ = optim.step(1.0, model, closure)
    recorder = NamedMpkBytesRecorder(DoublePrecisionSettings)
    again = config.init().load_record(recorder.load(recorder.record(optim.to_record())))
    one, loss = optim.step(1.0, model, closure)
    other, same = again.step(1.0, model, closure)
    assert loss == same
    assert_equal(values_of(one), values_of(other), 0.0)
    children, token = optim.__tree__()
    assert type(optim).__untree__(token, children).memory == optim.memory
