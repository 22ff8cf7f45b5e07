"""Settings that were saved beside weights, as a config."""

from __future__ import annotations

from typing import Any, TypeVar

from burn.config import Config
from burn.errors import ArgumentError
from burn.record.errors import RecordError
from burn_import.common.arguments import as_load_args
from burn_import.pytorch.reader import MAX_DEPTH, MAX_VISITED, open_contents, under

C = TypeVar("C", bound=Config)


def config_from_file(path: Any, config: type[C], top_level_key: str | None = None) -> C:
    """The `config` (a class) that a file holds, under `top_level_key` of it if one is given.

    Numbers, texts, bools, lists and dicts with texts as keys are taken; tensors and entries that the config does
    not have are passed over.

    >>> import torch
    >>> from burn_import.pytorch import config_from_file
    >>> class NetConfig(burn.Config):
    ...     width: int
    >>> torch.save({"config": {"width": 64}, "weight": torch.zeros(2)}, "model.pt")
    >>> config_from_file("model.pt", NetConfig, "config")
    NetConfig(width=64)
    """
    if not (isinstance(config, type) and issubclass(config, Config)):
        raise ArgumentError(f"config_from_file: needs a class of configs as its second argument, got {config!r}")
    name = as_load_args("config_from_file", path).name
    value = under(open_contents(path).value, top_level_key)
    if not isinstance(value, dict):
        raise RecordError(f"config_from_file: {name}: a dict is needed, and there is a {type(value).__name__}")
    known = config._table().by_name
    plain = _Plain()
    return config.from_dict({key: plain.of(each) for key, each in value.items() if key in known})


class _Plain:
    """Values as JSON has them."""

    def __init__(self) -> None:
        self.visited = 0

    def of(self, value: Any, depth: int = 0) -> Any:
        self.visited += 1
        if depth > MAX_DEPTH or self.visited > MAX_VISITED:
            raise RecordError(f"config_from_file: more than {MAX_DEPTH} levels or {MAX_VISITED:,} entries")
        if isinstance(value, dict):
            pairs = [(key, each) for key, each in value.items() if isinstance(key, str) and _is_plain(each)]
            return {key: self.of(each, depth + 1) for key, each in pairs}
        if isinstance(value, list | tuple):
            return [self.of(each, depth + 1) for each in value if _is_plain(each)]
        return value


def _is_plain(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | float | str | list | tuple | dict)
