"""A `furnace` process for one model, spoken to over plain HTTP."""

from __future__ import annotations

import importlib.util
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

STARTUP = 90  # seconds


class NotThere(Exception):
    """The server cannot be had here, with the reason."""


def command() -> list[str]:
    """How `furnace` is started: the script on the path, else the module."""
    found = shutil.which("furnace", path=str(Path(sys.executable).parent)) or shutil.which("furnace")
    if found:
        return [found]
    try:
        known = importlib.util.find_spec("furnace.__main__")
    except ModuleNotFoundError:
        known = None
    if known is None:
        raise NotThere("the furnace command is not installed")
    return [sys.executable, "-m", "furnace"]


@contextmanager
def served(record: Path) -> Iterator[str]:
    """The address of a server that holds the model of a record."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        arguments = [*command(), "--model-path", str(record), "--host", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(arguments, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait(f"http://127.0.0.1:{port}", process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(address: str, process: subprocess.Popen[bytes], log: Any) -> None:
    end = time.monotonic() + STARTUP
    while time.monotonic() < end:
        if process.poll() is not None:
            log.seek(0)
            said = log.read().decode("utf-8", "replace").strip()
            if "burn-dl[serve]" in said:
                raise NotThere("the server needs its extra: pip install 'burn-dl[serve]'")
            raise RuntimeError(f"furnace ended with code {process.returncode}: {said[-400:]}")
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=2) as answer:
                if answer.status == 200:
                    return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"furnace did not answer within {STARTUP} s")


def predict(address: str, inputs: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """The outputs by name for whole inputs by name."""
    body = json.dumps({"inputs": {name: array.tolist() for name, array in inputs.items()}}).encode()
    request = urllib.request.Request(f"{address}/predict", body, {"Content-Type": "application/json"}, method="POST")
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"/predict answered {error.code}: {error.read().decode('utf-8', 'replace')[:300]}") from None
    return {name: np.asarray(value, np.float32) for name, value in found["outputs"].items()}
