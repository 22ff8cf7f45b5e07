"""Clients that never stop asking, in a thread of their own, and a count of what they were told."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter


class Load:
    """`connections` clients in a closed loop until the block ends. What they saw is in `seen`.

    Keys of `seen` are statuses, "broken" for a request that was sent and not answered, "refused" for a connection that
    nobody took, and "reset" for one that the system took and gave up before the server saw it or its first request.
    A connection that the server announces to close is opened anew.
    """

    def __init__(self, port: int, request: bytes, connections: int = 8) -> None:
        self.port, self.request, self.connections = port, request, connections
        self.seen: Counter[int | str] = Counter()
        self.slowest = 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True)

    def __enter__(self) -> Load:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def wait_for(self, key: int | str, count: int, seconds: float = 60) -> None:
        """Until that many more were seen."""
        aim, end = self.seen[key] + count, time.monotonic() + seconds
        while self.seen[key] < aim:
            assert time.monotonic() < end, self.seen
            time.sleep(0.01)

    async def _run(self) -> None:
        await asyncio.gather(*(self._client() for _ in range(self.connections)))

    async def _client(self) -> None:
        while not self._ended.is_set():
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
            except OSError:
                self.seen["refused"] += 1
                await asyncio.sleep(0.02)
                continue
            try:
                first = True
                while not self._ended.is_set() and await self._ask(reader, writer, first):
                    first = False
            finally:
                writer.close()

    async def _ask(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, first: bool) -> bool:
        """Whether the connection stays open."""
        begin = time.perf_counter()
        try:
            writer.write(self.request)
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length: ")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError):
            self.seen["reset" if first else "broken"] += 1
            return False
        self.slowest = max(self.slowest, time.perf_counter() - begin)
        self.seen[int(head[9:12])] += 1
        return b"connection: close" not in head


def post(path: str, body: bytes) -> bytes:
    """A whole request."""
    head = f"POST {path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body
