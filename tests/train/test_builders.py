"""Builders are values: each call gives a new one, and options may be keywords."""

from __future__ import annotations

from pathlib import Path

import pytest

from burn.backend import NdArray
from burn.data.dataloader import DataLoaderBuilder
from burn.errors import ArgumentError
from burn.record import DefaultRecorder
from burn.train import LearnerBuilder, LossMetric, NoRenderer
from burn.train.logger import InMemoryMetricLogger


def batch(items: list[int], device: object) -> list[int]:
    return items


def test_a_learner_builder_stays_as_it_was(tmp_path: Path) -> None:
    common = LearnerBuilder(tmp_path).renderer(NoRenderer())
    longer = common.num_epochs(7).metrics([LossMetric()]).callbacks([]).devices([NdArray()])
    assert (common._settings.num_epochs, longer._settings.num_epochs) == (1, 7)
    assert [len(found) for found in common._settings.metrics.values()] == [0, 0]
    assert [len(found) for found in longer._settings.metrics.values()] == [1, 1]
    assert common._settings.devices is None
    assert common.interrupter() is longer.interrupter()


def test_options_of_a_learner_are_keywords_too(tmp_path: Path) -> None:
    train, valid = InMemoryMetricLogger(), InMemoryMetricLogger()
    settings = LearnerBuilder(
        tmp_path, num_epochs=3, summary=True, compile=False, metrics=[LossMetric()], metric_loggers=(train, valid),
        with_file_checkpointer=DefaultRecorder(), resume=True, renderer=NoRenderer(), deterministic=False,
    )._settings  # fmt: skip
    assert (settings.num_epochs, settings.summary, settings.resume) == (3, True, "last")
    assert settings.metric_loggers == (train, valid)
    assert settings.capture is False
    assert settings.deterministic is False
    with pytest.raises(ArgumentError, match=r"LearnerBuilder: has no option 'epochs'; options are .*num_epochs"):
        LearnerBuilder(tmp_path, epochs=3)


def test_options_of_a_loader_are_keywords_too() -> None:
    loader = DataLoaderBuilder(batch, batch_size=2, shuffle=3, drop_last=True).build(range(5))
    chained = DataLoaderBuilder(batch).batch_size(2).shuffle(3).drop_last().build(range(5))
    assert list(loader) == list(chained)
    assert len(loader) == 2
    assert DataLoaderBuilder(batch, batch_size=2, drop_last=False).build(range(5)).iter() is not None
    with pytest.raises(ArgumentError, match="DataLoaderBuilder: has no option 'size'; options are .*batch_size"):
        DataLoaderBuilder(batch, size=2)
