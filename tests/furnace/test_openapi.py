"""The OpenAPI document is true, and whatever a client sends, nothing is a fault of the server.

Three kinds of nonsense: what Schemathesis makes of the document, values of JSON in the place of others, and bytes on
the wire. None may be answered with a 500, and the server answers as before afterwards.
"""

from __future__ import annotations

import asyncio
import copy
import http.client
import json
import random
import re
import socket

import numpy as np
import pytest

import furnace
from furnace.http.messages import Request
from furnace.models.served import ServedModel
from furnace.routes import FIXED, PATTERNS
from furnace.signature import Signature, TensorSpec
from tests.furnace.conftest import doubler
from tests.furnace.interpreters import run_script


def pair_model():
    """Several inputs of several types, one of them optional, none of them batched."""
    inputs = (
        TensorSpec("text", "BYTES", (None,)),
        TensorSpec("count", "INT8", (2, "n")),
        TensorSpec("flag", "BOOL", ()),
        TensorSpec("extra", "FP16", ("n",), optional=True),
    )
    return ServedModel("pair", "1", Signature(inputs, (TensorSpec("n", "INT64", ()),)),
                       lambda given: [np.asarray(given[1].size)])  # fmt: skip


def open_model():
    """A model that says nothing of its input."""
    signature = Signature((TensorSpec("any", None, None),), (TensorSpec("same", None, None),))
    return ServedModel("open", "1", signature, lambda given: [given[0]])


def picture_model():
    shape = ("batch", 1, 4, 4)
    signature = Signature((TensorSpec("p", "UINT8", shape),), (TensorSpec("q", "UINT8", shape),))
    return ServedModel("picture", "1", signature, lambda given: [given[0]])


@pytest.fixture(scope="module")
def many():
    with furnace.TestServer(doubler(), max_elements=10_000) as running:
        for each in (pair_model(), open_model(), picture_model()):
            running.server.hub.add(each)
        yield running


def document(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.server.port, timeout=20)
    connection.request("GET", "/openapi.json")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


def test_every_path_of_the_document_is_there(many):
    described = document(many)
    for path, methods in described["paths"].items():
        for method in methods.keys() - {"parameters"}:
            connection = http.client.HTTPConnection("127.0.0.1", many.server.port, timeout=20)
            connection.request(method.upper(), path.replace("{name}", "doubler"), b"{}" if method == "post" else None)
            status = connection.getresponse().status
            connection.close()
            assert status in (200, 400, 403, 404), (method, path, status)
            assert str(status) in methods[method]["responses"]


def test_every_path_of_the_server_is_in_the_document(many):
    described = set(document(many)["paths"])
    hidden = {"/", "/page.js", "/page.css", "/v2/"}
    assert set(FIXED) - hidden <= described
    for pattern, _ in PATTERNS:
        plain = re.sub(r"\(\?P<name>[^)]*\)", "{name}", pattern.pattern)
        plain = re.sub(r"\(\?:/versions/.*?\)\)\?", "", plain)
        assert plain in described, plain


def test_references_of_the_document_lead_somewhere(many):
    described = document(many)
    text = json.dumps(described)
    for name in re.findall(r'"#/components/schemas/(\w+)"', text):
        assert name in described["components"]["schemas"]
    ids = re.findall(r'"operationId": "(\w+)"', text)
    assert len(ids) == len(set(ids))


SCHEMATHESIS = """
import sys
from schemathesis.cli import schemathesis
schemathesis(["run", sys.argv[1], "--checks",
    "not_a_server_error,status_code_conformance,response_schema_conformance,content_type_conformance",
    "--max-examples", "5", "--seed", "1", "--phases", "coverage,fuzzing", "--generation-database", "none"])
"""


