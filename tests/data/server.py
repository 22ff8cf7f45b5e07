"""A small HTTP server for tests of downloads: it can break off, refuse parts, and count what it was asked."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Files(ThreadingHTTPServer):
    """Serves `content` by path. `cut` is how many bytes of an answer are sent before the connection is closed."""

    content: dict[str, bytes]
    cut: list[int]
    parts: bool
    asked: list[tuple[str, str | None]]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"


class Handler(BaseHTTPRequestHandler):
    server: Files
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        server = self.server
        wanted = self.headers.get("Range")
        server.asked.append((self.path, wanted))
        body = server.content.get(self.path)
        if body is None:
            self.send_error(404)
            return
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.parts else 0
        if start and start >= len(body):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        rest = body[start:]
        if server.cut:
            rest = rest[: server.cut.pop(0)]
            self.close_connection = True
        self.wfile.write(rest)

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def serving(content: dict[str, bytes], cut: tuple[int, ...] = (), parts: bool = True) -> Iterator[Files]:
    server = Files(("127.0.0.1", 0), Handler)
    server.content, server.cut, server.parts, server.asked = content, list(cut), parts, []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
