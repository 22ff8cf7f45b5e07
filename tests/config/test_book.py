"""The Book's configs, in Python spelling."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from burn.config import Config


@dataclass
class Model:
    hidden_size: int
    dropout: float


class ModelConfig(Config):
    num_classes: int
    hidden_size: int
    dropout: float = 0.5

    def init(self, device: str) -> Model:
        return Model(self.hidden_size, self.dropout)


class AdamConfig(Config):
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-5


class MyModuleConfig(Config):
    d_model: int
    d_ff: int
    dropout: float = 0.1


class TrainingConfig(Config):
    model: ModelConfig
    optimizer: AdamConfig
    num_epochs: int = 10
    batch_size: int = 64
    num_workers: int = 4
    seed: int = 42
    learning_rate: float = 1.0e-4


class MnistTrainingConfig(Config):
    num_epochs: int = 10
    batch_size: int = 64
    num_workers: int = 4
    seed: int = 42
    lr: float = 1e-4
    model: ModelConfig  # type: ignore[misc]
    optimizer: AdamConfig  # type: ignore[misc]


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


def test_the_chapter_on_configs(tmp_path: Path) -> None:
    config = MyModuleConfig(512, 2048)
    assert (config.d_model, config.d_ff, config.dropout) == (512, 2048, 0.1)
    config = config.with_dropout(0.2)
    assert config.dropout == 0.2
    config.save(tmp_path / "config.json")
    assert MyModuleConfig.load(tmp_path / "config.json") == config


def test_the_guide(tmp_path: Path) -> None:
    config = TrainingConfig(ModelConfig(10, 512), AdamConfig())
    config.save(f"{tmp_path}/config.json")
    loaded = TrainingConfig.load(f"{tmp_path}/config.json")
    assert loaded == config
    assert loaded.model.init("device") == Model(512, 0.5)
    assert (loaded.num_epochs, loaded.batch_size, loaded.num_workers, loaded.seed) == (10, 64, 4, 42)


def test_the_custom_training_loop() -> None:
    config_model = ModelConfig(10, 1024)
    config_optimizer = AdamConfig()
    config = MnistTrainingConfig(config_model, config_optimizer)  # type: ignore[arg-type, call-arg]
    assert (config.model.hidden_size, config.lr, config.seed) == (1024, 1e-4, 42)
    assert list(json.loads(config.to_json())) == "num_epochs batch_size num_workers seed lr model optimizer".split()


def test_a_config_taken_from_a_dict(tmp_path: Path) -> None:
    values = {
        "n_head": 2,
        "n_layer": 3,
        "d_model": 512,
        "some_float": 0.1,
        "some_int": 1,
        "some_bool": True,
        "some_str": "hello",
        "some_list_int": [1, 2, 3],
        "some_list_str": ["hello", "world"],
        "some_list_float": [0.1, 0.2, 0.3],
        "some_dict": {"some_key": "some_value"},
    }
    config = NetConfig.from_dict(values)
    config.save(tmp_path / "my_config.json")
    assert NetConfig.load(tmp_path / "my_config.json").to_dict() == values
