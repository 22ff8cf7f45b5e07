"""Loggers keep what metrics said: in memory, in files, in tables, in event files that TensorBoard reads."""

from __future__ import annotations

import csv
import json
import logging
import struct
from pathlib import Path
from typing import Any

import pytest

from burn import NdArray
from burn.errors import ArgumentError
from burn.optim import AdamConfig
from burn.train import (
    CsvLogger,
    FileApplicationLogger,
    FileMetricLogger,
    InMemoryMetricLogger,
    JsonLinesLogger,
    LearnerBuilder,
    LossMetric,
    MetricEntry,
    NoRenderer,
    Split,
    TensorBoardLogger,
    WandbLogger,
)
from burn.train.logger.tensorboard import crc32c, masked
from tests.train.small import loaders, plain


def entry(value: str, name: str = "Loss") -> MetricEntry:
    return MetricEntry(name, value, value)


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_an_epoch_that_is_run_again_begins_anew_and_one_that_goes_on_is_added_to(kind: str, tmp_path: Path) -> None:
    logger: Any = FileMetricLogger(tmp_path) if kind == "file" else InMemoryMetricLogger()
    for epoch, values in ((1, "1.0,4"), (2, "2.0,4"), (2, "3.0,4")):
        logger.start_epoch(epoch)
        logger.log(entry(values))
        logger.end_epoch(epoch)
    assert [each.value for each in logger.read_numeric("Loss", 2)] == [3.0]
    logger.start_epoch(2, append=True)
    logger.log(entry("5.0"))
    assert [(each.value, each.count) for each in logger.read_numeric("Loss", 2)] == [(3.0, 4), (5.0, None)]
    assert [each.value for each in logger.read_numeric("Loss", 1)] == [1.0]
    assert logger.read_numeric("Loss", 9) == []


def test_names_of_files_have_no_spaces_and_lead_nowhere_else(tmp_path: Path) -> None:
    logger = FileMetricLogger(tmp_path / "train")
    logger.start_epoch(1)
    logger.log(entry("1.0", "Top-K Accuracy @ TopK(2)"))
    logger.log(entry("1.0", "../../up"))
    logger.end_epoch(1)
    names = sorted(path.name for path in tmp_path.rglob("*.log"))
    assert names == ["Top-K_Accuracy_@_TopK(2).log", "_.._up.log"]
    assert {path.parent for path in tmp_path.rglob("*.log")} == {tmp_path / "train/epoch-1"}


class Service:
    """Shaped like a run of a tracking service: steps must not go back."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, float], int]] = []

    def log(self, values: dict[str, float], step: int) -> None:
        assert not self.calls or step >= self.calls[-1][1]
        self.calls.append((values, step))


def fitted(folder: Path, loggers: list[Any]) -> Any:
    builder = LearnerBuilder(folder).metrics([LossMetric()]).renderer(NoRenderer()).loggers(loggers).num_epochs(2)
    learner = builder.build(plain(NdArray()), AdamConfig().init(), 1e-2)
    learner.fit(*loaders())
    return learner


def test_a_run_reaches_tables_and_services(tmp_path: Path) -> None:
    service = Service()
    table, lines = tmp_path / "logs/run.csv", tmp_path / "run.jsonl"
    learner = fitted(tmp_path, [CsvLogger(table), JsonLinesLogger(lines), WandbLogger(service, every=2)])
    with table.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 * (7 + 3 + 2)
    assert rows == [{key: str(value) for key, value in json.loads(x).items()} for x in lines.read_text().splitlines()]
    last = [row for row in rows if row["scope"] == "epoch" and row["split"] == "valid"][-1]
    assert float(last["value"]) == learner.store.mean("Loss", 2, Split.Valid)
    assert [step for values, step in service.calls if "train/Loss" in values] == [2, 4, 6, 8, 10, 12, 14]
    assert service.calls[-1][0]["epoch"] == 2
    with pytest.raises(ArgumentError, match="needs an object with log"):
        WandbLogger(object())


def test_the_checksum_is_crc32c() -> None:
    assert crc32c(b"123456789") == 0xE3069283  # the check value of the standard
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert masked(b"") == 0xA282EAD8


def records(path: Path) -> list[bytes]:
    data, found, place = path.read_bytes(), [], 0
    while place < len(data):
        (length,) = struct.unpack_from("<Q", data, place)
        assert struct.unpack_from("<I", data, place + 8)[0] == masked(data[place : place + 8])
        body = data[place + 12 : place + 12 + length]
        assert struct.unpack_from("<I", data, place + 12 + length)[0] == masked(body)
        found.append(body)
        place += 16 + length
    return found


def test_event_files_have_whole_records(tmp_path: Path) -> None:
    fitted(tmp_path / "run", [TensorBoardLogger(tmp_path / "board")])
    (train,) = (tmp_path / "board/train").iterdir()
    (valid,) = (tmp_path / "board/valid").iterdir()
    assert b"brain.Event:2" in records(train)[0]
    assert len(records(train)) == 1 + 14 + 2
    assert len(records(valid)) == 1 + 2


def test_tensorboard_reads_the_event_files(tmp_path: Path) -> None:
    reader = pytest.importorskip(
        "tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed"
    )
    learner = fitted(tmp_path / "run", [TensorBoardLogger(tmp_path / "board")])
    events = reader.EventAccumulator(str(tmp_path / "board/valid"))
    events.Reload()
    found = events.Scalars("epoch/Loss")
    assert [each.step for each in found] == [1, 2]
    assert found[1].value == pytest.approx(learner.store.mean("Loss", 2, Split.Valid))


def test_the_application_log_takes_messages_while_it_is_installed(tmp_path: Path) -> None:
    own, other = logging.getLogger("burn.train"), logging.getLogger("somebody")
    logger = FileApplicationLogger(tmp_path / "logs/experiment.log")
    before = own.level, own.propagate, len(logging.getLogger().handlers)
    logger.install()
    own.info("one")
    other.warning("two")
    logger.uninstall()
    own.info("three")
    assert (own.level, own.propagate, len(logging.getLogger().handlers)) == before
    text = (tmp_path / "logs/experiment.log").read_text()
    assert "INFO    burn.train: one" in text
    assert "WARNING somebody: two" in text
    assert "three" not in text
