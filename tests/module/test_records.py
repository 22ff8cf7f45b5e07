"""Modules in files: every recorder, faults listed at once, tied weights, laziness."""

from __future__ import annotations

import importlib.resources
import sys

import numpy as np
import pytest

from burn import NdArray, Tensor
from burn.module import Module, ModuleEnum, Param, State
from burn.nn import DropoutConfig, Linear, LinearConfig
from burn.record import (
    BinBytesRecorder,
    BinFileRecorder,
    BinGzFileRecorder,
    BurnpackRecorder,
    CompactRecorder,
    DoublePrecisionSettings,
    FullPrecisionSettings,
    HalfPrecisionSettings,
    JsonGzFileRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    PrettyJsonFileRecorder,
    RecordError,
    SafetensorsRecorder,
)
from burn.tensor.quantization import Calibration, QuantizationScheme

DEVICE = NdArray()
RECORDERS = [
    NamedMpkFileRecorder, NamedMpkGzFileRecorder, BinFileRecorder, BinGzFileRecorder, JsonGzFileRecorder,
    PrettyJsonFileRecorder, SafetensorsRecorder, BurnpackRecorder,
]  # fmt: skip


class Block(ModuleEnum):
    Dense: Linear
    Quiet: State


class Net(Module):
    first: Linear
    rest: list[Linear]
    pair: tuple[Linear, Linear]
    gain: Param | None
    count: State
    choice: Block
    named: dict[str, Linear]
    table: Tensor
    label: str = "net"


def net(device=DEVICE, gain=True):
    def linear(inputs, outputs, bias=True):
        return LinearConfig(inputs, outputs, bias=bias).init(device)

    return Net(
        first=linear(3, 4),
        rest=[linear(4, 4), linear(4, 2, bias=False)],
        pair=(linear(1, 1), linear(2, 1)),
        gain=Param(Tensor.random([2], device=device)) if gain else None,
        count=State(Tensor.from_data([3.0, 4.0], device)),
        choice=Block.Dense(linear(2, 2)),
        named={"left": linear(1, 2)},
        table=Tensor.ones([2], device),
    )


def values(module):
    return {
        path: np.asarray((leaf.val() if isinstance(leaf, Param) else leaf.value).numpy())
        for path, leaf in module.leaves()
    }


@pytest.mark.parametrize("recorder", RECORDERS)
@pytest.mark.parametrize(
    ("precision", "tolerance"),
    [(FullPrecisionSettings, 0), (HalfPrecisionSettings, 1e-3), (DoublePrecisionSettings, 0)],
)
def test_a_module_comes_back_from_every_kind_of_file(recorder, precision, tolerance, tmp_path):
    saved, fresh = net(), net()
    saved.save_file(tmp_path / "model", recorder(precision))
    loaded = fresh.load_file(tmp_path / "model", recorder(precision), DEVICE)
    for path, array in values(saved).items():
        assert np.allclose(values(loaded)[path], array, atol=tolerance, rtol=0), path
    assert loaded.label == "net"
    assert [leaf.id for _, leaf in loaded.leaves()] == [leaf.id for _, leaf in saved.leaves()]


def test_loading_first_draws_no_random_numbers(tmp_path):
    net().save_file(tmp_path / "model")
    before = DEVICE.generator().state()
    fresh = LinearConfig(3, 4).init(DEVICE)
    reserved = DEVICE.generator().state()
    loaded = fresh.load_record(LinearConfig(3, 4).init(DEVICE).into_record())
    assert reserved[1] > before[1]
    assert not fresh.weight.is_initialized
    assert loaded.weight.is_initialized


def test_a_loaded_module_keeps_what_is_frozen_and_its_device():
    model = LinearConfig(2, 2).init(DEVICE.autodiff()).freeze("bias")
    loaded = model.load_record(LinearConfig(2, 2).init(DEVICE).into_record())
    assert loaded.weight.is_require_grad()
    assert not loaded.bias.trainable
    assert loaded.weight.device is DEVICE.autodiff()


class Old(Module):
    a: Linear
    b: Linear
    d: Linear


class New(Module):
    a: Linear
    c: Linear
    d: Linear


def test_one_error_lists_everything_missing_extra_and_mis_shaped():
    old = Old(*(LinearConfig(2, size).init(DEVICE) for size in (2, 3, 4)))
    new = New(*(LinearConfig(2, size).init(DEVICE) for size in (2, 3, 5)))
    with pytest.raises(RecordError) as caught:
        new.load_record(old.into_record())
    text = str(caught.value)
    for part in (
        "d.weight: shape [2, 5] in the module, [2, 4] in the record",
        "d.bias: shape [5] in the module, [4] in the record",
        "c.weight: missing in the record",
        "c.bias: missing in the record",
        "b: in the record, but not in the module",
    ):
        assert part in text


def test_partial_loading_takes_what_fits_and_keeps_the_rest():
    old = Old(*(LinearConfig(2, size).init(DEVICE) for size in (2, 3, 4)))
    new = New(*(LinearConfig(2, size).init(DEVICE) for size in (2, 3, 4)))
    loaded = new.load_record(old.into_record(), strict=False)
    assert (loaded.a.weight.numpy() == old.a.weight.numpy()).all()
    assert loaded.c.weight is new.c.weight
    with pytest.raises(RecordError, match="strict=False"):
        new.load_record(old.into_record())


class Tied(Module):
    encoder: Linear
    decoder: Linear
    head: Param


