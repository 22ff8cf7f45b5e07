from __future__ import annotations

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest

from burn.errors import ArgumentError
from burn.train.summary import LearnerSummary, MetricSummary, read_logs


def write(root: Path, split: str, epoch: int, name: str, lines: list[str]) -> Path:
    folder = root / split / f"epoch-{epoch}"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.log"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture
def artifacts(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    for epoch in (1, 2, 3):
        for split in ("train", "valid"):
            losses = random.uniform(0, 1, 5) / 10**epoch
            write(tmp_path, split, epoch, "Loss", [f"{loss},{count}" for loss, count in zip(losses, (8, 8, 8, 8, 3))])
            write(tmp_path, split, epoch, "Top-K_Accuracy_@_TopK(2)", [f"{70 + epoch},{8}"])
        write(tmp_path, "train", epoch, "Notes", ["all is well"])
        write(tmp_path, "train", epoch, "Learning_Rate", ["0.5", "0.25"])
    return tmp_path


def test_the_table_has_the_form_that_people_know(tmp_path: Path) -> None:
    for epoch, (loss, accuracy) in enumerate([(0.5, 80.0), (0.0012345, 99.5), (0.25, 98.0)], 1):
        write(tmp_path, "train", epoch, "Loss", [f"{loss},4"])
        write(tmp_path, "valid", epoch, "Accuracy", [f"{accuracy},4"])
    summary = LearnerSummary(tmp_path, ["Accuracy", "Loss"]).with_model("Model {\n  params: 2\n}")
    assert str(summary) == (
        "======================== Learner Summary ========================\n"
        "Model:\n"
        "Model {\n  params: 2\n}\n"
        "Total Epochs: 3\n"
        "\n"
        "\n"
        "| Split | Metric   | Min.     | Epoch    | Max.     | Epoch    |\n"
        "|-------|----------|----------|----------|----------|----------|\n"
        "| Train | Loss     | 1.234e-3 | 2        | 0.500    | 1        |\n"
        "| Valid | Accuracy | 80.000   | 1        | 99.500   | 2        |"
    )


def test_the_value_of_an_epoch_is_the_mean_weighted_by_items(artifacts: Path) -> None:
    rows = np.loadtxt(artifacts / "valid" / "epoch-2" / "Loss.log", delimiter=",")
    expected = np.average(rows[:, 0], weights=rows[:, 1])
    summary = LearnerSummary(artifacts)
    loss = next(metric for metric in summary.metrics["valid"] if metric.name == "Loss")
    assert dict(loss.entries)[2] == pytest.approx(expected)
    assert summary.epochs == 3


def test_without_names_all_numeric_metrics_are_found_and_text_is_left_out(artifacts: Path) -> None:
    names = {split: [metric.name for metric in found] for split, found in LearnerSummary(artifacts).metrics.items()}
    assert names == {"train": ["Learning Rate", "Loss", "Top-K Accuracy @ TopK(2)"],
                     "valid": ["Loss", "Top-K Accuracy @ TopK(2)"]}  # fmt: skip


def test_a_final_line_is_the_value_of_the_epoch(tmp_path: Path) -> None:
    write(tmp_path, "train", 1, "Auroc", ["50.0,4", "60.0,4", "93.5,final"])
    assert LearnerSummary(tmp_path).metrics["train"][0].entries == ((1, 93.5),)


def test_nan_counts_as_the_largest() -> None:
    metric = MetricSummary("Loss", ((1, math.nan), (2, 0.5), (3, 7.0)))
    assert metric.min == (2, 0.5)
    assert metric.max[0] == 1


def test_tests_stand_under_their_tags(artifacts: Path) -> None:
    folder = artifacts / "test" / "night"
    folder.mkdir(parents=True)
    (folder / "Loss.log").write_text("0.5,4\n1.5,4\n")
    assert ("Test (night)", "Loss", "1.000", "1", "1.000", "1") in LearnerSummary(artifacts, ["Loss"]).rows()


def test_a_last_line_that_is_still_being_written_is_left_out(tmp_path: Path) -> None:
    path = write(tmp_path, "train", 1, "Loss", ["0.5,4", "0.25,4"])
    path.write_text(path.read_text() + "0.1")
    assert read_logs(tmp_path)["train"]["Loss"][0].values == (0.5, 0.25)


def test_logs_that_an_earlier_training_left_are_noticed(artifacts: Path) -> None:
    assert LearnerSummary(artifacts).notices == ()
    for path in (artifacts / "train" / "epoch-3").iterdir():
        os.utime(path, (1_000_000_000, 1_000_000_000))
    notices = LearnerSummary(artifacts).notices
    assert len(notices) == 1
    assert notices[0].startswith("train logs from epoch 3 on are older than those before: an earlier training")
    assert str(LearnerSummary(artifacts)).endswith(f"note: {notices[0]}")


def test_a_gap_is_noticed(artifacts: Path) -> None:
    for path in (artifacts / "valid" / "epoch-2").iterdir():
        path.unlink()
    (artifacts / "valid" / "epoch-2").rmdir()
    assert LearnerSummary(artifacts).notices == ("valid logs of epoch 2 are missing",)


def test_markdown_and_json_say_the_same(artifacts: Path) -> None:
    write(artifacts, "train", 3, "Loss", ["nan,4"])
    summary = LearnerSummary(artifacts)
    lines = summary.to_markdown().splitlines()
    assert lines[:2] == ["| Split | Metric | Min. | Epoch | Max. | Epoch |", "| --- | --- | --- | --- | --- | --- |"]
    assert len(lines) == 2 + len(summary.rows())
    data = json.loads(summary.to_json())
    assert data["epochs"] == 3
    assert data["metrics"]["train"]["Loss"]["max"] == {"value": None, "epoch": 3}
    assert data["metrics"]["valid"]["Top-K Accuracy @ TopK(2)"]["epochs"] == {"1": 71.0, "2": 72.0, "3": 73.0}


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="summary: there is no folder .*nowhere"):
        LearnerSummary(tmp_path / "nowhere")
    with pytest.raises(ArgumentError, match="no numeric metric has a log in"):
        LearnerSummary(tmp_path)
    write(tmp_path, "train", 1, "Loss", ["1.0,1"])
    with pytest.raises(ArgumentError, match="none of Accuracy, Speed has a log in"):
        LearnerSummary(tmp_path, ["Accuracy", "Speed"])
