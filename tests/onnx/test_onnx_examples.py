"""The import examples: a digit recognised, and the guide's whole way with its report."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import burn
from burn.data.dataset.vision import MnistDataset
from burn_import.onnx import load
from examples.onnx_conversion import equivalents, models, serving
from examples.onnx_conversion.test_onnx_conversion import difference, main, with_onnxruntime
from examples.onnx_inference.__main__ import MODEL
from examples.onnx_inference.__main__ import main as infer
from tests.onnx.running import assert_same, runtime

ROOT = Path(__file__).resolve().parents[2]


def test_the_bundled_model_is_small_and_recognises_digits() -> None:
    assert MODEL.stat().st_size <= 200_000
    digits = MnistDataset.bundled("test")
    images = np.stack([digits[index].image for index in range(500)])[:, None].astype(np.float32)
    labels = np.array([digits[index].label for index in range(500)])
    scores = load(MODEL, burn.NdArray()).run({"image": images})["scores"]
    assert (scores.argmax(1) == labels).mean() >= 0.98
    assert_same(scores, runtime(MODEL.read_bytes(), {"image": images})[0], 1e-3, 1e-3)


@pytest.mark.parametrize("index", [0, 42])
def test_an_image_by_index_is_predicted(index: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert infer([str(index), "--device", "ndarray"]) == 0
    label = MnistDataset.bundled("test")[index].label
    assert f"image {index} shows a {label}; the model says {label}" in capsys.readouterr().out


def test_an_index_or_model_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for arguments in (["99999"], ["1", "--model", str(tmp_path / "none.onnx")]):
        with pytest.raises(SystemExit) as error:
            infer(arguments)
        assert error.value.code == 2
    printed = capsys.readouterr().err
    assert "the index goes from 0 to" in printed
    assert "none.onnx" in printed


def test_the_guides_way_is_gone_and_reported(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples/onnx_conversion/test_onnx_conversion.py"), "mnist", "--offline",
         "--device", "ndarray", "--cache", str(tmp_path / "cache"), "--output", str(tmp_path / "out")],
        capture_output=True, text=True, cwd=tmp_path, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "equivalent: the bundled digits model" in done.stdout
    assert "1 of 1 models went the whole way" in done.stdout
    for step in ("get", "onnxruntime", "burn-import", "run"):
        assert f"{step:<12} ok" in done.stdout
    assert f"{'furnace':<12} ok" in done.stdout or f"{'furnace':<12} skipped" in done.stdout
    assert (tmp_path / "out" / "mnist_burn.json").is_file()


def test_a_failure_has_a_hint_and_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mnist-8.onnx").write_bytes(b"no model")
    assert main(["mnist", "--models", str(tmp_path), "--offline", "--cache", str(tmp_path / "cache")]) == 1
    printed = capsys.readouterr().out
    assert "your file" in printed
    assert "failed" in printed
    assert "hint:" in printed
    assert "0 of 1 models went the whole way" in printed
    with pytest.raises(RuntimeError, match="differ by 1"):
        difference({"y": np.ones(2, np.float32)}, {"y": np.zeros(2, np.float32)})


def test_originals_are_known_by_their_checksum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = MODEL.read_bytes()
    model = models.ZooModel("digits", "digits/digits.onnx", hashlib.sha256(data).hexdigest(), lambda: b"", "nothing")
    cache = tmp_path / "cache"

    class Answer:
        def __init__(self, content: bytes) -> None:
            self.content = content

        def __enter__(self) -> Answer:
            return self

        def __exit__(self, *error: Any) -> None:
            return None

        def read(self) -> bytes:
            return self.content

    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **more: Answer(b"something else"))
    assert models.get(model, None, cache, download=True)[1] == "equivalent: nothing"
    monkeypatch.setattr("urllib.request.urlopen", lambda *given, **more: Answer(data))
    assert models.get(model, None, cache, download=True)[1] == "original, downloaded"
    monkeypatch.setattr("urllib.request.urlopen", None)
    assert models.get(model, None, cache, download=True)[1] == "original, from the cache"
    assert models.get(model, cache, tmp_path, download=False)[1].startswith("original, from ")


@pytest.mark.parametrize("make", [equivalents.mobilenet_v2, equivalents.resnet18], ids=["mobilenetv2", "resnet18"])
def test_equivalents_are_real_files_of_opset_7(make: Any, tmp_path: Path) -> None:
    file = tmp_path / "net.onnx"
    file.write_bytes(make())
    assert onnx.load(str(file)).opset_import[0].version == 7
    inputs, outputs = with_onnxruntime(file)
    assert list(inputs) == ["data"]
    assert float(np.abs(next(iter(outputs.values()))).max()) < 100


def test_the_server_is_found_or_its_absence_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert serving.command()
    monkeypatch.setattr("shutil.which", lambda *given, **more: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(serving.NotThere, match="not installed"):
        serving.command()
