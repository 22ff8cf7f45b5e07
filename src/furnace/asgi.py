"""The application for ASGI servers, and for mounting inside other applications.

from furnace import asgi_app

app = asgi_app("mnist_burn.mpk")            # uvicorn module:app
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any

from furnace.app import App
from furnace.http.messages import Request, Response
from furnace.protocols.faults import refusal
from furnace.server import Server

Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]


class AsgiApp:
    """Speaks ASGI in front of an application. Models are loaded when the server starts its lifespan, or at once."""

    def __init__(self, server: Server, *, limit: int) -> None:
        self.server = server
        self.app: App = server.app
        self._limit = limit

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["type"] == "http":
            await self._respond(scope, receive, send)
        else:  # a websocket: there are none here
            await receive()
            await send({"type": "websocket.close", "code": 1000})

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.startup":
                await send({"type": "lifespan.startup.complete"})
            elif message["type"] == "lifespan.shutdown":
                await self.server.stop()
                await send({"type": "lifespan.shutdown.complete"})
                return

    async def _respond(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        pieces, size = [], 0
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            pieces.append(message.get("body", b""))
            size += len(pieces[-1])
            if size > self._limit:
                await _send(refusal(413, f"the body is longer than {self._limit} bytes, the limit"), send)
                return
            if not message.get("more_body"):
                break
        path = scope["path"].removeprefix(scope.get("root_path", "").rstrip("/")) or "/"
        query = scope.get("query_string", b"").decode("latin-1")
        request = Request(scope["method"], path + ("?" + query if query else ""), headers, b"".join(pieces))
        request.path = path
        watching = asyncio.ensure_future(_watch(receive, request))
        try:
            await _send(await self.app.handle(request), send)
        finally:
            watching.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await watching


def asgi_app(model: Any = None, **options: Any) -> AsgiApp:
    """An ASGI application that serves a model, loaded and warmed here. `options` are those of `Server`.

    >>> import furnace
    >>> app = furnace.asgi_app(nn.Linear(4, 2), inputs=[furnace.TensorSpec("x", "FP32", ("batch", 4))])
    """
    server = Server(model, **options)
    server.load()
    return AsgiApp(server, limit=int(server.settings.max_body_mb * (1 << 20)))


async def _watch(receive: Receive, request: Request) -> None:
    if (await receive())["type"] == "http.disconnect":
        request.leave()


async def _send(response: Response, send: Send) -> None:
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in response.headers.items()]
    if response.stream is None:
        headers.append((b"content-length", str(len(response.body)).encode()))
    await send({"type": "http.response.start", "status": response.status, "headers": headers})
    if response.stream is None:
        await send({"type": "http.response.body", "body": response.body})
        return
    async for piece in response.stream:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
