"""Requests per second and latency of the server beside others, on one machine, in turns.

    python -m benches.serving --peers-python PEERS/bin/python --json found.json
    python -m benches.serving --models mnist --kinds binary --connections 1,16 --rounds 3

Each server is a process of its own with the same ONNX file; the load comes from another. A round measures every server
once, in an order that turns from round to round; servers that are not measured are stopped (SIGSTOP), so that threads
that spin take no core from the others. Every answer is compared with ONNX Runtime before anything is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benches.serving_peers.models import SHAPES, write_model

HERE = Path(__file__).parent / "serving_peers"
ROOT = Path(__file__).parent.parent
START_SECONDS = 90.0


@dataclass
class Peer:
    """How a server is started, and what its requests look like by kind."""

    name: str
    command: Callable[[Path, int, Path], list[str]]
    requests: dict[str, Callable[[str, np.ndarray[Any, Any]], tuple[str, dict[str, str], bytes]]]
    health: str
    environment: dict[str, str] = field(default_factory=dict)


def peers(python: str | None, workers: int) -> list[Peer]:
    """All servers; the others only with the interpreter that has them."""
    ours = [sys.executable, "-m", "furnace", "--log-level", "warning", "--workers", str(workers)]
    found = [
        Peer("furnace", lambda model, port, _: [*ours, "--model-path", str(model), "--port", str(port)],
             {"json": lambda _, x: _json("/predict", {"input": _listed(x)}), "binary": _binary_v2}, "/health"),
    ]  # fmt: skip
    if python is None:
        return found
    bin = Path(python).parent
    return [
        *found,
        Peer("fastapi", lambda _, port, __: [str(bin / "uvicorn"), "--app-dir", str(HERE), "--port", str(port),
                                             "--log-level", "warning", "fastapi_app:app"],
             {"json": lambda _, x: _json("/predict", {"input": _listed(x)}), "binary": lambda _, x: _raw("/binary", x)},
             "/health"),
        Peer("litserve", lambda _, port, __: [python, str(HERE / "litserve_app.py"), str(port)],
             {"json": lambda _, x: _json("/predict", {"input": _listed(x)}),
              "binary": lambda _, x: _form("/predict", x)},
             "/health"),
        Peer("bentoml", lambda _, port, __: [str(bin / "bentoml"), "serve", "bentoml_app:Model", "--working-dir",
                                             str(HERE), "--port", str(port), "--host", "127.0.0.1"],
             {"json": lambda _, x: _json("/predict", {"input": x.tolist()}), "binary": lambda _, x: _raw("/binary", x)},
             "/readyz", {"BENTOML_DO_NOT_TRACK": "True"}),
        Peer("mlserver", lambda _, port, folder: [str(bin / "mlserver"), "start", str(_mlserver(folder, port))],
             {"json": _json_v2}, "/v2/health/ready", {"PYTHONPATH": str(HERE)}),
    ]  # fmt: skip


# what requests look like


def _listed(x: np.ndarray[Any, Any]) -> list[float]:
    return [round(float(each), 4) for each in x.reshape(-1)]


def _json(path: str, value: Any) -> tuple[str, dict[str, str], bytes]:
    return path, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _json_v2(model: str, x: np.ndarray[Any, Any]) -> tuple[str, dict[str, str], bytes]:
    tensor = {"name": "image", "shape": list(x.shape), "datatype": "FP32", "data": _listed(x)}
    return _json(f"/v2/models/{model}/infer", {"inputs": [tensor]})


def _binary_v2(model: str, x: np.ndarray[Any, Any]) -> tuple[str, dict[str, str], bytes]:
    size = {"binary_data_size": x.nbytes}
    tensor = {"name": "image", "shape": list(x.shape), "datatype": "FP32", "parameters": size}
    head = json.dumps({"inputs": [tensor], "parameters": {"binary_data_output": True}}).encode()
    headers = {"Content-Type": "application/octet-stream", "Inference-Header-Content-Length": str(len(head))}
    return f"/v2/models/{model}/infer", headers, head + x.tobytes()


def _raw(path: str, x: np.ndarray[Any, Any]) -> tuple[str, dict[str, str], bytes]:
    return path, {"Content-Type": "application/octet-stream"}, x.tobytes()


def _form(path: str, x: np.ndarray[Any, Any]) -> tuple[str, dict[str, str], bytes]:
    head = b'--part\r\nContent-Disposition: form-data; name="file"; filename="x"\r\n'
    body = head + b"Content-Type: application/octet-stream\r\n\r\n" + x.tobytes() + b"\r\n--part--\r\n"
    return path, {"Content-Type": "multipart/form-data; boundary=part"}, body


def _mlserver(folder: Path, port: int) -> Path:
    model = os.environ["SERVING_NAME"]
    (folder / "settings.json").write_text(
        json.dumps({"host": "127.0.0.1", "http_port": port, "grpc_port": free_port(), "metrics_port": free_port(),
                    "parallel_workers": 0, "debug": False})
    )  # fmt: skip
    (folder / "model-settings.json").write_text(
        json.dumps({"name": model, "implementation": "mlserver_runtime.Runtime", "max_batch_size": 32,
                    "max_batch_time": 0.001})
    )  # fmt: skip
    return folder


# servers


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as opened:
        opened.bind(("127.0.0.1", 0))
        return int(opened.getsockname()[1])


class Running:
    """A server that has been started."""

    def __init__(self, peer: Peer, model: str, path: Path, folder: Path) -> None:
        self.peer, self.model, self.port = peer, model, free_port()
        shape = ",".join(map(str, SHAPES[model]))
        os.environ["SERVING_NAME"] = model
        given = {"SERVING_MODEL": str(path), "SERVING_SHAPE": shape, **peer.environment}
        self.log = folder / "log.txt"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                peer.command(path, self.port, folder), env={**os.environ, **given}, stdout=log, stderr=log,
                start_new_session=True, cwd=ROOT,
            )  # fmt: skip

    def wait(self) -> None:
        """Until it answers; RuntimeError when it does not."""
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            if self.process.poll() is not None:
                break
            with contextlib.suppress(OSError, urllib.error.URLError):
                urllib.request.urlopen(f"http://127.0.0.1:{self.port}{self.peer.health}", timeout=2)
                return
            time.sleep(0.2)
        raise RuntimeError(f"does not answer; the end of its log: {self.log.read_text(errors='replace')[-400:]!r}")

    def check(self, kind: str, x: np.ndarray[Any, Any], expected: np.ndarray[Any, Any]) -> None:
        """That it answers with the right numbers."""
        path, headers, body = self.peer.requests[kind](self.model, x)
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            data, kind_of = answer.read(), answer.headers.get("content-type", "")
        if "json" in kind_of:
            found = np.array(_longest(json.loads(data)), np.float32)
        else:
            found = np.frombuffer(data[-expected.nbytes :], np.float32)
        np.testing.assert_allclose(
            found.reshape(-1), expected.reshape(-1), rtol=1e-2, atol=1e-3 * np.abs(expected).max()
        )

    def request(self, kind: str, x: np.ndarray[Any, Any]) -> bytes:
        """A whole request as it goes over the wire."""
        path, headers, body = self.peer.requests[kind](self.model, x)
        lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{key}: {value}" for key, value in headers.items())]
        return ("\r\n".join(lines) + f"\r\nContent-Length: {len(body)}\r\n\r\n").encode() + body

    def signal(self, number: int) -> None:
        """To the process and its children."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def end(self) -> None:
        """Stop it."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGTERM)
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.signal(signal.SIGKILL)
            self.process.wait(10)


def _longest(value: Any) -> list[float]:
    """The longest list of numbers in a JSON value."""
    if isinstance(value, dict):
        return max((_longest(each) for each in value.values()), key=len, default=[])
    if isinstance(value, list):
        if value and all(isinstance(each, int | float) for each in value):
            return value
        return max((_longest(each) for each in value), key=len, default=[])
    return []


# measuring


def measure(server: Running, request: bytes, connections: int, seconds: float) -> dict[str, Any]:
    """One turn of one server."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(request)
        file.flush()
        given = {"port": server.port, "request": file.name, "connections": connections, "seconds": seconds}
        command = [sys.executable, str(HERE / "load.py")]
        done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True, timeout=seconds + 60)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def awake(server: Running) -> Iterator[None]:
    """Only this one runs."""
    server.signal(signal.SIGCONT)
    try:
        yield
    finally:
        server.signal(signal.SIGSTOP)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All models, in turns; gives what was found."""
    onnxruntime: Any = importlib.import_module("onnxruntime")
    results: dict[str, Any] = {"date": time.strftime("%Y-%m-%d"), "cores": os.cpu_count(), "runs": []}
    for model in options.models.split(","):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            path = folder / f"{model}.onnx"
            write_model(model, path)
            x = np.round(np.random.default_rng(0).random((1, *SHAPES[model]), np.float32), 4)
            session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
            expected = session.run(None, {"image": x})[0]
            del session
            servers = _started(options, model, path, folder)
            try:
                _rounds(options, servers, x, expected, results, model)
            finally:
                for each in servers:
                    each.end()
    return results


def _started(options: argparse.Namespace, model: str, path: Path, folder: Path) -> list[Running]:
    found = []
    for peer in peers(options.peers_python, options.workers):
        if options.servers and peer.name not in options.servers.split(","):
            continue
        place = folder / peer.name
        place.mkdir()
        server = Running(peer, model, path, place)
        try:
            server.wait()
        except RuntimeError as error:
            print(f"{peer.name} is left out: {error}", flush=True)
            server.end()
            continue
        server.signal(signal.SIGSTOP)
        found.append(server)
    return found


def _rounds(
    options: argparse.Namespace, servers: list[Running], x: Any, expected: Any, results: dict[str, Any], model: str
) -> None:
    for kind in options.kinds.split(","):
        able = []
        for server in servers:
            if kind not in server.peer.requests:
                print(f"{model} {kind}: {server.peer.name} has no such request over HTTP", flush=True)
                continue
            with awake(server):
                try:
                    server.check(kind, x, expected)
                    measure(server, server.request(kind, x), 4, 0.3)
                    able.append(server)
                except (OSError, AssertionError, RuntimeError, ValueError) as error:
                    print(f"{model} {kind}: {server.peer.name} is left out: {str(error)[:300]}", flush=True)
        for connections in (int(each) for each in options.connections.split(",")):
            found: dict[str, list[dict[str, Any]]] = {each.peer.name: [] for each in able}
            for turn in range(options.rounds):
                order = able[turn % len(able) :] + able[: turn % len(able)] if able else []
                for server in order:
                    with awake(server):
                        found[server.peer.name].append(
                            measure(server, server.request(kind, x), connections, options.seconds)
                        )
            entry = {"model": model, "kind": kind, "connections": connections, "servers": found}
            results["runs"].append(entry)
            show(entry)


def show(entry: dict[str, Any]) -> None:
    """One table: medians over the rounds, with their range."""
    print(f"\n{entry['model']}, {entry['kind']}, {entry['connections']} connections", flush=True)
    ours = [each["rate"] for each in entry["servers"].get("furnace", [])]
    for name, rounds in entry["servers"].items():
        rates = [each["rate"] for each in rounds]
        ratio = f"{statistics.median(a / b for a, b in zip(ours, rates)):5.2f}" if ours and all(rates) else "    -"
        faults = sum(each["faults"] + each["refused"] for each in rounds)
        print(
            f"  {name:10} {statistics.median(rates):8.0f} req/s ({min(rates):.0f}-{max(rates):.0f})"
            f"  p50 {statistics.median(each['p50_ms'] for each in rounds):8.3f} ms"
            f"  p99 {statistics.median(each['p99_ms'] for each in rounds):8.3f} ms  furnace is x {ratio}"
            + (f"  {faults} not answered with 200" if faults else ""),
            flush=True,
        )


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser("benches.serving", description=__doc__.split("\n")[0])
    parser.add_argument("--peers-python", help="an interpreter with fastapi, uvicorn, onnxruntime, litserve, ...")
    parser.add_argument("--servers", default="", help="only these, with commas between them")
    parser.add_argument("--models", default="mnist,mobilenet_v2")
    parser.add_argument("--kinds", default="json,binary")
    parser.add_argument("--connections", default="1,16,64")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of one turn")
    parser.add_argument("--workers", type=int, default=1, help="processes of furnace")
    parser.add_argument("--json", help="write what was found to this file")
    options = parser.parse_args(arguments)
    results = run(options)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
