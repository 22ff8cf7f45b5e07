"""Quantised models: on every device, captured, printed, in files, tied, and back to floats."""

from __future__ import annotations

import itertools
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn import CaptureWarning, Cpu, Fusion, LibTorch, NdArray, Tensor
from burn.device import Device
from burn.module import Module, ModuleMapper, Param, ParamId
from burn.module.groups import ParamGroup
from burn.nn import BatchNormConfig, Linear, LinearConfig
from burn.optim import SgdConfig
from burn.quantization import (
    Dequantize,
    QuantizationMode,
    QuantizationParameters,
    QuantizationScheme,
    QuantizationType,
    QuantizedTensor,
    Quantizer,
)
from burn.record import (
    BinFileRecorder,
    NamedMpkFileRecorder,
    NamedMpkGzFileRecorder,
    PrettyJsonFileRecorder,
    QuantizedItem,
    RecordError,
)
from burn.record.quantized import pack, unpack
from burn.tensor import TensorData
from tests.quantization.task import Mlp

DEVICE = NdArray()
DEVICES: dict[str, Device] = {
    "ndarray": DEVICE,
    "libtorch": LibTorch("cpu"),
    "cpu": Cpu(),
    "autodiff": DEVICE.autodiff(),
    "autodiff-cpu": Cpu().autodiff(),
}
SCHEMES = [
    kind(mode, value)
    for kind, mode, value in itertools.product(
        (QuantizationScheme.PerTensor, QuantizationScheme.PerChannel, lambda *e: QuantizationScheme.PerBlock(*e, 4)),
        QuantizationMode,
        (QuantizationType.QInt8, QuantizationType.Q4F),
    )
]
X = np.random.default_rng(5).normal(0, 1, (3, 8)).astype(np.float32)


def model(device: Device = DEVICE) -> Mlp:
    DEVICE.seed(11)
    return Mlp.init((8, 16, 4), DEVICE).to_device(device)


def forward(net: Any, device: Device) -> Any:
    return net(Tensor.from_data(X, device)).numpy()


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.describe())
@pytest.mark.parametrize("device", DEVICES.values(), ids=DEVICES.keys())
def test_a_quantised_model_computes_with_its_floats(device: Device, scheme: QuantizationScheme) -> None:
    small = model(device).quantize_weights(Quantizer(scheme=scheme))
    assert small.devices() == [device]
    floats = {path: np.asarray(param.dequantize()) for path, param in small.named_parameters()}
    hidden = np.maximum(X @ floats["first.weight"] + floats["first.bias"], 0)
    expected = hidden @ floats["last.weight"] + floats["last.bias"]
    np.testing.assert_allclose(forward(small, device), expected, rtol=1e-4, atol=1e-5)
    fast = small.map(Dequantize())
    np.testing.assert_allclose(forward(fast, device), expected, rtol=1e-4, atol=1e-5)


def test_a_quantised_model_moves_and_leaves_autodiff_in_its_small_form() -> None:
    small = model(DEVICES["autodiff"]).quantize_weights(Quantizer())
    expected = forward(small, DEVICE)
    moves = [
        (small.valid(), DEVICE), (small.to_device(Cpu()), Cpu()), (small.fork(LibTorch("cpu")), LibTorch("cpu")),
        (small.valid().autodiff(), DEVICES["autodiff"]), (pickle.loads(pickle.dumps(small)), DEVICES["autodiff"]),
        (small.no_grad(), DEVICES["autodiff"]), (small.clone(), DEVICES["autodiff"]),
    ]  # fmt: skip
    for moved, device in moves:
        assert moved.devices() == [device]
        assert all(isinstance(param.val(), QuantizedTensor) for param in moved.parameters())
        np.testing.assert_allclose(forward(moved, device), expected, rtol=1e-4, atol=1e-5)


def test_a_cast_of_a_quantised_model_keeps_the_integers() -> None:
    half = model().quantize_weights(Quantizer()).cast("f16")
    assert all(isinstance(param.val(), QuantizedTensor) for param in half.parameters())
    assert half(Tensor.from_data(X, DEVICE).cast("f16")).dtype is burn.f16


