"""The listener: sockets, TLS, and an end that answers every request it has taken."""

from __future__ import annotations

import asyncio
import errno
import ssl
from pathlib import Path
from typing import Any

from burn.errors import BurnError
from furnace.http.connection import Connection, Fault, Handler, Limits, read_buffer


class ListenError(BurnError, OSError):
    """An address that cannot be listened on."""


class Listener:
    """Accepts connections and follows them until the end."""

    def __init__(self, handler: Handler, fault: Fault, limits: Limits) -> None:
        self._handler = handler
        self._fault = fault
        self._limits = limits
        self.connections: set[Connection] = set()
        self._buffer = read_buffer()
        self._server: asyncio.Server | None = None

    async def listen(self, host: str, port: int, *, tls: ssl.SSLContext | None = None, sock: Any = None) -> int:
        """Begin to accept; gives the port, which is chosen by the system when `port` is 0."""
        loop = asyncio.get_running_loop()
        made = self.connection
        try:
            if sock is not None:
                self._server = await loop.create_server(made, sock=sock, ssl=tls, backlog=1024)
            else:
                self._server = await loop.create_server(made, host, port, ssl=tls, backlog=1024)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise ListenError(f"port {port} of {host} is in use; give another with --port") from error
            if error.errno in (errno.EACCES, errno.EPERM):
                raise ListenError(
                    f"port {port} needs rights this process does not have; take one above 1023"
                ) from error
            raise ListenError(f"cannot listen on {host}:{port}: {error}") from error
        address = self._server.sockets[0].getsockname()
        return int(address[1]) if isinstance(address, tuple) else 0

    def connection(self) -> Connection:
        """One more; called in the loop that it will live in."""
        loop = asyncio.get_running_loop()
        return Connection(self._handler, self._fault, self._limits, self.connections, loop, self._buffer)

    async def close(self, seconds: float) -> int:
        """Accept no more, let requests at work be answered, close; gives how many had to be cut after `seconds`."""
        if self._server is not None:
            self._server.close()
        for connection in list(self.connections):
            connection.drain()
        end = asyncio.get_running_loop().time() + seconds
        while self.connections and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(0.01)
        left = list(self.connections)
        cut = sum(connection.busy for connection in left)
        for connection in left:
            connection.abort()
        return cut


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Server-side TLS (1.2 and newer) with a certificate chain and its key."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise ListenError(f"--tls-cert {certificate} and --tls-key {key} cannot be used: {error}") from error
    return context
