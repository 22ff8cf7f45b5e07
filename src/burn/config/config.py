"""`Config`: settings that build something, and are kept beside it.

A config states every value on which a module, an optimizer or a training run depends. It is written
whole, defaults included, so a default that changes later does not change what was saved.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

from burn.config.faults import Faults
from burn.config.fields import attribute_error
from burn.config.stored import Stored
from burn.config.structs import Struct
from burn.errors import ArgumentError


class Config(Stored):
    """Base of configs: a subclass declares typed fields, with defaults where it has them.

    Values are checked when a config is made, `with_<field>` gives a changed copy, `save` and `load` are JSON.

    >>> from burn import Config
    >>> class ModelConfig(Config):
    ...     num_classes: int
    ...     hidden_size: int
    ...     dropout: float = 0.5
    >>> config = ModelConfig(10, 512).with_dropout(0.2)
    >>> config.replace(hidden_size=64)
    ModelConfig(num_classes=10, hidden_size=64, dropout=0.2)
    >>> config.save("config.json")
    >>> ModelConfig.load("config.json") == config
    True
    >>> ModelConfig.from_json(config.to_json()) == ModelConfig.from_dict(config.to_dict())
    True
    >>> from pathlib import Path
    >>> ModelConfig.load_binary(Path("config.json").read_bytes()).dropout
    0.2
    """

    def __getattr__(self, name: str) -> Callable[..., Self]:
        # Type checkers read this as: with_<field> exists for every field and gives a config of the same class.
        return attribute_error(self, name)  # type: ignore[no-any-return]

    if not TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Any:
            """Refuse: settings are made into what they describe first."""
            name = type(self).__name__
            made = f"{name}(...).init()" if hasattr(self, "init") else "what they describe"
            raise ArgumentError(f"{name}: these are settings; make and call {made}")

    @classmethod
    def _field_kind(cls, arguments: tuple[Any, ...]) -> Struct:
        """The kind of a field that holds such a config."""
        return Struct(cls, arguments)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON values: dicts, lists, text and numbers."""
        written = Struct(type(self)).write(self, None, faults := Faults())
        faults.raise_for(f"{self._title()}.to_dict")
        return written  # type: ignore[no-any-return]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The config that a dict of JSON values describes."""
        found = Struct(cls).read(dict(values), None, faults := Faults())
        faults.raise_for(f"{cls._title()}.from_dict")
        return found  # type: ignore[no-any-return]