@pytest.mark.parametrize("device", [Cpu(), Fusion(NdArray())], ids=repr)
@pytest.mark.parametrize("scheme", SCHEMES[::3], ids=lambda scheme: scheme.describe())
def test_capture_receives_the_integers(device: Any, scheme: QuantizationScheme) -> None:
    small = model(device).quantize_weights(Quantizer(scheme=scheme))
    captured = burn.compile(lambda net, x: net(x), check=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)
        for step in range(4):
            x = X + step
            found = captured(small, Tensor.from_data(x, device)).numpy()
            np.testing.assert_allclose(found, small(Tensor.from_data(x, device)).numpy(), rtol=1e-5, atol=1e-6)
    assert captured.calls >= 2
    assert "i8[8, 16] = input" in captured.explain()
    other = model(device).map(lambda param: param * 2.0).quantize_weights(Quantizer(scheme=scheme))
    np.testing.assert_allclose(
        captured(other, Tensor.from_data(X, device)).numpy(), forward(other, device), rtol=1e-5, atol=1e-6
    )


def test_a_captured_step_trains_what_is_not_quantised() -> None:
    device = Cpu().autodiff()
    quantizer = Quantizer(parameters=ParamGroup.under("first"))
    start = model(device).quantize_weights(quantizer)
    plain, captured = SgdConfig().init(), SgdConfig().init()

    def step(net: Any, optim: Any, x: Any) -> Any:
        return optim.step(0.1, net, (net(x) * net(x)).mean().backward())

    compiled = burn.compile(step)
    one, two = start, start
    with warnings.catch_warnings():
        warnings.simplefilter("error", CaptureWarning)
        for _ in range(4):
            one = step(one, plain, Tensor.from_data(X, device))
            two = compiled(two, captured, Tensor.from_data(X, device))
    assert compiled.calls >= 1
    assert isinstance(two.first.weight.val(), QuantizedTensor)
    assert two.first.weight.id == start.first.weight.id
    np.testing.assert_array_equal(two.first.weight.numpy(), start.first.weight.numpy())
    assert not np.array_equal(two.last.weight.numpy(), start.last.weight.numpy())
    np.testing.assert_allclose(two.last.weight.numpy(), one.last.weight.numpy(), rtol=1e-5, atol=1e-7)


def test_dequantised_parameters_are_trained_again_unless_they_were_frozen() -> None:
    device = DEVICES["autodiff"]
    start = model(device).freeze("last.bias")
    small = start.quantize_weights(Quantizer())
    assert not any(param.trainable for param in small.parameters())
    back = small.map(Dequantize())
    assert [type(param) for param in back.parameters()] == [Param] * 4
    assert [param.trainable for param in back.parameters()] == [True, True, True, False]
    assert [param.id for param in back.parameters()] == [param.id for param in start.parameters()]
    trained = SgdConfig().init().step(0.1, back, back(Tensor.from_data(X, device)).sum().backward())
    assert not np.array_equal(trained.first.weight.numpy(), back.first.weight.numpy())
    np.testing.assert_array_equal(trained.last.bias.numpy(), back.last.bias.numpy())
    assert not any(param.trainable for param in small.no_grad().map(Dequantize()).parameters())


def test_floats_stay_the_same_objects_under_dequantize() -> None:
    net = model()
    assert all(new is old for new, old in zip(net.map(Dequantize()).parameters(), net.parameters(), strict=True))


def test_the_mapper_of_the_book_restores_floats_from_a_file(tmp_path: Path) -> None:
    class Floats(ModuleMapper):
        def map_float(self, id: ParamId, tensor: Tensor[Any]) -> Tensor[Any]:
            return tensor.dequantize()

    small = model().quantize_weights(Quantizer())
    small.save_file(tmp_path / "small", NamedMpkFileRecorder())
    loaded = model().load_file(tmp_path / "small", NamedMpkFileRecorder(), DEVICE)
    for mapper in (Floats(), Dequantize()):
        fast = loaded.map(mapper)
        assert [type(param) for param in fast.parameters()] == [Param] * 4
        assert all(param.trainable for param in fast.parameters())
        np.testing.assert_array_equal(forward(fast, DEVICE), forward(small, DEVICE))


