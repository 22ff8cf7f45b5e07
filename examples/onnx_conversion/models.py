"""The models of the conversion guide: where they are, how they are known, and what stands in for them offline.

A model comes from the first place that has it: a folder of yours, the cache, its address on the web, and last an
equivalent made here: the same architecture with other weights. The report says where each file came from.
"""

from __future__ import annotations

import hashlib
import os
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from examples.onnx_conversion import equivalents

ZOO = "https://github.com/onnx/models/raw/main/"
FOLDERS = ("vision/classification/", "validated/vision/classification/")  # the zoo has moved its files since the guide
DIGITS = Path(__file__).resolve().parents[1] / "onnx_inference" / "mnist.onnx"


class NotAvailable(Exception):
    """A model that no place has, with the reason of each."""


@dataclass(frozen=True, slots=True)
class ZooModel:
    """One model: the path in the zoo, its SHA-256, and what makes an equivalent."""

    name: str
    path: str
    checksum: str
    equivalent: Callable[[], bytes]
    stands_in: str

    @property
    def file(self) -> str:
        return self.path.rpartition("/")[2]


MODELS = (
    ZooModel(
        "mnist", "mnist/model/mnist-8.onnx", "2f06e72de813a8635c9bc0397ac447a601bdbfa7df4bebc278723b958831c9bf",
        DIGITS.read_bytes, "the bundled digits model, same layers, trained here",
    ),
    ZooModel(
        "squeezenet", "squeezenet/model/squeezenet1.0-7.onnx",
        "d95e2191e056f1912a9b8f6000da3b9c7818441b9eb48137033c2adbf6398bc8",
        lambda: equivalents.light("squeezenet"), "squeezenet of the onnx package's own tests",
    ),
    ZooModel(
        "mobilenetv2", "mobilenet/model/mobilenetv2-7.onnx",
        "c1c513582d56afceff8516c73804e484c81c6a830712ab6d682253f4a3cd042f",
        equivalents.mobilenet_v2, "MobileNetV2 in opset 7 with random weights",
    ),
    ZooModel(
        "resnet18", "resnet/model/resnet18-v1-7.onnx",
        "4e8f8653e7a2222b3904cc3fe8e304cd8b339ce1d05fd24688162f86fb6df52c",
        equivalents.resnet18, "ResNet-18 in opset 7 with random weights",
    ),
    ZooModel(
        "resnet50", "resnet/model/resnet50-v1-7.onnx",
        "af16a04a6ec48ac494065d4439fe9dea590d337b9ca6dc328160ccf04a217b9c",
        lambda: equivalents.light("resnet50"), "resnet50 of the onnx package's own tests",
    ),
    ZooModel(
        "densenet121", "densenet-121/model/densenet-7.onnx",
        "79c3bc0974696a2ea9efd2f7bca19fdd630834bd0086f1b4a1c3db3dce3b2a51",
        lambda: equivalents.light("densenet121"), "densenet121 of the onnx package's own tests",
    ),
)  # fmt: skip


def get(model: ZooModel, folder: Path | None, cache: Path, *, download: bool) -> tuple[Path, str]:
    """The file of a model, and where it came from."""
    if folder is not None:
        for name in (model.file, f"{model.name}.onnx"):
            if (folder / name).is_file():
                return folder / name, f"original, from {folder}" if _is_original(folder / name, model) else "your file"
    kept = cache / model.file
    if kept.is_file() and _is_original(kept, model):
        return kept, "original, from the cache"
    reasons = []
    for place in FOLDERS if download else ():
        try:
            return _downloaded(f"{ZOO}{place}{model.path}", model, kept), "original, downloaded"
        except OSError as error:
            reasons.append(str(error))
    made = cache / f"equivalent-{model.name}.onnx"
    try:
        data = model.equivalent()
    except (ImportError, OSError) as error:
        raise NotAvailable("; ".join([*reasons, f"no equivalent: {error}"])) from error
    _write(made, data)
    return made, f"equivalent: {model.stands_in}"


def _downloaded(address: str, model: ZooModel, target: Path) -> Path:
    with urllib.request.urlopen(address, timeout=20) as answer:
        data = answer.read()
    found = hashlib.sha256(data).hexdigest()
    if found != model.checksum:
        raise OSError(f"{address}: SHA-256 {found[:12]}... and not {model.checksum[:12]}...")
    _write(target, data)
    return target


def _is_original(path: Path, model: ZooModel) -> bool:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest() == model.checksum


def _write(path: Path, data: bytes) -> None:
    """The file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(data)
    os.replace(part, path)
