"""Faults under load, larger than the tests: `python -m benches.serving_faults [--requests 10000]`.

Each part starts `furnace` with the small model, does something bad to it while clients ask without a pause, and prints
what the clients were told and what the processes' memory came to. Ends with 1 when a promise was not kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benches.serving import _json, free_port
from benches.serving_peers.models import SHAPES, write_model
from tests.furnace.loading import Load, post

FAULTS: list[str] = []


class Furnace:
    """A server process with its log."""

    def __init__(self, *arguments: str) -> None:
        self.port = free_port()
        command = [sys.executable, "-m", "furnace", "--port", str(self.port), *arguments]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        end = time.monotonic() + 90
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v2/health/ready", timeout=2)
                return
            time.sleep(0.1)
        raise RuntimeError("".join(self.lines))

    def _read(self) -> None:
        assert self.process.stderr is not None
        self.lines += iter(self.process.stderr.readline, "")

    def pids(self) -> list[int]:
        """The process and its children."""
        path = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [self.process.pid, *(int(each) for each in path.read_text().split())]

    def connected(self) -> socket.socket:
        """A connection."""
        return socket.create_connection(("127.0.0.1", self.port))

    def wait_for(self, pattern: str, count: int = 1, seconds: float = 120) -> None:
        """Until that many lines of the log have it."""
        end = time.monotonic() + seconds
        while sum(bool(re.search(pattern, line)) for line in list(self.lines)) < count:
            if time.monotonic() > end:
                raise RuntimeError(f"{pattern!r} is not in the log: {''.join(self.lines)}")
            time.sleep(0.02)


@contextlib.contextmanager
def furnace(*arguments: str) -> Iterator[Furnace]:
    """A server that is gone after the block."""
    server = Furnace(*arguments)
    try:
        yield server
    finally:
        server.process.terminate()
        try:
            server.process.wait(60)
        except subprocess.TimeoutExpired:
            server.process.kill()


def megabytes(pid: int, field: str = "Pss") -> float:
    """The memory of a process: `Pss` counts pages that n processes share for one nth."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(each) for each in re.findall(rf"^{field}: +(\d+) kB", text, re.M)) / 1024


def told(name: str, load: Load, allowed: set[Any], more: str = "") -> None:
    """Print what the clients saw, and note what they should not have."""
    other = {key: count for key, count in load.seen.items() if key not in allowed and count}
    print(f"{name}: {dict(load.seen)}{more}{'  NOT KEPT' if other else ''}", flush=True)
    if other:
        FAULTS.append(name)


