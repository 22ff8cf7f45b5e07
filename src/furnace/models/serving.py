"""Modules of a program as models of the server."""

from __future__ import annotations

from typing import Any

from burn import Cpu, Device, Module
from furnace.models.running import ModuleRunner
from furnace.models.served import ServedModel
from furnace.signature import Signature


def serve_module(
    module: Any, device: Device, signature: Signature, *, name: str = "model", version: str = "1", **more: Any
) -> ServedModel:
    """A module of a program as a model of the server."""
    count = module.num_params() if hasattr(module, "num_params") else 0
    runner = ModuleRunner(module, device)
    made = ServedModel(name, version, signature, runner, "burn", str(device), parameters=count, **more)
    if isinstance(device.base, Cpu):
        made.steady = isinstance(module, Module)
    return made