@pytest.mark.parametrize("scheme", SCHEMES, ids=lambda scheme: scheme.describe())
@pytest.mark.parametrize("recorder", [NamedMpkFileRecorder, NamedMpkGzFileRecorder, PrettyJsonFileRecorder])
def test_a_file_holds_integers_scales_and_zero_points(recorder: Any, scheme: Any, tmp_path: Path) -> None:
    small = model().quantize_weights(Quantizer(scheme=scheme))
    small.save_file(tmp_path / "small", recorder())
    loaded = model(Cpu()).load_file(tmp_path / "small", recorder())
    for old, new in zip(small.parameters(), loaded.parameters(), strict=True):
        assert new.id == old.id
        assert type(new) is type(old)
        before, after = old.val(), new.val()
        if isinstance(before, QuantizedTensor) and isinstance(after, QuantizedTensor):
            assert after.scheme == scheme
            for ours, theirs in zip(before.parts, after.parts, strict=True):
                assert ours.dtype is theirs.dtype
                np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    np.testing.assert_allclose(forward(loaded, Cpu()), forward(small, DEVICE), rtol=1e-4, atol=1e-5)


def test_a_file_of_bytes_is_a_quarter_of_one_of_floats(tmp_path: Path) -> None:
    net = Mlp.init((64, 256, 16), DEVICE)
    net.save_file(tmp_path / "large", NamedMpkFileRecorder())
    net.quantize_weights(Quantizer()).save_file(tmp_path / "small", NamedMpkFileRecorder())
    sizes = [(tmp_path / name).stat().st_size for name in ("large.mpk", "small.mpk")]
    assert sizes[1] < 0.27 * sizes[0]


def test_an_affine_tensor_is_packed_as_values_zero_point_and_scale() -> None:
    # The example of the Rust framework's release 0.17, which had an affine mode.
    scheme = QuantizationScheme.PerTensor(QuantizationMode.Affine, QuantizationType.Q8F)
    x = burn.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), device=DEVICE)
    q = x.quantize_dynamic(scheme)
    data = pack(q).bytes.numpy().tobytes()
    values = np.array([-128, -77, -26, 25, 76, 127, 0, 0], np.int8)
    assert data == values.tobytes() + np.int32(-128).tobytes() + np.float32(0.019607844).tobytes()
    older = QuantizedItem(TensorData.adopt(np.frombuffer(data, np.uint8)), (2, 3), {"PerTensor": ["Affine", "Q8F"]})
    read = unpack(older)
    assert isinstance(read, QuantizedTensor)
    np.testing.assert_array_equal(read.numpy(), q.numpy())


