"""Recognise a handwritten digit with an ONNX model.

    python -m examples.onnx_inference            # image 42 of the test digits that come with the package
    python -m examples.onnx_inference 7 --device ndarray
    python -m examples.onnx_inference 7 --model mnist-8.onnx

The model is read, turned into a module and run; `burn-import --input mnist.onnx` writes the same module as source.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import burn
from burn.data.dataset.vision import MnistDataset
from burn.errors import BurnError
from burn.tensor.activation import softmax
from burn_import.onnx import load

MODEL = Path(__file__).with_name("mnist.onnx")
SHADES = " .:-=+*#%@"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.onnx_inference", description=__doc__.splitlines()[0])
    parser.add_argument("index", nargs="?", type=int, default=42, help="which of the test images (default: 42)")
    parser.add_argument("--model", type=Path, default=MODEL, metavar="FILE", help="an ONNX file that takes pixels")
    parser.add_argument("--device", default="cpu", choices=("cpu", "ndarray", "torch"))
    options = parser.parse_args(arguments)
    digits = MnistDataset.bundled("test")
    if not 0 <= options.index < len(digits):
        parser.error(f"there are {len(digits)} images; the index goes from 0 to {len(digits) - 1}")
    device: burn.Device = {"cpu": burn.Cpu, "ndarray": burn.NdArray, "torch": burn.LibTorch}[options.device]()
    try:
        model = load(options.model, device)
    except BurnError as error:
        parser.error(str(error))
    item = digits[options.index]
    scores = model(burn.tensor(item.image, device=device).reshape([1, 1, 28, 28]))
    shares = softmax(scores, 1).numpy()[0]
    print(picture(item.image))
    for digit, share in enumerate(shares):
        print(f"{digit}  {share:7.2%}  {'#' * round(40 * float(share))}".rstrip())
    print(f"image {options.index} shows a {item.label}; the model says {int(shares.argmax())}")
    return 0


def picture(image: Any) -> str:
    """An image of characters, two for each pixel; empty rows above and below are left out."""
    rows = ["".join(SHADES[int(pixel) * (len(SHADES) - 1) // 255] * 2 for pixel in row).rstrip() for row in image]
    used = [index for index, row in enumerate(rows) if row]
    return "\n".join(rows[used[0] : used[-1] + 1]) if used else ""


if __name__ == "__main__":
    raise SystemExit(main())
