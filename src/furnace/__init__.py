"""Furnace: an inference server for models that this framework runs.

    furnace --model-path mnist_burn.mpk --port 3000

    import furnace

    furnace.Server("mnist_burn.mpk").run()
    furnace.Client("http://127.0.0.1:3000").infer({"image": array})

The server needs the serve extra: `pip install 'burn-dl[serve]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from furnace.asgi import asgi_app
    from furnace.client.asynchronous import AsyncClient
    from furnace.client.client import Client
    from furnace.client.messages import ServerError
    from furnace.errors import FurnaceError, ModelError
    from furnace.models.opening import open_model
    from furnace.models.served import ServedModel
    from furnace.server import Server
    from furnace.settings import Settings
    from furnace.signature import Signature, TensorSpec
    from furnace.testing import TestServer

_PLACES = {
    "AsyncClient": "client.asynchronous",
    "Client": "client.client",
    "FurnaceError": "errors",
    "ModelError": "errors",
    "ServedModel": "models.served",
    "Server": "server",
    "ServerError": "client.messages",
    "Settings": "settings",
    "Signature": "signature",
    "TensorSpec": "signature",
    "TestServer": "testing",
    "asgi_app": "asgi",
    "open_model": "models.opening",
}

__all__ = [
    "AsyncClient",
    "Client",
    "FurnaceError",
    "ModelError",
    "ServedModel",
    "Server",
    "ServerError",
    "Settings",
    "Signature",
    "TensorSpec",
    "TestServer",
    "asgi_app",
    "open_model",
]


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'furnace' has no attribute {name!r}")
    try:
        return getattr(import_module(f"furnace.{_PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name in ("httptools", "orjson"):
            raise ImportError(f"furnace needs {error.name}: pip install 'burn-dl[serve]'", name=error.name) from error
        raise
