"""Settings that were saved beside weights."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest
import torch

from burn.config import Config
from burn.config.faults import ConfigError
from burn.errors import ArgumentError
from burn.record import RecordError
from burn_import.pytorch import config_from_file


class NetConfig(Config):
    n_head: int
    n_layer: int
    d_model: int
    some_float: float
    some_int: int
    some_bool: bool
    some_str: str
    some_list_int: list[int]
    some_list_str: list[str]
    some_list_float: list[float]
    some_dict: dict[str, str]


VALUES = {
    "n_head": 2, "n_layer": 3, "d_model": 512, "some_float": 0.1, "some_int": 1, "some_bool": True, "some_str": "hello",
    "some_list_int": [1, 2, 3], "some_list_str": ["hello", "world"], "some_list_float": [0.1, 0.2, 0.3],
    "some_dict": {"some_key": "some_value"},
}  # fmt: skip


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
def test_the_config_of_the_book_comes_back(tmp_path: Path, zipped: bool) -> None:
    path = tmp_path / "weights_with_config.pt"
    torch.save({"my_model": {"w": torch.ones(3)}, "my_config": VALUES}, path, _use_new_zipfile_serialization=zipped)
    config = config_from_file(path, NetConfig, "my_config")
    assert config == NetConfig(**VALUES)  # type: ignore[arg-type]
    config.save(tmp_path / "my_config.json")
    assert NetConfig.load(tmp_path / "my_config.json") == config


def test_tensors_and_other_entries_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({**VALUES, "some_list_int": (1, torch.ones(1), 2), "weights": torch.ones(3), "epoch": 7}, path)
    assert config_from_file(path, NetConfig).some_list_int == [1, 2]


def test_a_namespace_and_numbers_of_numpy_are_plain_values(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"args": argparse.Namespace(**{**VALUES, "some_float": np.float64(0.1), "n_head": np.int64(2)})}, path)
    assert config_from_file(path, NetConfig, "args") == NetConfig(**VALUES)  # type: ignore[arg-type]


def test_everything_that_does_not_fit_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"my_config": {**{k: v for k, v in VALUES.items() if k != "n_head"}, "some_str": 3}}, path)
    with pytest.raises(ConfigError) as error:
        config_from_file(path, NetConfig, "my_config")
    assert "n_head" in str(error.value)
    assert "some_str" in str(error.value)


def test_what_is_no_config_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.pt"
    torch.save({"my_config": [1]}, path)
    with pytest.raises(RecordError, match="a dict is needed, and there is a list"):
        config_from_file(path, NetConfig, "my_config")
    with pytest.raises(ArgumentError, match="needs a class of configs"):
        config_from_file(path, dict)  # type: ignore[type-var]
