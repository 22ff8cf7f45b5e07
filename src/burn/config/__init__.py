"""Configs: typed settings with defaults, checked when they are made, and written as JSON.

    class ModelConfig(Config):
        num_classes: int
        hidden_size: int
        dropout: float = 0.5

    config = ModelConfig(10, 512).with_dropout(0.2)
    config.save("config.json")

A `Config` has fields; an `Enumeration` is one of several variants, each with fields of its own.
Values of both are immutable, compare by value, and read as the source that makes them.
"""

from __future__ import annotations

from dataclasses import field

from burn.config.config import Config
from burn.config.containers import Length, Pair, Triple
from burn.config.enumeration import Enumeration, variant
from burn.config.faults import ConfigError, ConfigFileNotFound

__all__ = [
    "Config", "ConfigError", "ConfigFileNotFound", "Enumeration", "Length", "Pair", "Triple", "field", "variant",
]  # fmt: skip
