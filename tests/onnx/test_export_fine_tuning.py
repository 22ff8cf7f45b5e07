"""From a file to a tuned model: the command, an edited class, ten lines of training, a record, tied weights."""

# mypy: disable-error-code="no-any-return"
# what a module of PyTorch gives when it is called is Any

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import burn
from burn_import.onnx import load
from burn_import.onnx.command import main as burn_import
from examples.fine_tune_onnx.__main__ import main as fine_tune
from tests.onnx.exporting import EXPORTERS, Case, Correspondence, as_tuple, export, on, spread

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "fine_tune_onnx" / "digits.onnx"

TUNE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("onnx", "onnxruntime", "burn_import", "torch"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, ".")
import numpy as np
import burn
from burn import nn, optim
from burn.nn.loss import CrossEntropyLossConfig
from digits import Model

generator = np.random.default_rng(0)
device = burn.NdArray().autodiff()
images = burn.tensor(generator.standard_normal((12, 1, 28, 28)).astype(np.float32), device=device)
labels = burn.tensor(np.arange(12) % 2, device=device)
model = Model(device).load_file("digits", burn.record.NamedMpkFileRecorder(), strict=False)
model = model.train()
optimizer = optim.AdamWConfig().init()
loss = CrossEntropyLossConfig().init(device)
losses = []
for _ in range(15):
    score = loss(model(images), labels)
    model = optimizer.step(0.01, model, score.backward())
    losses.append(score.item())
assert losses[-1] < 0.5 * losses[0], losses
model.valid().save_file("tuned", burn.record.NamedMpkFileRecorder())
again = Model.from_file("tuned.mpk", burn.NdArray())
assert np.array_equal(again(images.inner()).numpy(), model.valid()(images.inner()).numpy())
print("tuned")
"""


def test_the_class_that_the_command_wrote_is_edited_and_tuned_without_the_importer(tmp_path: Path) -> None:
    assert burn_import(["--input", str(DIGITS), "--output", str(tmp_path / "digits")]) == 0
    source = (tmp_path / "digits.py").read_text(encoding="utf-8")
    assert source.count("nn.LinearConfig(48, 5)") == 1
    edited = source.replace("self.head = nn.LinearConfig(48, 5)", "self.answer = nn.LinearConfig(48, 2)")
    edited = edited.replace("head: nn.Linear", "answer: nn.Linear").replace("self.head(", "self.answer(")
    (tmp_path / "digits.py").write_text(edited, encoding="utf-8")
    done = subprocess.run([sys.executable, "-c", TUNE], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "tuned"


def test_the_example_learns_more_from_the_import_than_from_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert fine_tune(["--device", "ndarray", "--epochs", "12"]) == 0
    printed = capsys.readouterr().out
    shares = [float(line.rpartition(": ")[2].rstrip("%")) for line in printed.splitlines() if line.endswith("%")]
    imported, tuned, fresh = shares
    assert imported > 97
    assert tuned > fresh + 5
    assert "the same answers" in printed


class Tied(nn.Module):
    """One matrix in three places: a layer that is applied twice, and another layer with the same weight."""

    def __init__(self) -> None:
        super().__init__()
        self.layer, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
        self.other = nn.Linear(8, 8, bias=False)
        self.other.weight = self.layer.weight

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.other(self.norm(self.layer(torch.relu(self.layer(x)))))


class Repeated(nn.Module):
    """One block that is applied six times, as in ALBERT."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm = nn.Linear(8, 8), nn.LayerNorm(8)
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.first(x)
        for _ in range(6):
            x = x + self.down(nn.functional.gelu(self.up(self.norm(x))).clamp(-3, 3) * 2 - 1)
        return x


@pytest.mark.parametrize("dynamo", EXPORTERS, ids=["tracing exporter", "graph exporter"])
@pytest.mark.parametrize("kind", [Tied, Repeated])
def test_a_weight_that_is_used_in_several_places_stays_one_parameter(kind: type[nn.Module], dynamo: bool) -> None:
    case = Case(kind.__name__, kind, lambda batch, length: [torch.ones(batch, 8)], ("x",), {0: "batch"})
    torch.manual_seed(0)
    network = spread(kind()).train()
    device = burn.NdArray().autodiff()
    model = load(export(case, network, dynamo=dynamo, training=True), device).train()
    same = Correspondence(network, model)
    assert same.missing == []
    assert model.num_params() == sum(parameter.numel() for parameter in network.parameters())
    inputs = case.inputs(4, 1)
    torch.autograd.backward(network(*inputs).square().mean())
    (result,) = as_tuple(model(*on(device, inputs)))
    grads = (result * result).mean().backward()
    parameters: dict[str, Any] = dict(model.named_parameters())
    for path, wanted in same.expected(lambda parameter: parameter.grad):
        np.testing.assert_allclose(grads.get(parameters[path]).numpy(), wanted, rtol=1e-4, atol=1e-5, err_msg=path)


def test_a_bias_that_an_exporter_made_of_zeros_is_none_and_one_of_the_file_is_kept() -> None:
    case = Case("convolution", nn.Identity, lambda batch, length: [torch.ones(batch, 3, 8, 8)], ("x",), {0: "batch"})
    source = load(export(case, nn.Conv2d(3, 4, 3, bias=False), dynamo=True, training=True), burn.NdArray()).source
    assert "bias=False" in source
    layer = nn.Conv2d(3, 4, 3)
    nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
    assert "bias=False" not in load(export(case, layer, dynamo=True, training=True), burn.NdArray()).source
