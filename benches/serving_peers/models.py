"""The models of the serving benchmark as ONNX files with a free batch size; also a command: NAME FILE."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Any

SHAPES = {"mnist": (1, 28, 28), "mobilenet_v2": (3, 224, 224)}
"""The sizes of one item."""


def write_model(name: str, path: Path) -> None:
    """Export by torch."""
    import torch

    torch.manual_seed(0)
    module = _digits() if name == "mnist" else _mobilenet()
    example = torch.randn(1, *SHAPES[name])
    free = {"image": {0: "batch"}, "scores": {0: "batch"}}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            module.eval(), (example,), str(path), input_names=["image"], output_names=["scores"], dynamic_axes=free,
            dynamo=False,
        )  # fmt: skip


def _digits() -> Any:
    """The convolutional network of the guide."""
    from torch import nn

    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Conv2d(16, 24, 3), nn.BatchNorm2d(24),
        nn.ReLU(), nn.Flatten(), nn.Linear(24 * 22 * 22, 32), nn.ReLU(), nn.Linear(32, 10),
    )  # fmt: skip


def _mobilenet() -> Any:
    import torch

    from burn_bench.suite import networks
    from burn_bench.suite.functions import TorchFunctions, Weights, drawn_weights
    from burn_bench.suite.inference import values

    f = TorchFunctions()
    given = drawn_weights(f, networks.mobilenet_v2, values((1, *SHAPES["mobilenet_v2"]))).values

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = torch.nn.ParameterList(given)

        def forward(self, x: Any) -> Any:
            return networks.mobilenet_v2(f, Weights.given(list(self.weights)), x)

    return Model()


if __name__ == "__main__":
    write_model(sys.argv[1], Path(sys.argv[2]))
