"""The examples that train, in a small setting: they run, learn something, and leave what their pages say."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from burn import NdArray
from burn.data.dataset.transform import PartialDataset
from burn.data.dataset.vision import MnistDataset
from examples.simple_regression.dataset import BUNDLED, FEATURES, HousingBatcher, load


@pytest.fixture(autouse=True)
def lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BURN_RENDERER", "plain")


@pytest.fixture
def digits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few bundled digits in the place of MNIST."""
    for split, count in (("train", 1024), ("test", 128)):
        part = PartialDataset(MnistDataset.bundled(split), 0, count)  # type: ignore[arg-type]
        monkeypatch.setattr(MnistDataset, split, lambda folder=None, part=part: part)


def run(name: str, *arguments: Any) -> None:
    import_module(f"examples.{name}").main([str(each) for each in arguments])


def test_the_guide_trains_saves_loads_and_reads_item_42(
    digits: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--epochs", 3, "--lr", 2e-3, "--workers", 1, "--artifact-dir", tmp_path / "guide")
    run("guide.main", *options)
    out = capsys.readouterr().out
    assert "\n  params: 531178\n}\n" in out
    assert "Learner Summary" in out
    label = MnistDataset.bundled("test")[42].label
    assert out.splitlines()[-1] == f"Predicted {label} Expected {label}"
    for file in ("config.json", "experiment.log", "checkpoint", "train/epoch-3/Loss.log", "valid/epoch-3/Accuracy.log"):
        assert (tmp_path / "guide" / file).exists(), file
    assert list((tmp_path / "guide").glob("model.*"))
    run("guide.main", "--infer-only", *options)
    assert capsys.readouterr().out == f"Predicted {label} Expected {label}\n"


def test_the_guide_has_the_settings_of_the_book() -> None:
    from burn.optim import AdamConfig
    from examples.guide.model import ModelConfig
    from examples.guide.training import TrainingConfig

    config = TrainingConfig(ModelConfig(10, 512), AdamConfig())
    assert (config.num_epochs, config.batch_size, config.num_workers, config.seed) == (10, 64, 4, 42)
    assert (config.learning_rate, config.model.dropout) == (1e-4, 0.5)


def test_mnist_trains_and_resumes(digits: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("psutil")
    options = ("--hidden-size", 32, "--artifact-dir", tmp_path / "mnist")
    run("mnist.__main__", "--epochs", 2, *options)
    first = capsys.readouterr().out
    assert "| Valid | Top-K Accuracy @ TopK(2) |" in first
    assert list((tmp_path / "mnist" / "checkpoint").glob("model-2.*"))
    run("mnist.__main__", "--epochs", 3, "--resume", *options)
    second = capsys.readouterr().out
    assert "the training goes on after epoch 2" in second
    assert "epoch 3/3 valid" in second
    assert "epoch 2/3" not in second


def test_regression_learns_what_houses_are_worth(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run("simple_regression.__main__", "--epochs", 25, "--artifact-dir", tmp_path / "run")
    out = capsys.readouterr().out
    best = next(line for line in out.splitlines() if line.startswith("| Valid | R2 Score"))
    assert float(best.split("|")[5]) > 0.5
    assert out.splitlines()[-1].count("$") == 2


def test_the_features_of_districts_are_scaled_as_numpy_does() -> None:
    districts, others = load()
    assert (len(districts), len(others)) == (640, 160)
    batch = HousingBatcher.fitted(districts).batch([districts[index] for index in range(640)], NdArray())
    table = np.asarray(batch.inputs)
    assert table.shape == (640, len(FEATURES))
    np.testing.assert_allclose(table.mean(0), 0, atol=1e-3)
    np.testing.assert_allclose(table.std(0), 1, atol=1e-3)
    assert BUNDLED.stat().st_size < 50_000


def test_a_file_of_districts_may_have_gaps_and_more_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The columns of the edition that is met most often; the rows are made up."""
    names = (
        "longitude,latitude,housing_median_age,total_rooms,total_bedrooms,population,households,median_income,"
        "median_house_value,ocean_proximity"
    )
    rows = [
        f"-{118 + index % 4}.5,{34 + index % 5}.25,{10 + index},{900 + index},{200 + index},{500 + index},"
        f"{180 + index},{2 + index % 7}.5,{90_000 + 30_000 * (index % 7)},INLAND"
        for index in range(40)
    ]
    rows[7] = "-121.5,36.25,17,950,,600,200,3.5,150000,NEAR BAY"
    file = tmp_path / "districts.csv"
    file.write_text("\n".join([names, *rows]) + "\n", encoding="utf-8")

    districts, others = load(file)
    assert (len(districts), len(others)) == (32, 8)
    gap = next(row for part in (districts, others) for row in part if row.total_bedrooms is None)
    assert gap.features() == pytest.approx([3.5, 17, 4.75, 1.1, 600, 3, 36.25, -121.5])
    run("simple_regression.__main__", "--data", file, "--epochs", 2, "--artifact-dir", tmp_path / "run")
    assert capsys.readouterr().out.count("in the census $") == 5


def test_the_custom_renderer_draws_and_stops(digits: None, capsys: pytest.CaptureFixture[str]) -> None:
    run("custom_renderer.__main__", "--items", 512, "--epochs", 4, "--stop-below", 2.2)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "4 epochs of 512 items"
    epochs = [line for line in lines if "█ train" in line]
    assert 1 <= len(epochs) < 4
    assert any("the loss is below 2.2" in line for line in lines)
    assert lines[-1].startswith("validation loss ")
