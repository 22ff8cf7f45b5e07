"""One connection of HTTP/1.1, with a limit on everything a client may send and on the time it may take.

The parser is the one Node.js uses, through `httptools`; large bodies go past it (`incoming.py`). Requests of a
connection are answered in order, one at a time; reading pauses while one is at work, so a client that pipelines cannot
fill the memory.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any

import httptools

from furnace.http.driving import Driven
from furnace.http.incoming import LEAST, MOST, Incoming
from furnace.http.messages import Body, Request, Response, head_of

log = logging.getLogger("furnace")

Handler = Callable[[Request], Coroutine[Any, Any, Response]]
Fault = Callable[[int, str], Response]

GRACE_SECONDS = 0.3
"""How long an idle connection stays open when the server ends: closing at once would lose a request under way."""
READ_BYTES = 256 << 10
_ONCE = frozenset(("content-length", "host", "transfer-encoding"))
_LATE_HEADERS, _LATE_BODY = "the headers did not come in time", "the body did not come in time"
_JSON_LENGTH = "inference-header-content-length"


@dataclass(slots=True)
class Limits:
    """What a connection may do. Times are in seconds."""

    body_bytes: int = 64 << 20
    header_bytes: int = 32 << 10
    header_count: int = 100
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    idle_seconds: float = 75.0
    write_seconds: float = 60.0
    connections: int = 4096


def read_buffer() -> memoryview:
    """Memory that the connections of a loop read into: what is in it is taken before another one reads."""
    return memoryview(bytearray(READ_BYTES))


class Connection(asyncio.BufferedProtocol):
    """Reads requests, hands them to the handler, writes the answers."""

    def __init__(
        self,
        handler: Handler,
        fault: Fault,
        limits: Limits,
        connections: set[Connection],
        loop: Any,
        buffer: memoryview,
    ) -> None:
        self._handler = handler
        self._fault = fault
        self._limits = limits
        self._connections = connections
        self._loop = loop
        self._buffer = buffer
        self._transport: Any = None
        self._peer = ""
        self._timer: Any = None
        self._deadline: float | None = None
        self._overdue: str | None = None
        self._keep = True
        self._task: asyncio.Task[None] | None = None
        self._current: Request | None = None
        self._ready: deque[tuple[Request, bool]] = deque()
        self._drained: asyncio.Event | None = None
        self._paused = False
        self._ending = False
        self._completed = False
        self._in_body = False
        self.closing = False
        self._parser = httptools.HttpRequestParser(self)
        self.on_message_begin()
        self._reading = "nothing"

    # the transport's calls

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        peer = transport.get_extra_info("peername")
        self._peer = f"{peer[0]}:{peer[1]}" if isinstance(peer, tuple) and len(peer) > 1 else "local"
        if len(self._connections) >= self._limits.connections:
            self._refuse(503, f"{self._limits.connections} connections are open, which is the limit")
            return
        self._connections.add(self)
        self._expect(self._limits.header_seconds, "the request did not come in time")

    def connection_lost(self, error: Exception | None) -> None:
        self.closing = True
        self._connections.discard(self)
        self._cancel_timer()
        if self._drained is not None:
            self._drained.set()
        if self._current is not None:
            self._current.leave()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer if self._incoming is None else self._incoming.rest

    def buffer_updated(self, count: int) -> None:
        if self.closing:
            return
        if self._incoming is None:
            self._parse(self._buffer[:count])
        elif self._incoming.advance(count):
            self.on_message_complete()
            self._parser = httptools.HttpRequestParser(self)  # the one before still waits for the body

    def _parse(self, data: memoryview) -> None:
        begins = self._reading == "nothing" and self._current is None
        if begins:
            self._reading = "headers"  # from the first byte on, so that empty lines do not buy time
        self._completed = self._in_body = False
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._refuse(400, "this server speaks HTTP/1.1 and upgrades to nothing else")
        except httptools.HttpParserError as error:
            refused = error.__context__
            if isinstance(refused, _Refused):
                self._refuse(refused.status, refused.message)
            else:
                self._refuse(400, "the request is not HTTP/1.1")
        else:
            if self._reading == "headers" and not self._completed:  # else most of the data is of earlier requests
                self._seen += len(data)
                if self._seen > self._limits.header_bytes:
                    self._refuse(431, f"the headers are longer than {self._limits.header_bytes} bytes, the limit")
                elif begins:
                    self._expect(self._limits.header_seconds, _LATE_HEADERS)
            elif self._in_body and self._current is None:
                self._expect(self._limits.body_seconds, _LATE_BODY)

    def pause_writing(self) -> None:
        self._drained = asyncio.Event()

    def resume_writing(self) -> None:
        if self._drained is not None:
            self._drained.set()
            self._drained = None

    # the parser's calls

    def on_message_begin(self) -> None:
        self._target = b""
        self._headers: dict[str, str] = {}
        self._body: list[bytes] = []
        self._incoming: Incoming | None = None
        self._read = 0
        self._seen = 0
        self._reading = "headers"

    def on_url(self, url: bytes) -> None:
        self._target += url
        if len(self._target) > self._limits.header_bytes:
            raise _Refused(414, f"the path is longer than {self._limits.header_bytes} bytes, the limit")

    def on_header(self, name: bytes, value: bytes | None) -> None:
        key = name.decode("latin-1").lower()
        if key in self._headers and key in _ONCE:
            raise _Refused(400, f"the header {key} comes twice")
        self._headers[key] = (value or b"").decode("latin-1")
        if len(self._headers) > self._limits.header_count:
            raise _Refused(431, f"there are more than {self._limits.header_count} headers, the limit")

    def on_headers_complete(self) -> None:
        self._reading = "body"
        self._in_body = True
        length = self._headers.get("content-length")
        if length is not None and length.isdigit() and int(length) > self._limits.body_bytes:
            raise _Refused(413, f"the body has {length} bytes, the limit is {self._limits.body_bytes}")
        if length is not None and "transfer-encoding" in self._headers:
            raise _Refused(400, "content-length and transfer-encoding exclude each other")
        if self._headers.get("expect", "").lower() == "100-continue" and self._current is None:
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if length is not None and self._current is None and length.isdigit() and LEAST <= int(length) <= MOST:
            header = self._headers.get(_JSON_LENGTH, "")
            self._incoming = Incoming(int(length), int(header) if header.isdecimal() and len(header) < 9 else 0)

    def on_body(self, piece: bytes) -> None:
        self._read += len(piece)
        if self._read > self._limits.body_bytes:
            raise _Refused(413, f"the body is longer than {self._limits.body_bytes} bytes, the limit")
        if self._incoming is not None:
            self._incoming.add(piece)
        else:
            self._body.append(piece)

    def on_message_complete(self) -> None:
        self._reading = "nothing"
        self._completed, self._in_body = True, False
        body: Body
        if self._incoming is not None:
            body, self._incoming = self._incoming.view, None
        else:
            body = self._body[0] if len(self._body) == 1 else b"".join(self._body)
        method = self._parser.get_method().decode("ascii", "replace")
        request = Request(method, self._target.decode("latin-1"), self._headers, body, self._peer)
        self._ready.append((request, self._parser.should_keep_alive()))
        if self._current is None:
            self._start()
        elif not self._paused:  # the next request came early: it waits, and so does the client
            self._paused = True
            self._transport.pause_reading()

    # answering

    def _start(self) -> None:
        if self._current is not None or self.closing or not self._ready:
            return
        request, self._keep = self._ready.popleft()
        self._deadline = None
        self._current = request
        request.alone = len(self._connections) == 1 and not self._ready
        Driven(self._loop, self._handler(request), self._answer)

    def _answer(self, response: Response | None, error: BaseException | None) -> None:
        request = self._current
        assert request is not None
        if response is None:  # handlers answer faults themselves; this one was stopped
            log.error("%s %s was given up: %r", request.method, request.path, error)
            self.abort()
            return
        if self.closing:
            if response.stream is not None:
                self._task = self._loop.create_task(_ended(response.stream))
            self._next(False)
            return
        self._write(response, request.method == "HEAD", self._keep and not self._ending)
        if self._drained is None and response.stream is None:
            self._next(self._keep and not self._ending)
        else:
            self._task = self._loop.create_task(self._follow(response.stream, request.method == "HEAD"))

    async def _follow(self, stream: AsyncIterator[bytes] | None, head_only: bool) -> None:
        """What does not go out at once: the pieces of a stream, and more than the client takes."""
        keep = self._keep and not self._ending
        if stream is not None:
            try:
                if not head_only:
                    keep = await self._write_stream(stream) and keep
            finally:
                await _ended(stream)
        if self._drained is not None:
            self._expect(self._limits.write_seconds, None)
            await self._drained.wait()
        self._next(keep)

    def _next(self, keep: bool) -> None:
        self._current = self._task = None
        if not keep or self.closing:
            self.shut()
            return
        if self._ready:  # in the next turn: a client that pipelines must not make a deep stack
            self._loop.call_soon(self._start)
            return
        if self._reading == "nothing":
            self._expect(self._limits.idle_seconds, None)
        elif self._reading == "headers":
            self._expect(self._limits.header_seconds, _LATE_HEADERS)
        else:
            self._expect(self._limits.body_seconds, _LATE_BODY)
        if self._paused:
            self._paused = False
            self._transport.resume_reading()

    def _write(self, response: Response, head_only: bool, keep: bool) -> None:
        head = response.head if keep and response.head is not None else head_of(response, keep)
        self._transport.write(head if head_only else head + response.body)

    async def _write_stream(self, stream: AsyncIterator[bytes]) -> bool:
        """Whether all of it went out; a stream that fails leaves an answer without its end, and clients see that."""
        try:
            async for piece in stream:
                if self.closing:
                    return False
                if piece:
                    self._transport.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                if self._drained is not None:
                    self._expect(self._limits.write_seconds, None)
                    await self._drained.wait()
                    self._deadline = None
        except Exception:
            log.exception("a stream failed")
            return False
        self._transport.write(b"0\r\n\r\n")
        return True

    def _refuse(self, status: int, message: str) -> None:
        """Answer with a fault and close: what follows on this connection cannot be trusted."""
        if self.closing:
            return
        if self._current is None:
            self._write(self._fault(status, message), False, False)
            self.shut()
        else:  # an earlier request is still at work: its answer goes out, then the connection ends
            self._ending = True
            self._ready.clear()
            self._paused = True
            self._transport.pause_reading()

    def _expect(self, seconds: float, message: str | None) -> None:
        """Close when nothing else happens in time, with a message or without.

        The timer of a connection runs on: it looks at the deadline of then, so that most requests start none.
        """
        self._deadline = deadline = self._loop.time() + seconds
        self._overdue = message
        if self._timer is None or self._timer.when() > deadline:
            self._set_timer(seconds)

    def _set_timer(self, seconds: float) -> None:
        self._cancel_timer()
        self._timer = self._loop.call_later(seconds, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        if self._deadline is None:
            return
        left = self._deadline - self._loop.time()
        if left > 0.001:
            self._set_timer(left)
        elif self._overdue is None:
            self.abort()
        else:
            self._refuse(408, self._overdue)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # from the listener

    @property
    def busy(self) -> bool:
        """Whether a request is being answered."""
        return self._current is not None or bool(self._ready)

    def drain(self) -> None:
        """The server ends: the next answer is the last. A request that is on its way to an idle connection has time."""
        self._ending = True
        if not self.busy and self._reading == "nothing":
            self._expect(GRACE_SECONDS, None)

    def shut(self) -> None:
        """Close after what was written has gone out."""
        self.closing = True
        self._cancel_timer()
        if self._transport is not None and not self._transport.is_closing():
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self.closing = True
        if self._transport is not None:
            self._transport.abort()


async def _ended(stream: AsyncIterator[bytes]) -> None:
    """Let a stream that is not read to its end clean up."""
    close = getattr(stream, "aclose", None)
    if close is not None:
        await close()


class _Refused(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
