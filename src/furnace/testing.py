"""A server inside a test: a real one, on a port of the system's choice, in a thread of its own.

with furnace.TestServer(model) as server:
    furnace.Client(server.url).infer({"input": array})
"""

from __future__ import annotations

import asyncio
from threading import Event, Thread
from typing import Any

from furnace.client.client import Client
from furnace.server import Server


class TestServer:
    """A real server on a port of the system's choice, in a thread of its own: for tests and notebooks.

    It starts on entering and ends on leaving. It takes what `Server` takes: a model, and its arguments as `options`.

    >>> import furnace
    >>> inputs = [furnace.TensorSpec("x", "FP32", ("batch", 4))]
    >>> with furnace.TestServer(nn.Linear(4, 2), inputs=inputs) as server, server.client() as client:
    ...     {name: array.shape for name, array in client.infer({"x": np.ones((3, 4), np.float32)}).items()}
    {'output': (3, 2)}
    """

    __test__ = False  # not a test case, whatever its name says

    def __init__(self, model: Any = None, **options: Any) -> None:
        self.server = Server(model, **{"port": 0, **options})
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ready = Event()
        self._clients: list[Client] = []
        self._end: asyncio.Event | None = None
        self._fault: BaseException | None = None
        self._thread = Thread(target=self._run, name="furnace-test-server", daemon=True)

    @property
    def url(self) -> str:
        """Where it listens."""
        scheme = "https" if self.server.settings.tls_cert is not None else "http"
        return f"{scheme}://{self.server.settings.host}:{self.server.port}"

    @property
    def grpc_address(self) -> str:
        """Where it listens for gRPC, when `grpc_port` is given."""
        return f"{self.server.settings.host}:{self.server.grpc_port}"

    def client(self, **options: Any) -> Client:
        """A client of this server, which is closed with it; `options` are those of `Client`."""
        made = Client(self.url, **options)
        self._clients.append(made)
        return made

    def __enter__(self) -> TestServer:
        self.server.load()
        self._thread.start()
        self._ready.wait()
        if self._fault is not None:
            raise self._fault
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Answer what was taken, and end. Nothing happens when it has ended already."""
        for client in self._clients:
            client.close()
        if self._loop is not None and self._end is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop, self._end = asyncio.get_running_loop(), asyncio.Event()
        try:
            await self.server.start()
        except BaseException as error:
            self._fault = error
            self._ready.set()
            return
        self._ready.set()
        await self._end.wait()
        await self.server.stop()
