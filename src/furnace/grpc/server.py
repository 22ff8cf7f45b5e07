"""A gRPC server beside the HTTP one: same process, same models, same limits and keys, ended in the same order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import grpc

from furnace.app import App
from furnace.grpc.service import Service
from furnace.http.listener import ListenError
from furnace.settings import MEGABYTE, Settings

IDLE_MS = 300_000
"""How long a connection without calls stays open."""


class GrpcServer:
    """Listens for gRPC calls in the running event loop."""

    def __init__(self, app: App, settings: Settings) -> None:
        self._settings = settings
        options = [
            ("grpc.max_receive_message_length", int(settings.max_body_mb * MEGABYTE)),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", 32 << 10),
            ("grpc.server_handshake_timeout_ms", int(settings.header_timeout_s * 1e3)),
            ("grpc.max_connection_idle_ms", IDLE_MS),
            # several workers share the port; one alone is told when it is taken
            ("grpc.so_reuseport", int(settings.workers > 1)),
        ]
        self._server: Any = grpc.aio.server(options=options, maximum_concurrent_rpcs=settings.max_connections)
        self._server.add_generic_rpc_handlers(Service(app).handlers())

    async def listen(self, host: str, port: int) -> int:
        """Begin to answer; gives the port, which is chosen by the system when `port` is 0."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            credentials = self._credentials()
            if credentials is None:
                bound: int = self._server.add_insecure_port(address)
            else:
                bound = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            raise ListenError(
                f"gRPC cannot listen on {address} (in use, or not allowed); give another with --grpc-port"
            ) from error
        await self._server.start()
        return bound

    async def close(self, seconds: float) -> None:
        """Take no more calls and answer those at work; what takes longer than `seconds` is cut."""
        await self._server.stop(seconds)

    def _credentials(self) -> Any:
        certificate, key = self._settings.tls_cert, self._settings.tls_key
        if certificate is None or key is None:
            return None
        try:
            pair = (Path(key).read_bytes(), Path(certificate).read_bytes())
        except OSError as error:
            raise ListenError(f"--tls-cert and --tls-key cannot be read: {error}") from error
        return grpc.ssl_server_credentials([pair])