@pytest.mark.parametrize("recorder", RECORDERS)
def test_tied_weights_are_tied_again(recorder, tmp_path):
    layer = LinearConfig(3, 3).init(DEVICE)
    Tied(layer, layer, layer.weight).save_file(tmp_path / "tied", recorder())
    loose = Tied(
        LinearConfig(3, 3).init(DEVICE), LinearConfig(3, 3).init(DEVICE), LinearConfig(3, 3).init(DEVICE).weight
    )
    loaded = loose.load_file(tmp_path / "tied", recorder())
    assert loaded.encoder.weight is loaded.decoder.weight
    assert loaded.head is loaded.encoder.weight


def test_one_id_with_two_values_is_an_error():
    layer = LinearConfig(3, 3).init(DEVICE)
    other = Linear(Param(layer.weight.val() + 1.0, layer.weight.id), layer.bias)
    with pytest.raises(RecordError, match="has the id .* of another parameter, with other values"):
        Tied(layer, layer, layer.weight).load_record(Tied(layer, other, layer.weight).into_record())


def test_optional_parameters_stay_as_the_module_has_them():
    with_gain, without = net(gain=True), net(gain=False)
    assert without.load_record(with_gain.into_record(), strict=False).gain is None
    with pytest.raises(RecordError, match="gain: in the record, but not in the module"):
        without.load_record(with_gain.into_record())
    with pytest.raises(RecordError, match="gain: missing in the record"):
        with_gain.load_record(without.into_record())


def test_lists_of_another_length_and_other_variants_are_errors():
    long, short = net(), net()
    short.rest = short.rest[:1]
    with pytest.raises(RecordError, match="rest: the module has 2 entries here, the record has 1 entries"):
        long.load_record(short.into_record())


def test_half_of_the_bytes_with_the_compact_recorder(tmp_path):
    model = LinearConfig(64, 64).init(DEVICE)
    model.save_file(tmp_path / "full", NamedMpkFileRecorder())
    model.save_file(tmp_path / "half", CompactRecorder())
    assert (tmp_path / "half.mpk").stat().st_size < 0.6 * (tmp_path / "full.mpk").stat().st_size


def test_a_model_embedded_in_a_package_loads_from_bytes(tmp_path, monkeypatch):
    package = tmp_path / "app_with_model"
    package.mkdir()
    (package / "__init__.py").write_text("")
    saved = LinearConfig(3, 2).init(DEVICE)
    saved.save_file(package / "model", BinFileRecorder())
    monkeypatch.syspath_prepend(str(tmp_path))
    data = importlib.resources.files("app_with_model").joinpath("model.bin").read_bytes()
    record = BinBytesRecorder().load(data, DEVICE)
    loaded = LinearConfig(3, 2).init(DEVICE).load_record(record)
    assert (loaded.weight.numpy() == saved.weight.numpy()).all()
    sys.modules.pop("app_with_model", None)


@pytest.mark.parametrize("recorder", [NamedMpkFileRecorder, NamedMpkGzFileRecorder, PrettyJsonFileRecorder])
@pytest.mark.parametrize(
    "scheme",
    [QuantizationScheme.PerTensor(), QuantizationScheme.PerChannel(dim=0), QuantizationScheme.PerBlock(size=8)],
)
def test_quantised_weights_stay_quantised_in_files(recorder, scheme, tmp_path):
    class Weights:
        def quantize_tensor(self, tensor):
            return tensor.quantize_dynamic(scheme, Calibration.MinMax)

    model = LinearConfig(16, 8, bias=False).init(DEVICE)
    quantised = model.quantize_weights(Weights())
    quantised.save_file(tmp_path / "small", recorder())
    loaded = LinearConfig(16, 8, bias=False).init(DEVICE).load_file(tmp_path / "small", recorder())
    assert loaded.weight.val().scheme == scheme
    assert (loaded.weight.val().values.numpy() == quantised.weight.val().values.numpy()).all()
    assert np.allclose(loaded.weight.dequantize().numpy(), model.weight.numpy(), atol=0.01)


class Mlp(Module):
    linear1: Linear
    linear2: Linear
    activation: object

    def forward(self, x):
        return self.linear2(self.linear1(x).relu())


def test_a_record_written_by_the_rust_framework_loads(shared):
    path = shared / "data" / "furnace_sample.mpk"
    record = NamedMpkFileRecorder(HalfPrecisionSettings).load(path, DEVICE)
    sizes = [tuple(item["weight"].data.shape) for item in record.item.values() if item]
    assert sizes[0] == (784, 128)
    model = Mlp(LinearConfig(*sizes[0]).init(DEVICE), LinearConfig(*sizes[1]).init(DEVICE), None)
    loaded = model.load_record(record)
    raw = record.item["linear1"]["weight"].data.numpy().astype(np.float32)
    assert (loaded.linear1.weight.numpy() == raw).all()
    assert loaded.linear1.weight.id == record.item["linear1"]["weight"].id
    assert np.isfinite(loaded(Tensor.ones([2, 784], DEVICE)).numpy()).all()


def test_dropout_and_other_constants_are_nothing_in_a_record():
    class Noisy(Module):
        linear: Linear
        dropout: object

    item = Noisy(LinearConfig(2, 2).init(DEVICE), DropoutConfig(0.5).init()).into_record().item
    assert list(item) == ["linear", "dropout"]
    assert item["dropout"] is None
    assert list(item["linear"]) == ["weight", "bias"]