def overload(model: Path, ask: bytes, requests: int) -> None:
    """More clients than places: 200 and 503, and memory that stays."""
    with furnace("--model-path", str(model), "--max-concurrent-requests", "4", "--log-level", "error") as server:
        with Load(server.port, ask, connections=200) as load:
            _until(load, requests // 10)
            before = megabytes(server.process.pid, "Rss")
            _until(load, requests)
            after = megabytes(server.process.pid, "Rss")
        told("overload", load, {200, 503}, f", resident {before:.0f} MB after a tenth, {after:.0f} MB at the end")
        if after > before * 1.1 + 8:
            FAULTS.append("memory under overload")


def _until(load: Load, count: int) -> None:
    end = time.monotonic() + 300
    while sum(load.seen.values()) < count and time.monotonic() < end:
        time.sleep(0.05)


def workers(model: Path, ask: bytes) -> None:
    """Kill one, exchange all, end: under load."""
    with furnace("--model-path", str(model), "--workers", "2") as server:
        server.wait_for("2 workers serve")
        with Load(server.port, ask, connections=16) as load:
            load.wait_for(200, 300)
            os.kill(server.pids()[1], signal.SIGKILL)
            server.wait_for("another takes its place")
            load.wait_for(200, 1000)
            lost = load.seen["broken"] + load.seen["reset"]
            print(f"killed: {lost} requests of 16 connections were lost with the worker", flush=True)
            server.process.send_signal(signal.SIGHUP)
            server.wait_for("takes the place of", 2)
            load.wait_for(200, 1000)
            told(f"exchanged (of {lost} lost before)", load, {200, "broken", "reset"})
            if load.seen["broken"] + load.seen["reset"] != lost:
                FAULTS.append("exchange")
            broken = load.seen["broken"]
            server.process.send_signal(signal.SIGTERM)
            load.wait_for("refused", 16)
        told("ended", load, {200, "broken", "reset", "refused"})
        if load.seen["broken"] != broken:
            FAULTS.append("end")


def reload(model: Path, ask: bytes) -> None:
    """A new file in the place of the old one, three times, under load."""
    with furnace("--model-path", str(model), "--reload") as server:
        with Load(server.port, ask, connections=16) as load:
            for times in range(1, 4):
                load.wait_for(200, 300)
                os.utime(model)
                server.wait_for("is ready after", times + 1)
        told("reloaded three times", load, {200})


def bad_clients(model: Path, ask: bytes) -> None:
    """Garbage, half requests and clients that do not read, beside good ones."""
    draw = random.Random(3)
    with furnace("--model-path", str(model), "--log-level", "error") as server, contextlib.ExitStack() as stack:
        with Load(server.port, ask, connections=4) as load:
            for _ in range(200):
                client = stack.enter_context(server.connected())
                client.sendall(ask[: draw.randrange(1, len(ask))])
            for _ in range(2000):
                with (
                    contextlib.suppress(ConnectionError),
                    socket.create_connection(("127.0.0.1", server.port)) as client,
                ):
                    client.sendall(draw.randbytes(draw.randrange(1, 2000)))
            load.wait_for(200, 100)
        told("200 stuck clients and 2000 of garbage beside 4 good ones", load, {200},
             f", the slowest answer took {load.slowest * 1e3:.0f} ms")  # fmt: skip
        if server.process.poll() is not None:
            FAULTS.append("garbage")


def memory(folder: Path) -> None:
    """What each further worker costs, for an ONNX file and for the record that burn-import makes of it."""
    for name in SHAPES:
        path = folder / f"{name}.onnx"
        if not path.exists():
            write_model(name, path)
        command = [sys.executable, "-m", "burn_import.onnx.command", "--input", str(path), "--quiet"]
        command += ["--output", str(folder / name)]
        subprocess.run(command, check=True)
        for model in (path, folder / f"{name}.mpk"):
            found = {}
            for count in (1, 2, 4):
                options = ("--workers", str(count)) if count > 1 else ()
                with furnace("--model-path", str(model), "--log-level", "error", *options) as server:
                    time.sleep(1.0)
                    found[count] = sum(megabytes(pid) for pid in server.pids())
            size = model.stat().st_size / (1 << 20)
            shown = ", ".join(f"{count} workers {value:.0f} MB" for count, value in found.items())
            print(f"memory of {model.name} ({size:.0f} MB): {shown} (sum of Pss)", flush=True)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser("benches.serving_faults", description=__doc__.split("\n")[0])
    parser.add_argument("--requests", type=int, default=10_000, help="of the overload")
    parser.add_argument("--parts", default="overload,workers,reload,bad_clients,memory")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = folder / "mnist.onnx"
        write_model("mnist", model)
        path, _, body = _json("/predict", {"input": [0.5] * 784})
        ask = post(path, body)
        parts = options.parts.split(",")
        if "overload" in parts:
            overload(model, ask, options.requests)
        if "workers" in parts:
            workers(model, ask)
        if "reload" in parts:
            reload(model, ask)
        if "bad_clients" in parts:
            bad_clients(model, ask)
        if "memory" in parts:
            memory(folder)
    print(json.dumps({"not kept": FAULTS}))
    return 1 if FAULTS else 0


if __name__ == "__main__":
    sys.exit(main())
