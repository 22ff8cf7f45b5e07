"""Models in 64 bits keep them: weights, statistics, attributes and small constants, in memory and through files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from torch import nn

import burn
from burn.record import DoublePrecisionSettings, NamedMpkFileRecorder
from burn_import.onnx import ModelGen, RecordType, load, open_program
from burn_import.onnx.check import closeness
from burn_import.onnx.command import main
from tests.onnx.networks import exported
from tests.onnx.running import text_model

EXACT = 1e-13  # of the largest element; 32 bits would be 1e-8
DEVICES = [burn.NdArray(), burn.Cpu()]


class _Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, batch_first=True, bidirectional=True)
        self.gru = nn.GRU(10, 3, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.gru(self.lstm(x)[0])[0]  # type: ignore[no-any-return]


class _Words(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words, self.norm, self.out = nn.Embedding(7, 4), nn.LayerNorm(4, eps=1e-3), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(nn.functional.leaky_relu(self.norm(self.words(x)), 0.125))  # type: ignore[no-any-return]


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))
        self.norm = nn.LayerNorm(8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = (self.query(x) @ self.key(x).transpose(1, 2)) / 8**0.5
        return self.norm(x + nn.functional.silu(scores.softmax(-1) @ self.value(x)))  # type: ignore[no-any-return]


def _images() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.PReLU(6), nn.MaxPool2d(2), nn.ConvTranspose2d(6, 4, 2, 2),
        nn.InstanceNorm2d(4, affine=True), nn.Conv2d(4, 4, 3, groups=2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(4, 2), nn.Softmax(-1),
    )  # fmt: skip


NETWORKS: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), (2, 4)),
    "images": (_images, (2, 3, 8, 8)),
    "recurrent": (_Recurrent, (2, 3, 4)),
    "words": (_Words, (2, 3)),
    "attention": (_Attention, (2, 3, 8)),
}


def _network(name: str) -> tuple[bytes, Any, Any]:
    """A file, an input, and PyTorch's result with the eps that the file has: attributes have 32 bits."""
    torch.manual_seed(0)
    make, shape = NETWORKS[name]
    network = make().double().eval()
    for module in network.modules():
        if isinstance(getattr(module, "eps", None), float):
            module.eps = float(np.float32(module.eps))  # type: ignore[assignment]
    for tensor in network.state_dict().values():
        if tensor.is_floating_point():
            tensor.copy_(torch.rand_like(tensor) + 0.5)
    x = torch.randint(0, 7, shape) if name == "words" else torch.randn(shape, dtype=torch.float64)
    return exported(network, [x], ["x"]), x.numpy(), network(x).detach().numpy()


def _error(actual: Any, expected: Any) -> float:
    assert actual.dtype == expected.dtype == np.float64
    return float(np.abs(actual - expected).max() / np.abs(expected).max())


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_in_64_bits_computes_in_64_bits(name: str, device: burn.Device) -> None:
    data, x, expected = _network(name)
    model = load(data, device)
    for _ in range(3):
        (actual,) = model.run({"x": x}).values()
        assert _error(actual, expected) < EXACT


@pytest.mark.parametrize("kind", list(RecordType))
def test_every_format_of_weights_keeps_64_bits(kind: RecordType, tmp_path: Path) -> None:
    data, x, expected = _network("images")
    (tmp_path / "net.onnx").write_bytes(data)
    made = ModelGen().input(tmp_path / "net.onnx").out_dir(tmp_path).record_type(kind).run_from_cli()
    (actual,) = open_program(made[0].metadata, device=burn.NdArray()).run({"x": x}).values()
    assert _error(actual, expected) < EXACT


