"""A closed loop of clients in a process of its own: each connection sends the next request when it has its answer.

Reads JSON on standard input: {"port", "request" (a file), "connections", "seconds"}. Writes JSON: {"rate", "p50_ms",
"p99_ms", "count", "refused", "faults"}, where `refused` are answers of 503 and `faults` all others but 200.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import uvloop


class Client(asyncio.Protocol):
    """One connection."""

    def __init__(self, request: bytes, end: float, done: asyncio.Future[None]) -> None:
        self.request, self.end, self.done = request, end, done
        self.times: list[float] = []
        self.statuses: dict[int, int] = {}
        self.buffer = b""
        self.length = -1
        self.status = 0

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.send()

    def send(self) -> None:
        self.begin = time.perf_counter()
        self.transport.write(self.request)

    def data_received(self, data: bytes) -> None:
        self.buffer = self.buffer + data if self.buffer else data
        if self.length < 0:
            head = self.buffer.find(b"\r\n\r\n")
            if head < 0:
                return
            lower = self.buffer[:head].lower()
            self.status = int(lower[9:12])
            self.length = head + 4 + int(lower.split(b"content-length:", 1)[1].split(b"\r\n", 1)[0])
        if len(self.buffer) < self.length:
            return
        now = time.perf_counter()
        self.times.append(now - self.begin)
        self.statuses[self.status] = self.statuses.get(self.status, 0) + 1
        self.buffer, self.length = b"", -1
        if now < self.end:
            self.send()
        else:
            self.finish()

    def connection_lost(self, error: Exception | None) -> None:
        if not self.done.done():
            self.statuses[0] = self.statuses.get(0, 0) + 1
            self.finish()

    def finish(self) -> None:
        if not self.done.done():
            self.done.set_result(None)
        self.transport.close()


def _same(client: Client) -> Client:
    return client


async def drive(port: int, request: bytes, connections: int, seconds: float) -> dict[str, Any]:
    """Load for some seconds."""
    loop = asyncio.get_running_loop()
    begin = time.perf_counter()
    clients = [Client(request, begin + seconds, loop.create_future()) for _ in range(connections)]
    for each in clients:
        await loop.create_connection(partial(_same, each), "127.0.0.1", port)
    await asyncio.gather(*(each.done for each in clients))
    took = time.perf_counter() - begin
    times = sorted(value for each in clients for value in each.times)
    statuses: dict[int, int] = {}
    for each in clients:
        for status, count in each.statuses.items():
            statuses[status] = statuses.get(status, 0) + count
    good, refused = statuses.pop(200, 0), statuses.pop(503, 0)
    return {
        "rate": good / took, "p50_ms": times[len(times) // 2] * 1e3, "p99_ms": times[int(len(times) * 0.99)] * 1e3,
        "count": good, "refused": refused, "faults": sum(statuses.values()),
    }  # fmt: skip


def main() -> None:
    given = json.load(sys.stdin)
    request = Path(given["request"]).read_bytes()
    print(json.dumps(uvloop.run(drive(given["port"], request, given["connections"], given["seconds"]))))


if __name__ == "__main__":
    main()
