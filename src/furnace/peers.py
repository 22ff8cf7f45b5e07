"""What the workers of one server tell each other, over sockets in a folder of their own: numbers, and changes.

A client reaches any one worker. Numbers for monitoring are summed over all of them; loading and unloading a model is
done by all of them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any
from urllib.parse import quote

from furnace.http.connection import Limits
from furnace.http.listener import Listener
from furnace.http.messages import Request, Response
from furnace.protocols.faults import refusal

SECONDS = 5.0


class Peers:
    """The other workers of this server."""

    def __init__(self, folder: Path, handle: Callable[[Request], Coroutine[Any, Any, Response]]) -> None:
        """`handle` gives the answer of this worker to another one."""
        self._folder = folder
        self._mine = folder / f"{os.getpid()}.socket"
        self._handle = handle
        self._listener: asyncio.AbstractServer | None = None

    async def listen(self) -> None:
        """Let the others ask."""
        listener = Listener(self._handle, refusal, Limits())
        self._listener = await asyncio.get_running_loop().create_unix_server(listener.connection, str(self._mine))

    async def close(self) -> None:
        """Be asked no more."""
        if self._listener is not None:
            self._listener.close()
        with contextlib.suppress(OSError):
            self._mine.unlink()

    async def ask(self, request: Request) -> list[Response]:
        """The same request to every other worker; those that have just ended are left out."""
        others = [each for each in self._folder.glob("*.socket") if each != self._mine]
        answers = await asyncio.gather(*(self._ask(each, request) for each in others))
        return [each for each in answers if each is not None]

    async def _ask(self, path: Path, request: Request) -> Response | None:
        try:
            async with asyncio.timeout(SECONDS if request.method == "GET" else None):
                reader, writer = await asyncio.open_unix_connection(str(path))
                head = (
                    f"{request.method} {quote(request.path)} HTTP/1.1\r\nhost: peer\r\nconnection: close\r\n"
                    f"content-length: {len(request.body)}\r\n\r\n"
                )
                writer.write(head.encode("latin-1") + request.body)
                answer = await reader.read()
                writer.close()
        except (OSError, TimeoutError):
            return None
        head_text, _, body = answer.partition(b"\r\n\r\n")
        parts = head_text.split(b" ", 2)
        return Response(int(parts[1]), body) if len(parts) > 1 and parts[1].isdigit() else None