@pytest.mark.parametrize("operator, expected", [
    ("LeakyRelu<alpha=0.01>(x)", lambda x, a: np.where(x < 0, x * a(0.01), x)),
    ("Elu<alpha=0.3>(x)", lambda x, a: np.where(x < 0, a(0.3) * np.expm1(x), x)),
    ("HardSigmoid<alpha=0.3, beta=0.4>(x)", lambda x, a: np.clip(a(0.3) * x + a(0.4), 0, 1)),
    ("Celu<alpha=0.7>(x)", lambda x, a: np.maximum(x, 0) + np.minimum(0, a(0.7) * np.expm1(x / a(0.7)))),
    ("ThresholdedRelu<alpha=0.1>(x)", lambda x, a: np.where(x > a(0.1), x, 0)),
])  # fmt: skip
def test_an_attribute_is_the_number_of_32_bits_that_the_file_has(operator: str, expected: Any) -> None:
    x = np.random.default_rng(0).standard_normal((4, 5))
    proto = text_model(f"g (double[4, 5] x) => (double[4, 5] y) {{ y = {operator} }}")
    (actual,) = load(proto, burn.NdArray()).run({"x": x}).values()
    np.testing.assert_allclose(actual, expected(x, lambda value: float(np.float32(value))), rtol=1e-15, atol=0)


@pytest.mark.parametrize("device", DEVICES, ids=repr)
@pytest.mark.parametrize("array", [
    np.array([1.5e100, 1 / 3] * 20), np.array([2**53 + 1, -(2**40)] * 20), np.array([2**64 - 1, 2**63] * 20, np.uint64),
    np.array([2**32 - 1, 7] * 20, np.uint32), np.array([1e-7, 65504] * 20, np.float16),
], ids=lambda array: str(array.dtype))  # fmt: skip
def test_constants_of_every_type_stay_as_they_are(array: Any, device: burn.Device, tmp_path: Path) -> None:
    node = onnx.helper.make_node("Identity", ["w"], ["y"])
    dtype = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    output = onnx.helper.make_tensor_value_info("y", dtype, array.shape)
    graph = onnx.helper.make_graph([node], "g", [], [output], [onnx.numpy_helper.from_array(array, "w")])
    path = tmp_path / "net.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)], ir_version=9), path)
    made = ModelGen().input(path).out_dir(tmp_path).run_from_cli()
    for model in (load(path, device), open_program(made[0].metadata, device=device)):
        (actual,) = model.run({}).values()
        assert actual.dtype == array.dtype
        np.testing.assert_array_equal(actual, array)


def test_the_check_of_the_command_sees_lost_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, _, _ = _network("perceptron")
    (tmp_path / "net.onnx").write_bytes(data)
    arguments = ["--input", str(tmp_path / "net.onnx"), "--output", str(tmp_path / "net_burn"), "--check"]
    assert main(arguments) == 0
    assert "DIFFERENT" not in capsys.readouterr().out
    wide = NamedMpkFileRecorder(DoublePrecisionSettings).load(tmp_path / "net_burn")
    NamedMpkFileRecorder().record(wide, tmp_path / "net_burn")
    assert main(arguments) == 3
    assert "DIFFERENT" in capsys.readouterr().out


def test_a_check_that_onnx_runtime_cannot_make_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save(text_model("g (double[2] x) => (double[2] y) { y = Erf(x) }"), tmp_path / "net.onnx")
    assert main(["--input", str(tmp_path / "net.onnx"), "--output", str(tmp_path / "out"), "--check"]) == 1
    assert "check: onnxruntime cannot run the model: " in capsys.readouterr().err


@pytest.mark.parametrize("actual, expected", [
    (np.array([1.0 + 1e-9]), np.array([1.0])),
    (np.array([1.0], np.float32), np.array([1.0])),
    (np.array([2e-6], np.float32), np.array([1e-6], np.float32)),
    (np.array([100_001]), np.array([100_000])),
    (np.array([np.inf]), np.array([1.5e100])),
    (np.array([np.nan, 1.0]), np.array([1.0, 1.0])),
    (np.array([1.0, 1.0]), np.array([np.nan, 1.0])),
    ([np.zeros(2)], [np.zeros(2), np.zeros(2)]),
    ({"a": 1.0}, {"b": 1.0}),
])  # fmt: skip
def test_what_is_different_is_not_called_close(actual: Any, expected: Any) -> None:
    assert not closeness("y", actual, expected).close


@pytest.mark.parametrize("expected", [
    np.array([1.5e100, np.nan, np.inf, 0.0]), np.array(["a", "b"], object), np.zeros((0, 3), np.float32),
    np.array([True]), [np.zeros(2), np.ones((1, 3))], {"a": np.float32(1.0)},
])  # fmt: skip
def test_equal_results_are_close(expected: Any) -> None:
    found = closeness("y", expected, expected)
    assert found.close
    assert found.absolute == found.relative == 0.0
