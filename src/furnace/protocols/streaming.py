"""Streams of a generator as server-sent events: `POST /models/NAME/generate_stream`, with the body of `/predict`.

data: {"index": 0, "output": ...}       one for each step
event: done
data: {"status": "success", "count": 12, "inference_time_ms": 3.1, "timestamp": "..."}

A fault in the middle is `event: error` with the form that every error has. What is wrong with a request is told by the
status, before anything is streamed.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import Any

import orjson

from furnace.engine.streaming import Stream
from furnace.errors import BadRequest, FurnaceError
from furnace.http.messages import Request, Response
from furnace.hub import Version
from furnace.inference import Policy
from furnace.protocols.furnace_json import now, read_single
from furnace.protocols.json_tensors import decode_object, to_lists

CONTENT_TYPE = "text/event-stream; charset=utf-8"
_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS


async def generate_stream(request: Request, version: Version, policy: Policy) -> Response:
    """The answer to `generate_stream`."""
    body = decode_object(request.body)
    if ("input" in body) == ("inputs" in body) or isinstance(body.get("inputs"), list):
        raise BadRequest('a stream is of one request: write {"input": values}, or {"inputs": {"name": values}}')
    arrays = read_single(body, version)
    inputs = version.model.signature.checked(arrays, limit=policy.elements, finite=not policy.allow_non_finite)
    events = _Events(Stream(version.serving, inputs), version)
    return Response(200, b"", CONTENT_TYPE, {"cache-control": "no-store"}, stream=events)


class _Events:
    """The events of a stream, which is closed with them even when none was read."""

    def __init__(self, steps: Stream, version: Version) -> None:
        self._steps = steps
        self._events = _events(steps, version)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._events

    async def __anext__(self) -> bytes:
        return await anext(self._events)

    async def aclose(self) -> None:
        await self._steps.aclose()


async def _events(steps: Stream, version: Version) -> AsyncIterator[bytes]:
    begin, count = time.perf_counter(), 0
    names = [each.name for each in version.model.signature.outputs]
    try:
        async for outputs in steps:
            values = [to_lists(each) for each in outputs]
            shown = values[0] if len(values) == 1 else dict(zip(names, values))
            yield _event({"index": count, "output": shown})
            count += 1
        took = round((time.perf_counter() - begin) * 1e3, 4)
        yield _event({"status": "success", "count": count, "inference_time_ms": took, "timestamp": now()}, "done")
    except FurnaceError as error:
        yield _event(
            {"error": error.message, "code": error.code, "details": error.details, "timestamp": now()}, "error"
        )


def _event(value: dict[str, Any], name: str = "") -> bytes:
    data = b"data: " + orjson.dumps(value, option=_OPTIONS) + b"\n\n"
    return b"event: " + name.encode() + b"\n" + data if name else data
