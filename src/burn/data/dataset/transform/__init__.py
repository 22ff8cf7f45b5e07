"""Lazy views: a part, an order, a sample, a mapping, a concatenation or windows of other datasets."""

from __future__ import annotations

from burn.data.dataset.transform.composed import ComposedDataset
from burn.data.dataset.transform.mapper import Mapper, MapperDataset
from burn.data.dataset.transform.partial import PartialDataset
from burn.data.dataset.transform.random_split import random_split
from burn.data.dataset.transform.sampler import SamplerDataset, SizeConfig
from burn.data.dataset.transform.selection import SelectionDataset
from burn.data.dataset.transform.shuffled import ShuffledDataset
from burn.data.dataset.transform.view import View
from burn.data.dataset.transform.windows import WindowsDataset

__all__ = [
    "ComposedDataset", "Mapper", "MapperDataset", "PartialDataset", "SamplerDataset", "SelectionDataset",
    "ShuffledDataset", "SizeConfig", "View", "WindowsDataset", "random_split",
]  # fmt: skip
