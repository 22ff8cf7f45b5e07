"""Modules: parameters, state, and what is done with them as a whole."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from burn.module.display import Content, DisplaySettings
from burn.module.enumeration import ModuleEnum
from burn.module.identity import ParamId
from burn.module.ignored import Ignored
from burn.module.making import layer
from burn.module.module import Module
from burn.module.param import Param
from burn.module.state import RunningState, State
from burn.module.visitor import ModuleMapper, ModuleVisitor

if TYPE_CHECKING:
    from burn.quantization import Quantizer

__all__ = [
    "Content",
    "DisplaySettings",
    "Ignored",
    "Module",
    "ModuleEnum",
    "ModuleMapper",
    "ModuleVisitor",
    "Param",
    "ParamId",
    "Quantizer",
    "RunningState",
    "State",
    "layer",
]

_LATER = {"Quantizer": "burn.quantization"}

if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        """What stands in a later layer and is found here too, as in the Burn Book."""
        if name in _LATER:
            return getattr(importlib.import_module(_LATER[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
