"""Bodies that are written straight to where they are read from: in pieces, one after the other, late, cut off."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time

import numpy as np
import pytest

import furnace
from furnace.http.incoming import ALIGNMENT, LEAST, MOST, Incoming
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec

COUNT = LEAST  # numbers of four bytes: well above the least
SEEN = []


def summed(inputs):
    SEEN.append(inputs[0].ctypes.data % ALIGNMENT)
    return [np.array([inputs[0].sum(dtype=np.float64)])]


@pytest.fixture(scope="module", params=["asyncio", "uvloop"])
def server(request):
    signature = Signature((TensorSpec("x", "FP32", (None,)),), (TensorSpec("sum", "FP64", (1,)),))
    running = furnace.TestServer(ServedModel("sums", "1", signature, summed), body_timeout_s=0.6)
    before = asyncio.get_event_loop_policy()
    if request.param == "uvloop":
        asyncio.set_event_loop_policy(pytest.importorskip("uvloop").EventLoopPolicy())
    try:
        running.__enter__()
    finally:
        asyncio.set_event_loop_policy(before)
    with contextlib.closing(running):
        yield running


def request(values, close=False):
    """A request with a binary tensor, as it goes over the wire."""
    tensor = {"name": "x", "shape": [len(values)], "datatype": "FP32",
              "parameters": {"binary_data_size": values.nbytes}}  # fmt: skip
    text = json.dumps({"inputs": [tensor]}).encode()
    head = (
        f"POST /v2/models/sums/infer HTTP/1.1\r\nhost: x\r\ncontent-length: {len(text) + values.nbytes}\r\n"
        f"inference-header-content-length: {len(text)}\r\n" + ("connection: close\r\n" if close else "") + "\r\n"
    )
    return head.encode() + text + values.tobytes()


def answer(client):
    """The status and the JSON of the next answer, and not a byte of the one after it."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        more = client.recv(1)
        if not more:
            return 0, None
        head += more
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    body = client.recv(length, socket.MSG_WAITALL)
    assert len(body) == length
    return int(head[9:12]), json.loads(body)


def total(found):
    return found["outputs"][0]["data"][0]


@pytest.fixture
def client(server):
    with socket.create_connection(("127.0.0.1", server.server.port)) as made:
        made.settimeout(20)
        yield made


@pytest.mark.parametrize("piece", [1 << 30, 50_000, 300_001])
def test_a_body_may_come_in_any_pieces_and_others_follow_it(client, piece):
    for number in range(3):
        values = np.full(COUNT + number, number + 1, np.float32)
        data = request(values)
        for begin in range(0, len(data), piece):
            client.sendall(data[begin : begin + piece])
            time.sleep(0.001)
        status, found = answer(client)
        assert status == 200
        assert total(found) == values.sum()
    assert SEEN[-1] == 0  # on a cache line, wherever the JSON ends
    client.sendall(b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n")
    assert answer(client) == (200, {"live": True})


def test_the_headers_may_come_alone(client):
    values = np.arange(COUNT, dtype=np.float32)
    head, _, body = request(values).partition(b"\r\n\r\n")
    client.sendall(head + b"\r\n\r\n")
    time.sleep(0.05)
    client.sendall(body)
    assert total(answer(client)[1]) == values.sum(dtype=np.float64)


def test_requests_that_do_not_wait_for_answers_are_answered_in_order(client):
    sizes = (COUNT, 10, COUNT + 1, COUNT + 2, 11)
    requests = b"".join(request(np.ones(size, np.float32)) for size in sizes)
    threading.Thread(target=client.sendall, args=(requests,)).start()
    assert [total(answer(client)[1]) for _ in sizes] == list(sizes)


def test_a_client_that_asks_for_the_end_gets_it(client):
    client.sendall(request(np.ones(COUNT, np.float32), close=True))
    assert answer(client)[0] == 200
    assert client.recv(1) == b""


def test_a_body_that_does_not_come_in_time_is_refused(client):
    client.sendall(request(np.ones(COUNT, np.float32))[:-1])
    status, found = answer(client)
    assert status == 408
    assert "body" in found["error"]
    assert client.recv(1) == b""


def test_a_client_that_leaves_in_the_middle_harms_nobody(server, client):
    client.sendall(request(np.ones(COUNT, np.float32))[:100_000])
    client.close()
    assert server.client().ready()


def test_bodies_of_every_size_around_the_limits_are_read(client):
    for count in (LEAST // 4 - 60, LEAST // 4 - 30, LEAST // 4, MOST // 4 + 1):
        client.sendall(request(np.ones(count, np.float32)))
        assert total(answer(client)[1]) == count


def test_large_json_is_read_too(client):
    body = json.dumps({"input": [1.5] * COUNT}).encode()
    head = f"POST /predict HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n"
    client.sendall(head.encode() + body)
    status, found = answer(client)
    assert status == 200
    assert found["output"] == 1.5 * COUNT


@pytest.mark.parametrize("header", [0, 1, 63, 64, 157])
def test_what_follows_the_header_is_aligned(header):
    incoming = Incoming(1000, header)
    incoming.add(bytes(range(200)))
    incoming.rest[:] = bytes(800)
    assert not incoming.advance(799)
    assert incoming.advance(1)
    assert bytes(incoming.view) == bytes(range(200)) + bytes(800)
    assert np.frombuffer(incoming.view, np.uint8)[header:].ctypes.data % ALIGNMENT == 0
