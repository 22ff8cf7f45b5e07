"""The inference server under a name of its own: `burn.serve` is `furnace`, and `python -m burn.serve` the command.

    from burn import serve

    serve.Server("mnist_burn.mpk").run()
    serve.Client("http://127.0.0.1:3000").infer({"image": array})

Another distribution of the package index is called `furnace` too, and where it is installed it replaces our
`furnace/__init__.py`. The names are therefore kept here, and the package `furnace` shows them.
The server needs the serve extra: `pip install 'burn-dl[serve]'`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from burn.packages import missing

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

PLACES = {
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
"""From a public name to the module of `furnace` that has it."""

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


if not TYPE_CHECKING:  # checkers know the names, and find those that are not there

    def __getattr__(name: str) -> Any:
        if name not in PLACES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return public(name)


def public(name: str) -> Any:
    """What a public name stands for, loaded now."""
    try:
        return getattr(import_module(f"furnace.{PLACES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name in ("httptools", "orjson"):
            raise ModuleNotFoundError(missing("furnace", error.name), name=error.name) from None
        raise
