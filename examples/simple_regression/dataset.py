"""California housing: the districts of the 1990 census, their people, houses and incomes, and what a house is worth.

`housing.csv` beside this file has 800 of the 20640 districts. Another file with these columns can be given.
"""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import numpy.typing as npt

import burn
from burn.data.dataloader.batcher import Batcher
from burn.data.dataset import InMemDataset
from burn.data.dataset.transform import PartialDataset, ShuffledDataset
from burn.prelude import Device, Tensor

BUNDLED = Path(__file__).with_name("housing.csv")
FEATURES = (
    "median_income", "housing_median_age", "rooms", "bedrooms", "population", "occupants", "latitude", "longitude",
)  # fmt: skip
NUM_FEATURES = len(FEATURES)
VALUE = 100_000.0  # dollars: the unit of targets

Array = npt.NDArray[np.float32]


@dataclass
class District:
    """A row of the file: the names are those of its columns, which may have more."""

    longitude: float
    latitude: float
    housing_median_age: float
    total_rooms: float
    total_bedrooms: float | None
    population: float
    households: float
    median_income: float
    median_house_value: float

    def features(self) -> list[float]:
        """What the network sees, in the order of `FEATURES`: averages for a household, not sums of a district."""
        homes = max(self.households, 1.0)
        bedrooms = self.total_bedrooms if self.total_bedrooms is not None else homes * 1.1
        return [
            self.median_income, self.housing_median_age, self.total_rooms / homes, bedrooms / homes,
            self.population, self.population / homes, self.latitude, self.longitude,
        ]  # fmt: skip


Districts = PartialDataset[District]


def load(path: str | PathLike[str] = BUNDLED, seed: int = 42) -> tuple[Districts, Districts]:
    """Four fifths of the districts to train on and one fifth to test with, in an order that a seed decides."""
    rows: InMemDataset[District] = InMemDataset.from_csv(path, item=District)
    shuffled = ShuffledDataset.with_seed(rows, seed)
    border = len(shuffled) * 8 // 10
    return PartialDataset(shuffled, 0, border), PartialDataset(shuffled, border, len(shuffled))


@dataclass
class HousingBatch:
    """Features (batch, 8) of mean 0 and deviation 1, and values (batch,) in units of 100,000 dollars."""

    inputs: Tensor
    targets: Tensor


class HousingBatcher(Batcher[District, HousingBatch]):
    """Scales features by the mean and deviation of the districts that are trained on."""

    def __init__(self, mean: Array, deviation: Array) -> None:
        self.mean, self.deviation = mean, deviation

    @classmethod
    def fitted(cls, districts: Districts) -> HousingBatcher:
        """A batcher with the statistics of some districts."""
        table = np.array([district.features() for district in districts], np.float32)
        return cls(table.mean(0), table.std(0))

    def batch(self, items: list[District], device: Device) -> HousingBatch:
        """One tensor for all features, one for all values."""
        table = np.array([item.features() for item in items], np.float32)
        values = np.array([item.median_house_value / VALUE for item in items], np.float32)
        scaled = (table - self.mean) / self.deviation
        return HousingBatch(burn.tensor(scaled, device=device), burn.tensor(values, device=device))
