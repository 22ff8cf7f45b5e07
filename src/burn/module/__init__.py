"""Modules: parameters, state, and what is done with them as a whole."""

from burn.module.display import Content, DisplaySettings
from burn.module.enumeration import ModuleEnum
from burn.module.identity import ParamId
from burn.module.ignored import Ignored
from burn.module.module import Module
from burn.module.param import Param
from burn.module.state import RunningState, State
from burn.module.visitor import ModuleMapper, ModuleVisitor

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
    "RunningState",
    "State",
]
