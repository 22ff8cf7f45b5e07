"""`burn-import weights`: files of PyTorch and Safetensors as records of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.torch
import torch

import burn
from burn import Module, nn
from burn import record as records
from burn_import.onnx.command import main

NET = """
from burn import Module, nn


class Net(Module):
    hidden: nn.Linear
    norm: nn.BatchNorm

    def __init__(self, device):
        self.hidden = nn.LinearConfig(4, 8).init(device)
        self.norm = nn.BatchNormConfig(8).init(device)

    def forward(self, x):
        return self.norm(self.hidden(x))
"""


class Net(Module):
    hidden: nn.Linear
    norm: nn.BatchNorm

    def __init__(self, device: burn.Device) -> None:
        self.hidden = nn.LinearConfig(4, 8).init(device)
        self.norm = nn.BatchNormConfig(8).init(device)


@pytest.fixture
def network() -> torch.nn.Module:
    torch.manual_seed(0)
    made = torch.nn.Sequential()
    made.add_module("hidden", torch.nn.Linear(4, 8))
    made.add_module("norm", torch.nn.BatchNorm1d(8))
    made[1].running_mean.add_(torch.randn(8))
    return made.eval()


def loaded(path: Path, kind: str) -> Net:
    return Net(burn.NdArray()).load_record(getattr(records, kind)().load(path))


def assert_fits(model: Any, network: Any, tolerance: float = 0.0) -> None:
    expected = {"hidden": network.hidden.weight.T, "norm": network.norm.running_mean}
    actual = {"hidden": model.hidden.weight.val(), "norm": model.norm.running_mean.value}
    for name, value in expected.items():
        np.testing.assert_allclose(actual[name].numpy(), value.detach().numpy(), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("source", ["net.pt", "net.safetensors"])
@pytest.mark.parametrize(
    ("ending", "kind"),
    [("mpk", "NamedMpkFileRecorder"), ("mpk.gz", "NamedMpkGzFileRecorder"), ("json", "PrettyJsonFileRecorder"),
     ("json.gz", "JsonGzFileRecorder"), ("bin", "BinFileRecorder"), ("bin.gz", "BinGzFileRecorder"),
     ("safetensors", "SafetensorsRecorder"), ("bpk", "BurnpackRecorder")],
)  # fmt: skip
def test_weights_become_records_of_every_kind(
    source: str, ending: str, kind: str, network: torch.nn.Module, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.save(network.state_dict(), tmp_path / "net.pt")
    safetensors.torch.save_file(network.state_dict(), tmp_path / "net.safetensors")
    (tmp_path / "net.py").write_text(NET)
    target = tmp_path / "out" / f"model.{ending}"
    arguments = ["weights", str(tmp_path / source), "--output", str(target)]
    if ending.startswith("bin"):
        assert main(arguments) == 1
        assert "--module net.py:Net" in capsys.readouterr().err
        arguments += ["--module", f"{tmp_path / 'net.py'}:Net"]
    assert main(arguments) == 0
    assert "wrote" in capsys.readouterr().out
    assert_fits(loaded(target, kind), network)


def test_names_keys_and_precision_are_options(
    network: torch.nn.Module, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    state = {f"module.{name}": value for name, value in network.state_dict().items()}
    torch.save({"epoch": 3, "state": state}, tmp_path / "net.pt")
    target = tmp_path / "model.mpk"
    arguments = ["weights", str(tmp_path / "net.pt"), "-o", str(target), "--top-level-key", "state", "--half",
                 "--key-remap", r"module\.(.*)", "$1", "--debug"]  # fmt: skip
    assert main(arguments) == 0
    assert "Remapped Key: hidden.weight" in capsys.readouterr().out
    assert_fits(loaded(target, "NamedMpkFileRecorder"), network, 1e-3)
    assert main(arguments) == 1
    assert "is there already; add --force" in capsys.readouterr().err
    assert main([*arguments, "--force", "--quiet"]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["none.pt", "-o", "model.mpk"], "there is no such file"), (["bad.pt", "-o", "model.mpk"], "bad.pt"),
     (["net.pt", "-o", "model.xyz"], "the ending says the format"), (["net.pt", "-o", "folder.mpk"], "is a folder"),
     (["net.pt", "-o", "net.pt/model.mpk"], "net.pt"),
     (["net.pt", "-o", "model.bin", "--module", "none.py:Net"], "write FILE.py:CLASS")],
)  # fmt: skip
def test_what_cannot_be_converted_is_exit_code_1(
    arguments: list[str], message: str, network: torch.nn.Module, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    torch.save(network.state_dict(), "net.pt")
    Path("bad.pt").write_bytes(b"no weights")
    Path("folder.mpk").mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert main(["weights", *arguments]) == 1
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.rglob("*")) == before
