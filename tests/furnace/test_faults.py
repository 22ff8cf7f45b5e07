"""What goes wrong in production, under load: too many requests, killed workers, ends, exchanges, bad clients."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import furnace
from furnace.models.served import ServedModel
from furnace.signature import Signature, TensorSpec
from tests.furnace.adders import write_adder
from tests.furnace.conftest import doubler
from tests.furnace.loading import Load, post
from tests.furnace.test_supervisor import Command

ROWS = Signature((TensorSpec("x", "FP32", ("n", 4)),), (TensorSpec("y", "FP32", ("n", 4)),))
ASK = post("/predict", b'{"input": [1, 2, 3, 4]}')
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs a Linux /proc")


def slow_model(seconds):
    def run(inputs):
        time.sleep(seconds)
        return [inputs[0] * 2]

    return ServedModel("slow", "1", ROWS, run)


def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@contextlib.contextmanager
def running(*arguments):
    command = Command(*arguments)
    try:
        yield command
    finally:
        command.process.kill()
        command.process.wait(20)
        command.process.stderr.close()


def test_more_requests_than_fit_are_answered_or_refused_and_memory_stays():
    with (
        furnace.TestServer(slow_model(0.02), max_concurrent_requests=8, max_batch_size=4) as server,
        Load(server.server.port, ASK, connections=48) as load,
    ):
        load.wait_for(503, 200)
        before = resident()
        load.wait_for(503, 1500)
        grown = resident() - before
    assert set(load.seen) == {200, 503}
    assert grown < 24 << 20


def test_refusals_say_when_to_come_again():
    gate = threading.Event()

    def run(inputs):
        gate.wait(20)
        return [inputs[0]]

    gate.set()
    with furnace.TestServer(ServedModel("m", "1", ROWS, run), max_concurrent_requests=1) as server:
        gate.clear()
        with Load(server.server.port, ASK, connections=2) as load:
            load.wait_for(503, 1)
            with socket.create_connection(("127.0.0.1", server.server.port)) as client:
                client.sendall(ASK)
                answer = client.recv(4096).decode()
            gate.set()
    assert answer.startswith("HTTP/1.1 503 ")
    assert "retry-after: " in answer


def test_workers_that_are_killed_or_exchanged_under_load_harm_only_what_they_held(tmp_path):
    write_adder(tmp_path / "adder.onnx", 1)
    with running("--model-path", tmp_path / "adder.onnx", "--workers", "2") as server:
        port = int(server.wait_for(r"2 workers serve on 127\.0\.0\.1:(\d+)")[1])
        with Load(port, post("/predict", b'{"input": [1, 2]}'), connections=8) as load:
            load.wait_for(200, 50)
            victim = server.children()[0]
            os.kill(victim, signal.SIGKILL)
            server.wait_for(rf"worker {victim} ended with signal SIGKILL")
            load.wait_for(200, 200)
            lost = load.seen["broken"] + load.seen["reset"]
            assert lost <= load.connections  # what the killed one held, and nothing else
            assert set(load.seen) <= {200, "broken", "reset"}

            workers = set(server.children()) - {victim}
            server.process.send_signal(signal.SIGHUP)
            for worker in workers:
                server.wait_for(rf"takes the place of {worker}")
            load.wait_for(200, 200)
            assert set(load.seen) <= {200, "broken", "reset"}
            assert load.seen["broken"] + load.seen["reset"] == lost  # an exchange loses nothing
            broken = load.seen["broken"]

            server.process.send_signal(signal.SIGTERM)
            load.wait_for("refused", 8)
        assert server.process.wait(40) == 0
    assert set(load.seen) <= {200, "broken", "reset", "refused"}
    assert load.seen["broken"] == broken  # whatever was accepted was answered


def test_ending_under_load_answers_what_was_accepted():
    with Load(0, ASK, connections=16) as load:
        with furnace.TestServer(slow_model(0.01), max_batch_size=4) as server:
            load.port = server.server.port
            load.wait_for(200, 100)
        load.wait_for("refused", 16)
    assert set(load.seen) <= {200, "refused", "reset"}


def test_a_model_that_is_reloaded_under_load_fails_no_request(tmp_path):
    path = tmp_path / "adder.onnx"
    write_adder(path, 1)
    with (
        furnace.TestServer(model_path=(str(path),), device=furnace_device(), reload=True) as server,
        Load(server.server.port, post("/predict", b'{"input": [1, 2]}')) as load,
    ):
        load.wait_for(200, 20)
        client = server.client()
        assert client.predict([1.0, 2.0]) == [2.0, 3.0]
        write_adder(path, 5)
        end = time.monotonic() + 30
        while client.predict([1.0, 2.0]) != [6.0, 7.0]:
            assert time.monotonic() < end
            time.sleep(0.05)
        load.wait_for(200, 50)
    assert set(load.seen) == {200}


def furnace_device():
    from burn import NdArray

    return NdArray()


def test_clients_that_send_or_read_slowly_hold_up_nobody():
    def large(inputs):
        return [np.ones((len(inputs[0]), 1 << 20), np.float32)]

    wide = Signature(ROWS.inputs, (TensorSpec("y", "FP32", ("n", 1 << 20)),))
    with (
        furnace.TestServer(doubler()) as server,
        furnace.TestServer(ServedModel("large", "1", wide, large), max_batch_size=1) as other,
        contextlib.ExitStack() as stack,
    ):
        for _ in range(20):  # half a request, then nothing
            client = stack.enter_context(socket.create_connection(("127.0.0.1", server.server.port)))
            client.sendall(ASK[: random.randrange(1, len(ASK) - 1)])
        for _ in range(4):  # four megabytes that nobody reads
            client = stack.enter_context(socket.socket())
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", other.server.port))
            client.sendall(ASK)
        for each in (server, other):
            with Load(each.server.port, b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n", connections=2) as load:
                load.wait_for(200, 20)
            assert set(load.seen) == {200}
        with Load(server.server.port, ASK, connections=2) as load:
            load.wait_for(200, 20)
        assert set(load.seen) == {200}


def test_garbage_on_sockets_crashes_nothing(server):
    draw = random.Random(7)
    pieces = [b"POST /predict HTTP/1.1\r\n", b"content-length: 10\r\n", b"transfer-encoding: chunked\r\n", b"\r\n",
              b'{"input": [1, 2, 3, 4]}', b"\xff\xfe", b"0\r\n\r\n", b"ffffffffffffffff\r\n"]  # fmt: skip
    for _ in range(150):
        noise = [draw.randbytes(draw.randrange(64)) for _ in range(3)]
        data = b"".join(draw.choices([*pieces, *noise], k=draw.randrange(1, 9)))
        with socket.create_connection(("127.0.0.1", server.server.port)) as client:
            client.settimeout(5)
            with contextlib.suppress(ConnectionError):
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                answer = client.recv(1 << 16)
                assert not answer or b" 500 " not in answer[:20], data
    assert server.client().ready()


def test_many_requests_in_one_packet_are_answered_in_order(server):
    count = 2000
    with socket.create_connection(("127.0.0.1", server.server.port)) as client:
        client.settimeout(20)
        requests = b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n" * count
        threading.Thread(target=client.sendall, args=(requests,)).start()
        data = b""
        while data.count(b'{"live":true}') < count:
            more = client.recv(1 << 16)
            assert more
            data += more


def test_a_packet_may_end_inside_the_headers_of_the_last_of_many_requests(server):
    one = b"GET /v2/health/live HTTP/1.1\r\nhost: x\r\n\r\n"
    with socket.create_connection(("127.0.0.1", server.server.port)) as client:
        client.settimeout(20)
        client.sendall(one * 1200 + one[:20])  # more than the limit of the headers of one request
        time.sleep(0.2)
        client.sendall(one[20:])
        data = b""
        while data.count(b'{"live":true}') < 1201:
            more = client.recv(1 << 16)
            assert more
            data += more


# generators


class Counting:
    """A generator of numbers up to the first input; notes what it did."""

    def __init__(self):
        self.made, self.closed = 0, threading.Event()

    def __call__(self, inputs):
        try:
            for number in range(int(inputs[0][0, 0])):
                if number == 50:
                    raise ValueError("fifty is too many")
                self.made += 1
                time.sleep(0.001)
                yield [np.full((1,), number, np.int64)]
        finally:
            self.closed.set()


@pytest.fixture
def counting():
    counter = Counting()
    signature = Signature((TensorSpec("x", "FP32", (1, 1)),), (TensorSpec("n", "INT64", (1,)),))
    model = ServedModel("counter", "1", signature, lambda inputs: [np.zeros(1, np.int64)], stream=counter)
    with furnace.TestServer(model, max_concurrent_requests=2) as server:
        yield server, counter


def events(server, upto, path="/models/counter/generate_stream"):
    with socket.create_connection(("127.0.0.1", server.server.port)) as client:
        client.settimeout(20)
        client.sendall(post(path, json.dumps({"input": [upto]}).encode()))
        data = b""
        while not data.endswith(b"0\r\n\r\n"):
            data += client.recv(4096)
    head, _, body = data.partition(b"\r\n\r\n")
    return head.decode().lower(), [line for line in body.decode().splitlines() if line.startswith(("data:", "event:"))]


def test_a_generator_streams_its_outputs_as_events(counting):
    server, _ = counting
    for path in ("/models/counter/generate_stream", "/v2/models/counter/generate_stream"):
        head, lines = events(server, 3, path)
        assert "content-type: text/event-stream" in head
        assert [json.loads(line[6:])["output"] for line in lines[:3]] == [[0], [1], [2]]
        assert lines[3] == "event: done"
        assert json.loads(lines[4][6:])["count"] == 3


def test_a_fault_in_a_stream_is_an_event(counting):
    server, _ = counting
    _, lines = events(server, 60)
    assert lines[-2] == "event: error"
    assert "fifty is too many" in json.loads(lines[-1][6:])["error"]


def test_a_stream_ends_when_its_client_leaves_and_gives_its_place_back(counting):
    server, counter = counting
    for _ in range(3):  # more than there are places
        counter.closed.clear()
        counter.made = 0
        with socket.create_connection(("127.0.0.1", server.server.port)) as client:
            client.sendall(post("/models/counter/generate_stream", b'{"input": [49]}'))
            assert b"200 OK" in client.recv(4096)
        assert counter.closed.wait(20)
    assert counter.made < 49
    assert events(server, 1)[1][1] == "event: done"


def test_a_model_without_a_generator_says_that_it_does_not_stream(client, server):
    with socket.create_connection(("127.0.0.1", server.server.port)) as raw:
        raw.sendall(post("/models/doubler/generate_stream", b'{"input": [1, 2, 3, 4]}'))
        answer = raw.recv(4096)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"does not stream" in answer


@pytest.mark.parametrize(
    "name, message",
    [
        ("cpu:9", "^--device cpu:9: there is one cpu; write --device cpu$"),
        ("ndarray:f64", "^--device ndarray:f64: there is one ndarray; write --device ndarray$"),
        ("tpu", "^--device: there is no device 'tpu'; there are cpu, ndarray, libtorch$"),
        ("libtorch:gpu9", "^--device libtorch:gpu9: LibTorch: there is no 'gpu9' on this machine; present are"),
    ],
)
def test_a_device_that_is_not_there_is_refused_in_words(name, message):
    from furnace.server import find_device

    with pytest.raises(furnace.ModelError, match=message):
        find_device(name)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_command_says_so_and_ends(workers):
    command = ["--device", "cpu:9", "--model-path", __file__, "--port", "0", "--workers", workers]
    program = f"import sys; from furnace.command import main; sys.exit(main({command}))"
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert told.returncode == 1
    assert "furnace: --device cpu:9: there is one cpu; write --device cpu\n" in told.stderr
    assert "Traceback" not in told.stderr
