"""Checkpoints: which are kept, which are whole, and what happens when they cannot be written."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from burn import NdArray
from burn.optim import AdamConfig
from burn.record import CompactRecorder, DefaultRecorder, NamedMpkGzFileRecorder
from burn.train import (
    AccuracyMetric,
    Aggregate,
    CheckpointError,
    ComposedCheckpointingStrategy,
    Direction,
    EventStore,
    KeepLastNCheckpoints,
    LearnerBuilder,
    LossMetric,
    MetricCheckpointingStrategy,
    NoRenderer,
    Split,
)
from burn.train.checkpoint import Delete, Save
from tests.train.small import assert_same, loaders, plain


def store(losses: list[float]) -> EventStore:
    made = EventStore()
    for epoch, loss in enumerate(losses, 1):
        made.add(Split.Valid, epoch, "Loss", loss)
    return made


def followed(strategy: Any, losses: list[float]) -> list[set[int]]:
    """The epochs that are kept after each epoch."""
    kept: set[int] = set()
    found = []
    for epoch in range(1, len(losses) + 1):
        for action in strategy.checkpointing(epoch, store(losses[:epoch])):
            if isinstance(action, Save):
                kept.add(epoch)
            else:
                assert isinstance(action, Delete)
                kept.discard(action.epoch)
        found.append(set(kept))
    return found


BEST = MetricCheckpointingStrategy("Loss", Aggregate.Mean, Direction.Lowest, Split.Valid)


def test_the_last_ones_are_kept() -> None:
    assert followed(KeepLastNCheckpoints(2), [1.0] * 4) == [{1}, {1, 2}, {2, 3}, {3, 4}]


def test_the_best_one_is_kept_and_equal_ones_are_no_improvement() -> None:
    assert followed(BEST, [3.0, 2.0, 2.0, float("nan"), 1.0]) == [{1}, {2}, {2}, {2}, {5}]


def test_together_they_delete_only_what_all_gave_up() -> None:
    both = ComposedCheckpointingStrategy(KeepLastNCheckpoints(2), BEST)
    assert followed(both, [1.0, 2.0, 3.0, 4.0, 0.5]) == [{1}, {1, 2}, {1, 2, 3}, {1, 3, 4}, {4, 5}]
    again = ComposedCheckpointingStrategy(KeepLastNCheckpoints(2), BEST)
    again.replay(4, store([1.0, 2.0, 3.0, 4.0]))
    assert again.checkpointing(5, store([1.0, 2.0, 3.0, 4.0, 0.5])) == [Save(), Delete(1), Delete(3)]


class Listening(NoRenderer):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def on_log(self, message: str) -> None:
        self.lines.append(message)


def learner(folder: Path, epochs: int, recorder: Any = None, renderer: Any = None, resume: Any = None) -> Any:
    builder = LearnerBuilder(folder).metrics([LossMetric()]).renderer(renderer or NoRenderer()).num_epochs(epochs)
    builder = builder.with_file_checkpointer(recorder or DefaultRecorder())
    builder = builder.with_checkpointing_strategy(KeepLastNCheckpoints(9))
    if resume is not None:
        builder = builder.checkpoint(resume)
    return builder.build(plain(NdArray()), AdamConfig().init(), 1e-2)


def test_a_half_written_checkpoint_is_never_loaded(tmp_path: Path) -> None:
    learner(tmp_path, 3).fit(*loaders())
    folder = tmp_path / "checkpoint"
    (folder / "model-3.mpk").write_bytes((folder / "model-3.mpk").read_bytes()[:-7])
    (folder / ".model-4.mpk.1-0123abcd.tmp").write_bytes(b"half")
    resumed = learner(tmp_path, 4, resume="last")
    assert resumed.position.epoch == 2
    assert "checkpoint 3 is passed over: model-3.mpk is not the file that was written" in resumed.notices[0]
    with pytest.raises(CheckpointError, match=r"checkpoint\(3\): model-3.mpk is not the file"):
        learner(tmp_path, 4, resume=3)
    with pytest.raises(CheckpointError, match=r"checkpoint\(7\): not found in .*; there are 1, 2, 3"):
        learner(tmp_path, 4, resume=7)
    resumed.fit(*loaders())
    assert not list(folder.glob(".*"))
    assert learner(tmp_path, 4, resume="last").position.epoch == 4


def test_a_folder_without_state_files_resumes_with_a_notice(tmp_path: Path) -> None:
    first = learner(tmp_path, 2)
    model = first.fit(*loaders())
    for path in (tmp_path / "checkpoint").glob("state-*.json"):
        path.unlink()
    resumed = learner(tmp_path, 2, resume="last")
    assert resumed.position.epoch == 2
    assert "has no state-2.json" in resumed.notices[-1]
    assert_same(resumed.fit(*loaders()), model)


def test_without_any_checkpoint_the_training_begins(tmp_path: Path) -> None:
    begun = learner(tmp_path, 1, resume="last")
    assert begun.position.epoch == 0
    assert "there is no checkpoint" in begun.notices[0]


def test_another_recorder_is_named(tmp_path: Path) -> None:
    learner(tmp_path, 1, NamedMpkGzFileRecorder()).fit(*loaders())
    assert (tmp_path / "checkpoint/model-1.mpk.gz").exists()
    with pytest.raises(CheckpointError, match="recorder for .mpk.gz files, and this one is for .mpk"):
        learner(tmp_path, 2, resume=1)


def test_the_newest_checkpoint_counts_where_an_older_run_was_longer(tmp_path: Path) -> None:
    learner(tmp_path, 3).fit(*loaders())
    learner(tmp_path, 1).fit(*loaders())
    assert learner(tmp_path, 5, resume="last").position.epoch == 1


def test_a_full_disk_is_reported_and_older_checkpoints_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        if any("-2." in name for name in os.listdir(tmp_path / "checkpoint")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    renderer = Listening()
    made = LearnerBuilder(tmp_path).metrics([LossMetric()]).renderer(renderer).num_epochs(3)
    made = made.with_file_checkpointer(DefaultRecorder()).with_checkpointing_strategy(KeepLastNCheckpoints(1))
    monkeypatch.setattr("burn.record.files.os.fsync", full)
    made.build(plain(NdArray()), AdamConfig().init(), 1e-2).fit(*loaders())
    monkeypatch.undo()
    reported = [line for line in renderer.lines if "could not be written" in line]
    assert "No space left on device" in reported[0]
    assert "complete ones: 1" in reported[0]
    names = {path.name for path in (tmp_path / "checkpoint").iterdir()}
    assert {"model-1.mpk", "state-1.json"} <= names or {"model-3.mpk", "state-3.json"} <= names
    assert "state-2.json" not in names
    assert "model-2.mpk" not in names


def test_half_precision_and_a_missing_loss_are_said(tmp_path: Path) -> None:
    renderer = Listening()
    builder = LearnerBuilder(tmp_path).renderer(renderer).metric_valid_numeric(AccuracyMetric())
    builder.with_file_checkpointer(CompactRecorder()).build(plain(NdArray()), AdamConfig().init(), 0.1).fit(*loaders())
    assert any("half precision" in line for line in renderer.lines)
    assert any("the last 2 checkpoints are kept" in line for line in renderer.lines)


def test_the_state_holds_generators_positions_metrics_and_checksums(tmp_path: Path) -> None:
    learner(tmp_path, 2).fit(*loaders())
    state = json.loads((tmp_path / "checkpoint/state-2.json").read_text())
    assert set(state["files"]) == {"model-2.mpk", "optim-2.mpk", "scheduler-2.mpk"}
    assert state["loaders"] == {"train": 2, "valid": 2}
    assert list(state["generators"]) == ["NdArray()"]
    assert set(state["metrics"]["valid"]["Loss"]) == {"1", "2"}
    assert (state["step"], state["iteration"]) == (14, 0)
