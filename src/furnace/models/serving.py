"""Modules of a program as models of the server."""

from __future__ import annotations

from typing import Any

from burn import Cpu, Device, Module
from furnace.models.running import GraphRunner, ModuleRunner
from furnace.models.served import ServedModel
from furnace.signature import Signature


def serve_graph(
    model: Any, runtime: Any, device: Device, signature: Signature, *, name: str, version: str
) -> ServedModel:
    """An imported model whose graph runs as it stands."""
    runner = GraphRunner(model, runtime, device)
    made = ServedModel(name, version, signature, runner, "burn", str(device), parameters=runtime.parameters)
    made.steady = isinstance(device.base, Cpu)
    return made


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