@pytest.mark.slow
def test_schemathesis_finds_nothing(many, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_script("schemathesis", SCHEMATHESIS, many.url + "/openapi.json", seconds=120)


VALID = [
    ("/predict", {"input": [1, 2, 3, 4]}),
    ("/models/doubler/predict", {"input": [1, 2, 3, 4]}),
    ("/models/doubler/predict", {"inputs": [[1, 2, 3, 4], [0, 0, 0, 0]]}),
    ("/models/doubler/predict", {"inputs": {"x": [[1, 2, 3, 4]]}}),
    ("/models/pair/predict", {"input": {"text": ["a"], "count": [[1], [2]], "flag": True, "extra": [0.5]}}),
    ("/models/pair/predict", {"inputs": [{"text": ["a"], "count": [[1], [2]], "flag": True}]}),
    ("/models/open/predict", {"input": [[1, 2], [3, 4]]}),
    ("/models/picture/predict", {"input": [[[0] * 4] * 4]}),
    ("/models/doubler/generate_stream", {"input": [1, 2, 3, 4]}),
    ("/models/doubler/generate_stream", {"inputs": {"x": [[1, 2, 3, 4]]}}),
    ("/v1/models/doubler:predict", {"instances": [[1, 2, 3, 4]]}),
    ("/v1/models/pair:predict", {"inputs": {"text": ["a"], "count": [[1], [2]], "flag": True}}),
    ("/v2/models/doubler/infer", {"id": "1", "parameters": {"timeout": 1000000}, "outputs": [{"name": "y"}], "inputs": [
        {"name": "x", "shape": [1, 4], "datatype": "FP32", "data": [1, 2, 3, 4], "parameters": {}}]}),
    ("/v2/models/pair/infer", {"inputs": [{"name": "text", "shape": [1], "datatype": "BYTES", "data": ["a"]},
                                          {"name": "count", "shape": [2, 1], "datatype": "INT8", "data": [1, 2]},
                                          {"name": "flag", "shape": [], "datatype": "BOOL", "data": [True]}]}),
    ("/v2/models/open/infer", {"inputs": [{"name": "any", "shape": [2], "datatype": "UINT64", "data": [1, 2]}]}),
    ("/v2/repository/index", {"ready": True}),
    ("/v2/repository/models/doubler/load", {"parameters": {}}),
]  # fmt: skip
ODD = [
    None, True, False, 0, 1, -1, 2, 4, 300, 2**31, 2**63, -(2**63), 1.5, 1e39, 1e308, -0.0, "", "a", "x",
    "FP32", "BF16", "BYTES",
    "é", "\x00", "\ud7ff", [], [[]], [[], []], [[], [1]], [1], [1, 2, 3, 4], [[1, 2, 3, 4]], [1, "a"], [None],
    [True], [{}], {},
    {"": 1}, {"x": 1}, {"name": "x"}, {"x": [1, 2, 3, 4]}, {"binary_data_size": 16}, {"binary_data": True},
    {"binary_data_output": True}, [[[[[[[[[1]]]]]]]]], [0] * 40, ["a", ["b"]],
    10**30, [10**30], [1, 10**30], [2**64, -1],
]  # fmt: skip


def places(value, path=()):
    """Every place inside a value of JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from places(each, (*path, key))


def changed(value, path, other):
    if not path:
        return other
    made = copy.deepcopy(value)
    inner = made
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = other
    return made


def test_values_in_the_place_of_others_are_never_our_fault(many):
    app = many.server.app
    cases = [(path, changed(body, place, odd)) for path, body in VALID for place in places(body) for odd in ODD]
    faults = []

    async def all_of_them():
        for path, body in cases:
            response = await app.handle(Request("POST", path, {}, json.dumps(body).encode()))
            if response.status not in (200, 400, 403, 404, 504):  # 504: a timeout of 1 µs
                faults.append((path, body, response.status, response.body[:200]))

    asyncio.run_coroutine_threadsafe(all_of_them(), many._loop).result(60)
    assert faults[:5] == []
    assert len(cases) > 2000


def test_values_left_out_are_never_our_fault(many):
    app = many.server.app

    async def all_of_them():
        for path, body in VALID:
            for place in places(body):
                if not place or isinstance(place[-1], int):
                    continue
                made = copy.deepcopy(body)
                inner = made
                for key in place[:-1]:
                    inner = inner[key]
                del inner[place[-1]]
                response = await app.handle(Request("POST", path, {}, json.dumps(made).encode()))
                assert response.status in (200, 400, 403, 404), (path, made, response.body)

    asyncio.run_coroutine_threadsafe(all_of_them(), many._loop).result(60)


HEADERS = [
    ("inference-header-content-length", ["0", "-1", "99999999999999999999", "5", "abc", "", "٣"]),
    ("x-request-timeout-ms", ["0", "-1", "nan", "inf", "1e400", "", "abc", "5000"]),
    ("content-type", ["image/png", "image/jpeg", "image/", "text/plain", "application/octet-stream", ";"]),
    ("content-encoding", ["gzip", "br"]),
    ("accept", ["text/html", ""]),
]  # fmt: skip


def test_headers_are_never_our_fault(many):
    app = many.server.app

    async def all_of_them():
        for path, body in VALID:
            for name, values in HEADERS:
                for value in values:
                    request = Request("POST", path, {name: value}, json.dumps(body).encode())
                    response = await app.handle(request)
                    assert response.status in (200, 400, 403, 404, 415), (path, name, value, response.body)

    asyncio.run_coroutine_threadsafe(all_of_them(), many._loop).result(60)


def wire(path, body):
    data = json.dumps(body).encode()
    return b"POST %b HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\nconnection: close\r\n\r\n%b" % (
        path.encode(), len(data), data)  # fmt: skip


def mangled(data, rng):
    """Bytes with some of them changed, left out, said twice, or cut."""
    made = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8))):
        at, kind = rng.randrange(len(made) or 1), rng.randrange(5)
        if kind == 0 and made:
            made[at] = rng.randrange(256)
        elif kind == 1:
            del made[at : at + rng.randrange(1, 12)]
        elif kind == 2:
            made[at:at] = made[at : at + rng.randrange(1, 30)]
        elif kind == 3:
            made[at:at] = rng.choice(
                (b"\r\n", b"\r\n\r\n", b"\x00", b"\xff\xff", b": ", b"%00", b"[" * 50, b"GET / HTTP/1.1\r\n")
            )
        else:
            del made[at:]
    return bytes(made)


def test_bytes_on_the_wire_are_never_our_fault(many):
    rng = random.Random(7)
    statuses = set()
    for _ in range(600):
        data = mangled(wire(*rng.choice(VALID)), rng) if rng.random() < 0.9 else rng.randbytes(rng.randrange(200))
        with socket.create_connection(("127.0.0.1", many.server.port), timeout=20) as sock:
            try:
                sock.sendall(data)
                sock.shutdown(socket.SHUT_WR)
                answer = b""
                while piece := sock.recv(65536):
                    answer += piece
            except ConnectionError:
                continue
        found = re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)
        statuses |= set(found)
        assert not [each for each in found if each.startswith(b"5") and each != b"503"], (data, answer[:400])
    assert {b"200", b"400", b"404"} <= statuses
    with many.client() as client:
        assert client.ready()
        assert client.infer({"x": np.ones((1, 4), np.float32)}, model="doubler")["y"].tolist() == [[2.0] * 4]
