"""Settings of the process that code depends on without naming them."""

from __future__ import annotations

import abc
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from burn.backend.cpu.pool import get_num_threads
from burn.capture.looks import Look
from burn.device import current_device

_float_errors: Callable[[], Any]
try:
    from numpy._core.umath import _extobj_contextvar

    _float_errors = _extobj_contextvar.get
except ImportError:  # NumPy 1
    _float_errors = np.geterr


class Registered(Look):
    """Which classes are registered with abstract ones: `isinstance` asks for it."""

    __slots__ = ("token",)

    def __init__(self) -> None:
        super().__init__("a class registered with an abstract one")
        self.token = abc.get_cache_token()

    def moved(self, value: Any) -> str:
        return "" if abc.get_cache_token() == self.token else self.path


class FloatErrors(Look):
    """What NumPy does where a result is no number: `numpy.seterr`."""

    __slots__ = ("state",)

    def __init__(self) -> None:
        super().__init__("numpy.geterr")
        self.state = _float_errors()

    def moved(self, value: Any) -> str:
        return "" if _float_errors() == self.state else self.path


class Setting(Look):
    """What a function of this package tells of the process."""

    __slots__ = ("read", "value")

    def __init__(self, path: str, read: Callable[[], Any]) -> None:
        super().__init__(path)
        self.read, self.value = read, read()

    def moved(self, value: Any) -> str:
        return "" if self.read() is self.value else self.path


SETTINGS: dict[CodeType, tuple[str, Callable[[], Any]]] = {
    current_device.__code__: ("the default device", current_device),
    get_num_threads.__code__: ("the number of threads", get_num_threads),
}
"""Functions of this package that tell of the process, by their code."""
