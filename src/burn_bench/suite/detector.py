"""A detector of the YOLO family, of its smallest size: a backbone, a neck that goes up and down again, three heads.

The layers and widths are those of YOLOv8-n with 80 classes; what comes out are the three maps before boxes are read
from them. Batch norms are folded.
"""

from __future__ import annotations

from typing import Any

from burn_bench.suite.weights import Weights

CLASSES, BOX = 80, 64
"""Scores of a place, and the numbers in which its box is written."""


def yolo_n(f: Any, w: Weights, x: Any) -> tuple[Any, Any, Any]:
    """The maps of 1/8, 1/16 and 1/32 of the image."""
    return Detector(f, w)(x)


class Detector:
    """The parts of the network, in the words of one library."""

    def __init__(self, f: Any, w: Weights) -> None:
        self.f, self.w = f, w

    def __call__(self, x: Any) -> tuple[Any, Any, Any]:
        f = self.f
        x = self.layer(self.layer(x, 16, 3, 2), 32, 3, 2)
        x = self.block(x, 32, 1)
        fine = self.block(self.layer(x, 64, 3, 2), 64, 2)
        middle = self.block(self.layer(fine, 128, 3, 2), 128, 2)
        coarse = self.pooled(self.block(self.layer(middle, 256, 3, 2), 256, 1))
        middle = self.block(f.joined([f.doubled(coarse), middle]), 128, 1, residual=False)
        fine = self.block(f.joined([f.doubled(middle), fine]), 64, 1, residual=False)
        middle = self.block(f.joined([self.layer(fine, 64, 3, 2), middle]), 128, 1, residual=False)
        coarse = self.block(f.joined([self.layer(middle, 128, 3, 2), coarse]), 256, 1, residual=False)
        return self.head(fine), self.head(middle), self.head(coarse)

    def layer(self, x: Any, outputs: int, size: int = 1, stride: int = 1) -> Any:
        """A convolution and its activation."""
        return self.f.silu(self.convolve(x, outputs, size, stride))

    def convolve(self, x: Any, outputs: int, size: int = 1, stride: int = 1) -> Any:
        """A convolution that keeps the size of its image, but for the stride."""
        kernel = self.w.kernel(outputs, x.shape[1], size, size)
        return self.f.conv2d(x, kernel, self.w.vector(outputs), stride=stride, padding=size // 2)

    def block(self, x: Any, outputs: int, depth: int, residual: bool = True) -> Any:
        """Half of the channels go through `depth` pairs of 3x3; what each pair gives is kept and joined."""
        parts = list(self.f.halves(self.layer(x, outputs)))
        for _ in range(depth):
            y = self.layer(self.layer(parts[-1], outputs // 2, 3), outputs // 2, 3)
            parts.append(parts[-1] + y if residual else y)
        return self.layer(self.f.joined(parts), outputs)

    def pooled(self, x: Any) -> Any:
        """The maxima of windows of 5, 9 and 13, beside what they were taken from."""
        outputs = x.shape[1]
        parts = [self.layer(x, outputs // 2)]
        for _ in range(3):
            parts.append(self.f.max_pool2d(parts[-1], 5, 1, 2))
        return self.layer(self.f.joined(parts), outputs)

    def head(self, x: Any) -> Any:
        """Boxes and scores of one scale, each from layers of their own."""
        box = self.convolve(self.layer(self.layer(x, BOX, 3), BOX, 3), BOX)
        scores = self.convolve(self.layer(self.layer(x, CLASSES, 3), CLASSES, 3), CLASSES)
        return self.f.joined([box, scores])