@pytest.mark.parametrize("value", list(QuantizationType), ids=repr)
@pytest.mark.parametrize("count", [1, 7, 8, 33])
def test_small_integers_fill_words_from_the_lowest_bits_up(value: QuantizationType, count: int) -> None:
    numbers = np.random.default_rng(count).integers(value.low, value.high + 1, count)
    numbers[:1] = value.low
    x = burn.tensor(numbers.astype(np.float32), device=DEVICE)
    q = x.quantize(QuantizationScheme.PerTensor(value=value), QuantizationParameters(1.0))
    data = pack(q).bytes.numpy().tobytes()
    words, each = np.frombuffer(data[:-4], "<u4").tolist(), 32 // value.bits
    assert len(words) == -(-count // each)
    for place, number in enumerate(numbers.tolist()):
        found = words[place // each] >> (value.bits * (place % each)) & ((1 << value.bits) - 1)
        assert found == number % (1 << value.bits)
    read = unpack(pack(q))
    assert isinstance(read, QuantizedTensor)
    assert read.values.tolist() == numbers.tolist()


def test_damaged_quantised_tensors_are_refused() -> None:
    q = burn.tensor(X, device=DEVICE).quantize_dynamic(QuantizationScheme.PerTensor(QuantizationMode.Affine))
    item = pack(q)
    raw = item.bytes.numpy().copy()
    with pytest.raises(RecordError, match=r"of shape \[3, 8\] cannot have 31 bytes"):
        unpack(QuantizedItem(TensorData.adopt(raw[:-1]), item.shape, item.scheme))
    raw[24:28] = np.frombuffer(np.int32(4000).tobytes(), np.uint8)
    with pytest.raises(RecordError, match="whose zero points are no QInt8"):
        unpack(QuantizedItem(TensorData.adopt(raw), item.shape, item.scheme))


def test_a_float_record_makes_a_quantised_model_float_again() -> None:
    start = model(DEVICES["autodiff"])
    back = start.quantize_weights(Quantizer()).load_record(start.into_record())
    assert all(type(param) is Param and param.trainable for param in back.parameters())
    np.testing.assert_array_equal(forward(back, DEVICE), forward(start, DEVICE))


def test_formats_without_quantised_tensors_say_so(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="a quantised tensor: Bin holds none, use NamedMpkFileRecorder"):
        model().quantize_weights(Quantizer()).save_file(tmp_path / "small", BinFileRecorder())


def test_tied_weights_are_quantised_once_and_tied_again_by_a_file(tmp_path: Path) -> None:
    class Tied(Module):
        encoder: Linear
        decoder: Linear

    def pair(tied: bool) -> Tied:
        one = LinearConfig(4, 4).init(DEVICE)
        return Tied(one, one if tied else LinearConfig(4, 4).init(DEVICE))

    quantizer = Quantizer()
    small = pair(True).quantize_weights(quantizer)
    assert small.encoder.weight is small.decoder.weight
    assert [entry.path for entry in quantizer.report] == ["encoder.weight", "encoder.bias"]
    small.save_file(tmp_path / "tied", NamedMpkFileRecorder())
    loaded = pair(False).load_file(tmp_path / "tied", NamedMpkFileRecorder())
    assert loaded.encoder.weight is loaded.decoder.weight


def test_a_quantised_running_statistic_in_a_file_is_read_as_floats() -> None:
    norm = BatchNormConfig(4).init(DEVICE)
    record = norm.into_record()
    fields: Any = record.item
    values = burn.tensor([0.5, 1.0, -1.0, 0.0], device=DEVICE).quantize_dynamic(QuantizationScheme.PerTensor())
    fields["running_mean"] = fields["running_mean"]._replace(data=values)
    loaded = norm.load_record(record)
    np.testing.assert_allclose(loaded.running_mean.value.numpy(), [0.5, 1.0, -1.0, 0.0], atol=0.005)


def test_print_shows_how_a_model_is_quantised() -> None:
    quantizer = Quantizer(scheme=QuantizationScheme.PerChannel(dim=-1), parameters=ParamGroup.under("first"))
    small = model().quantize_weights(quantizer)
    assert str(small) == (
        "Mlp {\n"
        "  first: Linear {d_input: 8, d_output: 16, bias: true, params: 144, "
        "quantized: PerChannel(Symmetric, QInt8, -1)}\n"
        "  last: Linear {d_input: 16, d_output: 4, bias: true, params: 68}\n"
        "  params: 212\n"
        "}"
    )
    assert "quantized" not in str(small.map(Dequantize()))
    assert "quantized: PerChannel(Symmetric, QInt8, -1)" in str(small.first.weight)


def test_a_parameter_of_integers_is_made_by_param() -> None:
    q = burn.tensor(X, device=DEVICE).quantize_dynamic(QuantizationScheme.PerTensor())
    param = Param(q, "v8vojso07rkks")
    assert isinstance(param, Param)
    assert param.val() is q
    assert param.is_initialized
    assert Param(param).val() is q
    assert pickle.loads(pickle.dumps(param)).id == "v8vojso07rkks"
    assert not param.trainable
    assert param.learns
    assert param.set_require_grad(True) is param
    assert not param.set_require_grad(False).learns
    assert param.map(lambda tensor: tensor + 1.0).trainable
    np.testing.assert_array_equal(np.asarray(param @ q.transpose()), q.numpy() @ q.numpy().T)
