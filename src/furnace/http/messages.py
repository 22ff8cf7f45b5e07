"""Requests and answers, apart from how they travel."""

from __future__ import annotations

from collections.abc import AsyncIterator
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

import orjson

from furnace.engine.caller import Caller

JSON = "application/json"
Body = bytes | memoryview
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class Request(Caller):
    """One request with its whole body. Header names are lower case."""

    __slots__ = ("body", "client", "from_peer", "headers", "method", "path", "query_text")

    def __init__(self, method: str, target: str, headers: dict[str, str], body: Body = b"", client: str = "") -> None:
        super().__init__()
        path, _, query = target.partition("?")
        self.method = method
        self.path = unquote(path) if "%" in path else path
        self.query_text = query
        self.headers = headers
        self.body = body
        self.client = client
        self.from_peer = False

    @property
    def query(self) -> dict[str, str]:
        """What follows the question mark."""
        return dict(parse_qsl(self.query_text))

    @property
    def content_type(self) -> str:
        """The media type of the body, without parameters, in lower case."""
        return self.headers.get("content-type", "").partition(";")[0].strip().lower()


class Response:
    """A status, headers and a body; `stream` in the place of a body is sent piece by piece.

    `head` is what `head_of` gives, where that is known.
    """

    __slots__ = ("body", "head", "headers", "status", "stream")

    def __init__(
        self,
        status: int = 200,
        body: bytes = b"",
        content_type: str = JSON,
        headers: dict[str, str] | None = None,
        stream: AsyncIterator[bytes] | None = None,
        head: bytes | None = None,
    ) -> None:
        self.status = status
        self.head = head
        self.body = body
        self.headers = {"content-type": content_type} if body or stream is not None else {}
        if headers:
            self.headers.update(headers)
        self.stream = stream

    @property
    def reason(self) -> str:
        """The words beside the status."""
        return _REASONS.get(self.status, "")


def head_of(response: Response, keep: bool = True) -> bytes:
    """The status line and the headers as they go over a connection that is kept or not."""
    text = f"HTTP/1.1 {response.status} {response.reason}\r\n"
    for name, value in response.headers.items():
        text += f"{name}: {value}\r\n"
    if response.stream is not None:
        text += "transfer-encoding: chunked\r\n"
    else:
        text += f"content-length: {len(response.body)}\r\n"
    if not keep:
        text += "connection: close\r\n"
    return (text + "\r\n").encode("latin-1", "replace")


def json_response(value: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """An answer in JSON. Arrays are written with the shortest digits of their type; NaN and infinity become null."""
    return Response(status, orjson.dumps(value, option=_OPTIONS), JSON, headers)
