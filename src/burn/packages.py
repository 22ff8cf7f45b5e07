"""Packages that are loaded only where they are used: which extra brings each, and what is said where one is missing."""

from __future__ import annotations

EXTRAS = {
    "llvmlite": "cpu",
    "torch": "torch",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "rich": "train",
    "textual": "train",
    "psutil": "train",
    "pynvml": "train",
    "PIL": "data",
    "httptools": "serve",
    "orjson": "serve",
    "uvloop": "serve",
    "grpc": "grpc",
    "google": "grpc",
    "matplotlib": "",
    "datasets": "",
    "IPython": "",
}
"""From the name that is imported to the extra that has it; "" where none has: pip takes it by its name."""
DISTRIBUTIONS = {"PIL": "Pillow", "pynvml": "nvidia-ml-py", "grpc": "grpcio", "google": "protobuf"}
"""The distribution of an import name, where the two differ."""


def missing(what: str, package: str) -> str:
    """The one line for `what`, which needs a package that is not installed: what to write to get it."""
    name = DISTRIBUTIONS.get(package, package)
    extra = EXTRAS.get(package)
    wanted = f"'burn-dl[{extra}]'" if extra else name
    return f"{what}: needs {name}, which is not installed; write pip install {wanted}"
