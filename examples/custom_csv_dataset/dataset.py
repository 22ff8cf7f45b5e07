"""Measurements of patients from a CSV file, typed, split and normalised.

The class wraps an `InMemDataset`, as a dataset of one's own usually does: it knows the file's columns and separator,
and how the file is split into a part for training and one for testing.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike

import numpy as np

import burn
from burn import Device, Tensor
from burn.data.dataloader import Batcher
from burn.data.dataset import Dataset, InMemDataset
from burn.data.dataset.transform import PartialDataset, ShuffledDataset


@dataclass
class Patient:
    """A row of the file: the names are those of its columns."""

    age: int
    sex: int
    bmi: float
    bp: float
    response: int


class PatientDataset(Dataset[Patient]):
    """Four fifths of the rows for training, the others for testing, in an order that a seed decides."""

    def __init__(self, rows: Dataset[Patient]) -> None:
        self.rows = rows

    @classmethod
    def load(cls, path: str | PathLike[str], split: str, seed: int = 42) -> PatientDataset:
        """A split, "train" or "test", of a file separated by tabs."""
        whole: InMemDataset[Patient] = InMemDataset.from_csv(path, delimiter="\t", item=Patient)
        shuffled = ShuffledDataset.with_seed(whole, seed)
        border = len(shuffled) * 8 // 10
        start, end = {"train": (0, border), "test": (border, len(shuffled))}[split]
        return cls(PartialDataset(shuffled, start, end))

    def get(self, index: int) -> Patient | None:
        """The patient of that number."""
        return self.rows.get(index)

    def len(self) -> int:
        """How many patients there are."""
        return self.rows.len()


@dataclass
class PatientBatch:
    """Measurements (rows, 4), each scaled to about 0 to 1, and responses (rows,)."""

    inputs: Tensor
    targets: Tensor


class PatientBatcher(Batcher[Patient, PatientBatch]):
    """Scales measurements by what patients usually have."""

    low = np.array([18, 1, 15, 60], np.float32)
    span = np.array([62, 1, 30, 80], np.float32)

    def batch(self, items: list[Patient], device: Device) -> PatientBatch:
        """One tensor for all measurements, one for all responses."""
        rows = np.array([[item.age, item.sex, item.bmi, item.bp] for item in items], np.float32)
        targets = np.array([item.response for item in items], np.float32)
        return PatientBatch(
            burn.tensor((rows - self.low) / self.span, device=device), burn.tensor(targets, device=device)
        )
