"""The application inside other servers: requests, limits, lifespan, clients that leave, and mounting under a prefix."""

from __future__ import annotations

import asyncio
import json
import threading

import numpy as np
import pytest

import furnace
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec
from tests.furnace.conftest import doubler


@pytest.fixture(scope="module")
def app():
    made = furnace.asgi_app(doubler(), max_body_mb=0.01)
    yield made
    asyncio.run(made.server.stop())


def call(app, method, path, body=b"", headers=(), root_path="", pieces=1):
    """The status, headers and body that an ASGI server would send."""
    size = max(1, -(-len(body) // pieces))
    parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    incoming = [
        {"type": "http.request", "body": part, "more_body": place + 1 < len(parts)} for place, part in enumerate(parts)
    ]
    sent = []

    async def receive():
        if incoming:
            return incoming.pop(0)
        await asyncio.Event().wait()

    async def send(message):
        sent.append(message)

    path, _, query = path.partition("?")
    scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "root_path": root_path,
             "headers": [(name.lower().encode(), value.encode()) for name, value in headers]}  # fmt: skip
    asyncio.run(app(scope, receive, send))
    received = b"".join(each.get("body", b"") for each in sent[1:])
    found = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, received


def test_predict_through_asgi(app):
    for pieces in (1, 3):
        status, headers, body = call(app, "POST", "/predict", b'{"input": [1, 2, 3, 4]}', pieces=pieces)
        assert status == 200
        assert headers["content-type"] == "application/json"
        assert int(headers["content-length"]) == len(body)
        assert json.loads(body)["output"] == [2, 4, 6, 8]


@pytest.mark.parametrize("path", ["/ml/v2/health/ready", "/v2/health/ready"])
def test_a_prefix_is_taken_off_however_the_outer_server_gives_it(app, path):
    assert call(app, "GET", path, root_path="/ml")[0] == 200


def test_the_page_is_under_the_prefix(app):
    status, headers, body = call(app, "GET", "/ml/", root_path="/ml")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert b'src="page.js"' in body  # relative, so that it is found under any prefix


def test_faults_are_answers(app):
    assert call(app, "GET", "/nothing")[0] == 404
    assert call(app, "POST", "/predict", b"{")[0] == 400
    assert call(app, "GET", "/predict")[0] == 405
    assert call(app, "POST", "/predict", b" " * 20_000, pieces=5)[0] == 413


def test_the_lifespan_ends_the_models():
    made = furnace.asgi_app(doubler())
    messages = [{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}]
    sent = []

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message["type"])

    asyncio.run(made({"type": "lifespan"}, receive, send))
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert call(made, "GET", "/health")[0] == 503


def test_a_websocket_is_closed(app):
    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message)

    asyncio.run(app({"type": "websocket", "path": "/"}, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1000}]


def test_a_client_that_leaves_frees_its_place():
    entered, opened = threading.Event(), threading.Event()
    opened.set()
    runs = []

    def run(inputs):
        runs.append(len(inputs[0]))
        entered.set()
        assert opened.wait(20)
        return [inputs[0]]

    spec = ("batch", 1)
    signature = Signature((TensorSpec("x", "FP32", spec),), (TensorSpec("y", "FP32", spec),))
    made = furnace.asgi_app(ServedModel("held", "1", signature, run), max_batch_size=1)

    async def leave():
        opened.clear()
        entered.clear()
        runs.clear()
        gone = asyncio.Event()

        def receiver(leaves):
            body = [{"type": "http.request", "body": b'{"input": [1]}'}]

            async def receive():
                if body:
                    return body.pop()
                await leaves.wait()
                return {"type": "http.disconnect"}

            return receive

        async def send(message):
            pass

        scope = {"type": "http", "method": "POST", "path": "/predict", "query_string": b"", "headers": []}
        first = asyncio.ensure_future(made(scope, receiver(asyncio.Event()), send))
        await asyncio.to_thread(entered.wait, 20)
        second = asyncio.ensure_future(made(scope, receiver(gone), send))
        while made.server.hub.find().serving.pending < 2:
            await asyncio.sleep(0.005)
        gone.set()
        await asyncio.wait_for(second, 20)
        opened.set()
        await asyncio.wait_for(first, 20)
        while made.server.hub.find().serving.pending:
            await asyncio.sleep(0.005)
        await made.server.stop()

    asyncio.run(leave())
    assert runs == [1]  # the second never ran


def test_mounted_in_starlette(app):
    applications = pytest.importorskip("starlette.applications", reason="starlette is not installed")
    routing = pytest.importorskip("starlette.routing", reason="starlette is not installed")
    outer = applications.Starlette(routes=[routing.Mount("/ml", app)])
    status, _, body = call(outer, "POST", "/ml/predict", b'{"input": [1, 2, 3, 4]}')
    assert (status, json.loads(body)["output"]) == (200, [2, 4, 6, 8])


def test_binary_tensors_through_asgi(app):
    header = json.dumps(
        {"inputs": [{"name": "x", "shape": [1, 4], "datatype": "FP32", "parameters": {"binary_data_size": 16}}]}
    ).encode()
    body = header + np.arange(4, dtype=np.float32).tobytes()
    status, _, answer = call(
        app, "POST", "/v2/models/doubler/infer", body, [("Inference-Header-Content-Length", str(len(header)))]
    )
    assert (status, json.loads(answer)["outputs"][0]["data"]) == (200, [0, 2, 4, 6])
