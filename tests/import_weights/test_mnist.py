"""Real weights: a trained network recognises handwritten digits, from every kind of file."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from burn.backend import Cpu, NdArray
from burn.record import BinFileRecorder, NamedMpkFileRecorder, PrettyJsonFileRecorder, SafetensorsRecorder
from burn_import.pytorch import PyTorchFileRecorder
from burn_import.safetensors import SafetensorsFileRecorder
from examples import import_model_weights as example

ROOT = Path(__file__).resolve().parents[2]
RECORDERS = {"mnist.pt": PyTorchFileRecorder, "mnist.safetensors": SafetensorsFileRecorder}


@pytest.fixture(scope="module")
def data(shared: Path) -> Path:
    folder = shared / "data"
    if not (folder / "mnist.pt").exists() or not (folder / "mnist").is_dir():
        pytest.skip("needs the weights and images of MNIST, which are not here")
    return folder


@pytest.mark.parametrize("device", [Cpu(), NdArray()], ids=repr)
@pytest.mark.parametrize("name", RECORDERS)
def test_imported_weights_recognise_the_test_images(data: Path, name: str, device: Any) -> None:
    record = RECORDERS[name]().load(data / name, device)
    model = example.Model.init(device).load_record(record).valid()
    assert record.extra == []
    images = example.read_images(str(data / "mnist" / "t10k-images-idx3-ubyte.gz"))
    labels = example.read_labels(str(data / "mnist" / "t10k-labels-idx1-ubyte.gz"))
    right = float((example.classify(model, images, device) == labels).mean())
    assert right >= 0.98


def test_imported_weights_give_the_numbers_of_pytorch(data: Path) -> None:
    state = torch.load(data / "mnist.pt", map_location="cpu", weights_only=True)
    f = torch.nn.functional
    x = torch.randn(4, 1, 28, 28)
    y = x
    for name in ("conv1", "conv2", "conv3"):
        y = f.conv2d(y, state[f"{name}.weight"], state[f"{name}.bias"]).relu()

    def norm(values: Any, name: str) -> Any:
        parts = [state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")]
        return f.batch_norm(values, *parts)

    y = f.linear(norm(y, "norm1").flatten(1), state["fc1.weight"], state["fc1.bias"]).relu()
    expected = norm(f.linear(y, state["fc2.weight"], state["fc2.bias"]), "norm2").log_softmax(1)
    device = NdArray()
    model = example.Model.init(device).load_record(PyTorchFileRecorder().load(data / "mnist.pt")).valid()
    found = model(example.Tensor.from_data(x.numpy(), device)).to_data().numpy()
    np.testing.assert_allclose(found, expected.numpy(), rtol=1e-4, atol=1e-4)


def run(*arguments: str, prelude: str = "") -> str:
    program = f"{prelude}\nfrom examples.import_model_weights import main\nmain({list(arguments)!r})"
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_each_command_of_the_example_runs(data: Path, tmp_path: Path) -> None:
    images = str(data / "mnist" / "t10k-images-idx3-ubyte.gz")
    labels = str(data / "mnist" / "t10k-labels-idx1-ubyte.gz")
    output = tmp_path / "model.mpk"
    no_import = "import sys; sys.modules['burn_import'] = None"
    for kind, name in (("pytorch", "mnist.pt"), ("safetensors", "mnist.safetensors")):
        text = run(kind, str(data / name), "--images", images, "--index", "7")
        assert text == f"Predicted {example.read_labels(labels)[7]}\n"
    assert run("convert", str(data / "mnist.pt"), str(output)) == f"Wrote {output}\n"
    text = run("converted", str(output), "--images", images, "--labels", labels, "--device", "cpu", prelude=no_import)
    predicted, expected, share = text.splitlines()
    assert predicted.split()[1] == expected.split()[1]
    assert float(share.partition("%")[0]) >= 98


@pytest.mark.parametrize("recorder", [NamedMpkFileRecorder, PrettyJsonFileRecorder, SafetensorsRecorder], ids=repr)
def test_every_named_format_keeps_imported_weights(data: Path, tmp_path: Path, recorder: Any) -> None:
    device = NdArray()
    record = PyTorchFileRecorder().load(data / "mnist.pt")
    expected = example.Model.init(device).load_record(record)
    recorder().record(record, tmp_path / "model")
    model = example.Model.init(device).load_record(recorder().load(tmp_path / "model"))
    for (name, one), (_, other) in zip(model.named_parameters(), expected.named_parameters(), strict=True):
        assert one.to_data() == other.to_data(), name
    assert model.norm1.running_mean.value.to_data() == expected.norm1.running_mean.value.to_data()


def test_a_record_fitted_to_a_module_is_one_of_our_own(data: Path, tmp_path: Path) -> None:
    device = NdArray()
    fitted = PyTorchFileRecorder().load(data / "mnist.pt").for_module(example.Model.init(device))
    item: Any = fitted.item
    assert tuple(item["fc1"]["weight"].data.shape) == (11616, 32)
    assert list(item["norm1"]) == ["gamma", "beta", "running_mean", "running_var", "momentum", "epsilon"]
    for recorder in (NamedMpkFileRecorder(), BinFileRecorder()):
        recorder.record(fitted, tmp_path / "model")
        model = example.Model.init(device).load_record(recorder.load(tmp_path / "model"))
        assert model.fc1.weight.to_data() == item["fc1"]["weight"].data
