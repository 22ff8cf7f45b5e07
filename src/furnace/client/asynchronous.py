"""The client for asyncio: the calls of `Client`, awaited, over a few connections that are kept open."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import orjson

from furnace.client.client import model_path, only
from furnace.client.messages import check, infer_request, infer_response
from furnace.datatypes import Array
from furnace.protocols.binary import HEADER

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncClient:
    """Talks to a server from an event loop; calls may run at the same time. The calls are those of `Client`, awaited.

    `url`, `api_key`, `timeout` and `tls` are those of `Client`.

    >>> import asyncio, furnace
    >>> async def ask(url):
    ...     async with furnace.AsyncClient(url) as client:
    ...         x = np.ones((1, 4), np.float32)
    ...         return await asyncio.gather(*(client.infer({"x": x}) for _ in range(3)))
    >>> inputs = [furnace.TensorSpec("x", "FP32", ("batch", 4))]
    >>> with furnace.TestServer(nn.Linear(4, 2), inputs=inputs) as server:
    ...     print(len(asyncio.run(ask(server.url))))
    3
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:3000",
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url if "//" in url else f"//{url}", "http")
        secure = parts.scheme == "https"
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port or (443 if secure else 80)
        self._tls = (tls or ssl.create_default_context()) if secure else None
        self._timeout = timeout
        self._headers = {} if api_key is None else {"authorization": f"Bearer {api_key}"}
        self._idle: list[Streams] = []

    async def infer(
        self,
        inputs: Mapping[str, Any],
        *,
        model: str | None = None,
        version: str | None = None,
        outputs: Sequence[str] | None = None,
        binary: bool = True,
        timeout: float | None = None,
    ) -> dict[str, Array]:
        """The outputs by name for arrays by name (`inputs`).

        `version`, `outputs`, `binary` and `timeout` are those of `Client.infer`.
        """
        body, headers = infer_request(inputs, outputs, binary, timeout)
        path = model_path(model or only(await self.models()), version) + "/infer"
        answer, kept = await self._request("POST", path, body, headers)
        return infer_response(answer, kept.get(HEADER))

    async def predict(self, value: Any, *, model: str | None = None) -> Any:
        """Furnace's JSON: `value` is one item, a list or an object of inputs; gives what stands under "output"."""
        path = "/predict" if model is None else f"/models/{quote(model, safe='')}/predict"
        body = orjson.dumps({"input": value}, option=orjson.OPT_SERIALIZE_NUMPY)
        return orjson.loads((await self._request("POST", path, body, {}))[0])["output"]

    async def ready(self) -> bool:
        """Whether the server answers."""
        return (await self._exchange("GET", "/v2/health/ready", b"", {}))[0] == 200

    async def models(self) -> list[str]:
        """The names of the models."""
        found: list[str] = orjson.loads((await self._request("GET", "/v1/models", b"", {}))[0])["models"]
        return found

    async def close(self) -> None:
        """End the connections."""
        idle, self._idle = self._idle, []
        for _, writer in idle:
            writer.close()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def _request(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[bytes, dict[str, str]]:
        status, kept, answer = await self._exchange(method, path, body, headers)
        check(status, answer)
        return answer, kept

    async def _exchange(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str], bytes]:
        lines = [f"{method} {path} HTTP/1.1", f"host: {self._host}:{self._port}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in {**self._headers, **headers}.items()]
        data = ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + body
        async with asyncio.timeout(self._timeout):
            while self._idle:
                try:
                    return await self._sent(self._idle.pop(), data)
                except (ConnectionError, asyncio.IncompleteReadError):
                    continue  # the server closed it meanwhile
            streams = await asyncio.open_connection(self._host, self._port, ssl=self._tls)
            return await self._sent(streams, data)

    async def _sent(self, streams: Streams, data: bytes) -> tuple[int, dict[str, str], bytes]:
        reader, writer = streams
        try:
            writer.write(data)
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
            headers = {
                name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])
            }
            body = await reader.readexactly(int(headers.get("content-length", 0)))
        except BaseException:
            writer.close()
            raise
        if headers.get("connection", "").lower() == "close":
            writer.close()
        else:
            self._idle.append(streams)
        return int(head[0].split(" ")[1]), headers, body
