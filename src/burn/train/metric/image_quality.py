"""How close images are to their originals: the peak signal-to-noise ratio, and similarity of structure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from burn.errors import ArgumentError, ShapeError, raise_faults
from burn.train.metric.host import Array, Values, same_shape
from burn.train.metric.numeric import StateMetric
from burn.train.metric.protocol import MetricEntry, MetricMetadata


@dataclass(frozen=True)
class ImagePairInput:
    """Images (`outputs`) and their originals (`targets`), both (batch, channels, height, width).

    >>> from burn.train.metric import ImagePairInput, MetricMetadata, PsnrMetric
    >>> images = np.full((1, 3, 8, 8), 0.5)
    >>> PsnrMetric().update(ImagePairInput(images, images + 0.1), MetricMetadata.fake()).formatted
    'epoch 20.00 dB - batch 20.00 dB'
    """

    outputs: Values
    targets: Values

    def both(self, metric: str) -> tuple[Array, Array]:
        """The two as float64 arrays; an error names the `metric`."""
        outputs, targets = same_shape(metric, self.outputs, self.targets)
        if outputs.ndim != 4:
            raise ShapeError(f"{metric}: needs images (batch, channels, height, width), got shape {outputs.shape}")
        return outputs.astype(np.float64), targets.astype(np.float64)


PsnrInput = SsimInput = MsSsimInput = ImagePairInput


class PsnrMetric(StateMetric[ImagePairInput]):
    """The peak signal-to-noise ratio in decibels, the mean over images. Identical images count as `epsilon` apart.

    `max_pixel_val` is the largest value that a pixel can have: 1.0, or 255.0.

    >>> import numpy as np
    >>> from burn.train.metric import ImagePairInput, MetricMetadata, PsnrMetric
    >>> images = np.full((1, 3, 8, 8), 128.0)
    >>> PsnrMetric(255.0).update(ImagePairInput(images, images + 1), MetricMetadata.fake()).formatted
    'epoch 48.13 dB - batch 48.13 dB'
    """

    input_type: ClassVar[type | None] = ImagePairInput
    unit = "dB"

    def __init__(self, max_pixel_val: float = 1.0, *, epsilon: float = 1e-10) -> None:
        if max_pixel_val <= 0:
            raise ArgumentError(f"PsnrMetric: max_pixel_val = {max_pixel_val}, the brightest pixel, is above 0")
        super().__init__(f"PSNR@{max_pixel_val:g}")
        self.max_pixel_val = max_pixel_val
        self.epsilon = epsilon

    def update(self, item: ImagePairInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = item.both(self._name)
        errors = np.maximum(((outputs - targets) ** 2).mean((1, 2, 3)), self.epsilon)
        return self.mean(float((10 * np.log10(self.max_pixel_val**2 / errors)).mean()), len(errors))


class SsimMetric(StateMetric[ImagePairInput]):
    """The structural similarity: local means, contrasts and correlations under a Gaussian window; 1 is identity.

    `pixel_range` is the largest value of a pixel less the smallest. Images are at least `kernel_size` wide and high.

    `k1` and `k2` keep small numbers from dividing, `sigma` is the width of the window, `name` how it is shown.

    >>> import numpy as np
    >>> from burn.train.metric import ImagePairInput, MetricMetadata, SsimMetric
    >>> images = np.random.default_rng(0).random((1, 3, 16, 16))
    >>> SsimMetric().update(ImagePairInput(images, images), MetricMetadata.fake()).formatted
    'epoch 1.0000 - batch 1.0000'
    >>> SsimMetric().update(ImagePairInput(images, 1 - images), MetricMetadata.fake()).formatted
    'epoch -0.9620 - batch -0.9620'
    """

    input_type: ClassVar[type | None] = ImagePairInput
    digits = 4

    def __init__(
        self,
        pixel_range: float = 1.0,
        *,
        k1: float = 0.01,
        k2: float = 0.03,
        kernel_size: int = 11,
        sigma: float = 1.5,
        name: str = "",
    ) -> None:
        faults = []
        if pixel_range <= 0:
            faults.append(f"pixel_range = {pixel_range}, from the darkest to the brightest pixel, is above 0")
        if kernel_size < 1 or kernel_size % 2 == 0:
            faults.append(f"kernel_size = {kernel_size} is odd and at least 1")
        if sigma <= 0:
            faults.append(f"sigma = {sigma}, the width of the window, is above 0")
        if k1 <= 0 or k2 <= 0:
            faults.append(f"k1 = {k1} and k2 = {k2} are above 0")
        raise_faults(type(self).__name__, faults)
        super().__init__(name or f"SSIM (dr={pixel_range:g}, w={kernel_size}, σ={sigma:g})")
        self.kernel_size = kernel_size
        self._steady = (k1 * pixel_range) ** 2, (k2 * pixel_range) ** 2
        window = np.exp(-((np.arange(kernel_size) - kernel_size // 2) ** 2) / (2 * sigma**2))
        self._window: Array = window / window.sum()

    def update(self, item: ImagePairInput, metadata: MetricMetadata) -> MetricEntry:
        """Take in a batch."""
        outputs, targets = item.both(self._name)
        values = self.similarity(outputs, targets)
        return self.mean(float(values.mean()), len(values))

    def similarity(self, outputs: Array, targets: Array) -> Array:
        """The value of each image of `outputs`, compared with `targets`."""
        both, contrast = self._maps(outputs, targets)
        values: Array = (both * contrast).mean((1, 2, 3))
        return values

    def _maps(self, x: Array, y: Array) -> tuple[Array, Array]:
        """The maps of luminance, and of contrast and structure. Images go on mirrored beyond their border."""
        if min(x.shape[2:]) < self.kernel_size:
            raise ShapeError(
                f"{self._name}: images of {x.shape[2]} x {x.shape[3]} are smaller than the window of "
                f"{self.kernel_size}; take a smaller kernel_size"
            )
        border = self.kernel_size // 2
        x, y = (np.pad(each, ((0, 0), (0, 0), (border, border), (border, border)), "reflect") for each in (x, y))
        mean_x, mean_y = self._blurred(x), self._blurred(y)
        square_x, square_y, product = mean_x * mean_x, mean_y * mean_y, mean_x * mean_y
        variance_x = np.maximum(self._blurred(x * x) - square_x, 0.0)
        variance_y = np.maximum(self._blurred(y * y) - square_y, 0.0)
        covariance = self._blurred(x * y) - product
        first, second = self._steady
        luminance = (2 * product + first) / (square_x + square_y + first)
        return luminance, (2 * covariance + second) / (variance_x + variance_y + second)

    def _blurred(self, images: Array) -> Array:
        """Under the window; a border as wide as half of it goes."""
        for axis in (2, 3):
            length = images.shape[axis] - self.kernel_size + 1
            moved = np.moveaxis(images, axis, -1)
            total = self._window[0] * moved[..., :length]
            for at, weight in enumerate(self._window[1:], 1):
                total += weight * moved[..., at : at + length]
            images = np.moveaxis(total, -1, axis)
        return images


class MsSsimMetric(SsimMetric):
    """The structural similarity at several scales, each half of the one before; 1 is identity.

    `betas` weighs the scales; with the usual five, images are at least 161 wide and high.

    `pixel_range`, `k1`, `k2`, `kernel_size` and `sigma` are those of `SsimMetric`.

    >>> import numpy as np
    >>> from burn.train.metric import ImagePairInput, MetricMetadata, MsSsimMetric
    >>> images = np.random.default_rng(0).random((1, 1, 32, 32))
    >>> metric = MsSsimMetric(betas=(0.5, 0.5))
    >>> metric.update(ImagePairInput(images, images), MetricMetadata.fake()).formatted
    'epoch 1.0000 - batch 1.0000'
    """

    def __init__(
        self,
        pixel_range: float = 1.0,
        *,
        k1: float = 0.01,
        k2: float = 0.03,
        kernel_size: int = 11,
        sigma: float = 1.5,
        betas: Sequence[float] = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    ) -> None:
        name = f"MS-SSIM (pr={pixel_range:g}, k={kernel_size}, σ={sigma:g})"
        super().__init__(pixel_range, k1=k1, k2=k2, kernel_size=kernel_size, sigma=sigma, name=name)
        if not betas:
            raise ArgumentError("MsSsimMetric: betas are the weights of the scales; give at least one")
        self.betas = tuple(betas)

    def similarity(self, outputs: Array, targets: Array) -> Array:
        """The value of each image: contrast at every scale, luminance at the last; negative ones count as 0."""
        least = self.kernel_size * 2 ** (len(self.betas) - 1)
        if min(outputs.shape[2:]) < least:
            raise ShapeError(
                f"{self._name}: images of {outputs.shape[2]} x {outputs.shape[3]} are too small for "
                f"{len(self.betas)} scales of a window of {self.kernel_size}: {least} at least; give fewer betas"
            )
        result = np.ones(outputs.shape[:2])
        for scale, beta in enumerate(self.betas):
            luminance, contrast = self._maps(outputs, targets)
            last = scale == len(self.betas) - 1
            values = (luminance * contrast if last else contrast).mean((2, 3))
            result *= np.maximum(values, 0.0) ** beta
            if not last:
                outputs, targets = _halved(outputs), _halved(targets)
        means: Array = result.mean(1)
        return means


def _halved(images: Array) -> Array:
    """The mean of each two by two pixels; an odd last row or column is left out."""
    height, width = images.shape[2] // 2 * 2, images.shape[3] // 2 * 2
    even = images[:, :, :height, :width]
    result: Array = (even[:, :, ::2, ::2] + even[:, :, 1::2, ::2] + even[:, :, ::2, 1::2] + even[:, :, 1::2, 1::2]) / 4
    return result
