"""Several workers behind one port, as the command starts them: counted together, replaced, exchanged, and ended."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

import furnace
from tests.furnace.adders import write_adder


class Command:
    """A `furnace` process whose log is read on the side."""

    def __init__(self, *arguments):
        command = [sys.executable, "-m", "furnace", "--port", "0", "--device", "ndarray", "--max-batch-size", "2",
                   *map(str, arguments)]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)

    def wait_for(self, pattern, seconds=60):
        """The match of the first line of the log that has it."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for line in list(self.lines):
                found = re.search(pattern, line)
                if found:
                    return found
            assert self.process.poll() is None or self._reader.is_alive(), "".join(self.lines)
            time.sleep(0.02)
        raise AssertionError("".join(self.lines))

    def children(self):
        path = f"/proc/{self.process.pid}/task/{self.process.pid}/children"
        with open(path, encoding="ascii") as file:
            return [int(each) for each in file.read().split()]

    def end(self):
        """The exit code after SIGTERM."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(40)
        self._reader.join(20)
        self.process.stderr.close()
        return code


@contextlib.contextmanager
def command(*arguments):
    made = Command(*arguments)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.end()
        elif not made.process.stderr.closed:
            made._reader.join(20)
            made.process.stderr.close()


def post(port, path, body=b""):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST" if body is not None else "GET", path, body)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text


class Load:
    """Clients that ask until they are told to stop.

    A connection that the system refuses, or resets before any worker has accepted it, was never taken.
    """

    def __init__(self, port, count=3):
        self.answers, self.faults, self.ended = [], [], threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(port,)) for _ in range(count)]

    def _ask(self, port):
        while not self.ended.is_set():
            try:  # a connection for each request, so that all workers take part
                status, text = post(port, "/predict", b'{"input": [0, 0]}')
            except ConnectionRefusedError:
                return
            except (http.client.HTTPException, OSError) as error:
                self.faults.append(error)
                continue
            if status == 200:
                self.answers.append(json.loads(text)["output"][0])
            else:
                self.faults.append((status, text))

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def wait(self, count, seconds=30):
        end, goal = time.monotonic() + seconds, len(self.answers) + count
        while len(self.answers) < goal:
            assert time.monotonic() < end, self.faults[:3]
            time.sleep(0.01)

    def __exit__(self, *_):
        self.ended.set()
        for thread in self._threads:
            thread.join(30)


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="children are read from /proc")
def test_workers_are_counted_replaced_exchanged_and_ended(tmp_path):
    write_adder(tmp_path / "adder" / "1" / "model.onnx", 1)
    options = ("--model-repository", tmp_path, "--workers", "2", "--allow-repository-control")
    with command(*options) as running:
        port = int(running.wait_for(r"2 workers serve on 127\.0\.0\.1:(\d+)")[1])
        before = running.children()
        assert len(before) == 2

        with Load(port) as load:
            load.wait(30)
        assert load.faults == []
        status, text = post(port, "/metrics", None)
        assert status == 200
        counted = re.search(rb'furnace_inferences_total\{model="adder",version="1"\} (\d+)', text)
        assert int(counted[1]) == len(load.answers)  # the sum over both

        # one dies: what it had may be lost, everything else is answered, and another takes its place
        with Load(port) as load:
            load.wait(10)
            os.kill(before[0], signal.SIGKILL)
            running.wait_for(f"worker {before[0]} ended with signal SIGKILL; another takes its place")
            load.wait(10)
            end = time.monotonic() + 60
            while sum("is ready after" in line for line in running.lines) < 3:
                assert time.monotonic() < end, "".join(running.lines)  # until its successor serves
                time.sleep(0.02)
        assert len(load.faults) <= 3
        assert all(isinstance(each, OSError | http.client.HTTPException) for each in load.faults)
        after = running.children()
        assert len(after) == 2
        assert before[1] in after

        # what a client changes is changed in all workers
        write_adder(tmp_path / "adder" / "2" / "model.onnx", 2)
        assert post(port, "/v2/repository/models/adder/load")[0] == 200
        with Load(port) as load:
            load.wait(20)
        assert set(load.answers) == {2.0}

        # the files of now, worker by worker, without a failed request
        write_adder(tmp_path / "adder" / "2" / "model.onnx", 5)
        with Load(port) as load:
            load.wait(5)
            running.process.send_signal(signal.SIGHUP)
            end = time.monotonic() + 60
            while sum("takes the place of" in line for line in running.lines) < 2:
                assert time.monotonic() < end, "".join(running.lines)
                time.sleep(0.02)
            load.wait(10)
        assert load.faults == []
        assert load.answers[-1] == 5.0
        assert set(load.answers) <= {2.0, 5.0}

        # the end under load: whatever was taken is answered
        with Load(port) as load:
            load.wait(10)
            assert running.end() == 0
        assert [each for each in load.faults if not isinstance(each, ConnectionResetError)] == []


def test_one_process_ends_when_what_it_took_is_answered(tmp_path):
    with command("--model-path", write_adder(tmp_path / "adder.onnx", 1)) as running:
        port = int(running.wait_for(r"serving adder on http://127\.0\.0\.1:(\d+)")[1])
        with Load(port) as load:
            load.wait(20)
            assert running.end() == 0
        assert [each for each in load.faults if not isinstance(each, ConnectionResetError)] == []
        assert any("requests at work are answered first" in line for line in running.lines)


def test_what_cannot_start_says_why_and_ends(tmp_path):
    (tmp_path / "bad.onnx").write_bytes(b"nonsense")
    bad = subprocess.run(
        [sys.executable, "-m", "furnace", "--model-path", str(tmp_path / "bad.onnx"), "--port", "0"],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert bad.returncode == 1
    assert "cannot be loaded" in bad.stderr
    assert "Traceback" not in bad.stderr


def test_a_taken_port_is_named_before_anything_is_started():
    from furnace.http.listener import ListenError
    from furnace.settings import Settings
    from furnace.supervisor import Supervisor
    from tests.furnace.conftest import doubler

    with furnace.TestServer(doubler()) as server, pytest.raises(ListenError, match="--port"):
        Supervisor(Settings(port=server.server.port))


def test_a_taken_grpc_port_is_named_before_anything_is_started():
    from furnace.http.listener import ListenError
    from furnace.settings import Settings
    from furnace.supervisor import Supervisor

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ListenError, match="--grpc-port"):
            Supervisor(Settings(port=0, grpc_port=taken.getsockname()[1]))
