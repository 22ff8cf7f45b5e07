"""Interpolation: signals and images resampled to another size, or by a factor."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from burn.config import Config, Pair
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.checks import refuse, shown, too_small
from burn.ops.interpolation import interpolate
from burn.ops.windows import check_rank
from burn.tensor import Tensor


class InterpolateMode(enum.Enum):
    """How a value between elements is made.

    >>> [mode.name for mode in nn.InterpolateMode]
    ['Nearest', 'NearestExact', 'Linear', 'Cubic', 'Lanczos']
    """

    Nearest = "nearest"
    NearestExact = "nearest_exact"
    Linear = "bilinear"
    Cubic = "bicubic"
    Lanczos = "lanczos3"


class Interpolate1dConfig(Config):
    """Settings of `Interpolate1d`; `init(device=None)` makes it.

    Arguments:
        output_size: the new length.
        scale_factor: a factor in its place.
        mode: an `InterpolateMode`; the nearest element.
        align_corners: whether the centres of the ends stay in place; True.

    >>> nn.Interpolate1dConfig(output_size=4).init()
    Interpolate1d {mode: Nearest, output_size: 4, scale_factor: None, align_corners: true}
    """

    output_size: int | None = None
    scale_factor: float | None = None
    mode: InterpolateMode = InterpolateMode.Nearest
    align_corners: bool = True

    def init(self, device: Device | None = None) -> Interpolate1d:
        """The module; it has no parameters."""
        scale = None if self.scale_factor is None else (self.scale_factor,)
        _check(self, self.output_size, scale)
        return Interpolate1d._from_fields(self.output_size, self.scale_factor, self.mode, self.align_corners)


class Interpolate1d(Module, config=Interpolate1dConfig):
    """Resamples (batch, channels, length).

    `torch.nn.Upsample`. (batch, channels, length) to (batch, channels, output_size or floor(length *
    scale_factor)).

    Arguments:
        output_size: the new length.
        scale_factor: a factor in its place.
        mode: an `InterpolateMode`; the nearest element.
        align_corners: whether the centres of the ends stay in place; True.

    >>> print(nn.Interpolate1d(output_size=4)(burn.tensor([[[1.0, 2.0]]])).to_data())
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    output_size: int | None
    scale_factor: float | None
    interpolation: InterpolateMode  # `mode` is a method of every module
    align_corners: bool = True

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            output_size: int | None = None,
            scale_factor: float | None = None,
            mode: InterpolateMode | str = ...,
            align_corners: bool = True,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, length) to (batch, channels, output_size or floor(length * scale_factor))."""
        check_rank("Interpolate1d", x.shape, 1)
        scale = None if self.scale_factor is None else (self.scale_factor,)
        size: Any = self.output_size if scale is None else _scaled(x, scale)
        return interpolate(x, size, self.interpolation.value, self.align_corners)

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


class Interpolate2dConfig(Config):
    """Settings of `Interpolate2d`; `init(device=None)` makes it.

    Arguments:
        output_size: the new height and width.
        scale_factor: factors in their place.
        mode: an `InterpolateMode`; the nearest element.
        align_corners: whether the centres of the corners stay in place; True.

    >>> nn.Interpolate2dConfig(scale_factor=(2.0, 2.0)).init()
    Interpolate2d {mode: Nearest, output_size: None, scale_factor: [2, 2], align_corners: true}
    """

    output_size: Pair[int] | None = None
    scale_factor: Pair[float] | None = None
    mode: InterpolateMode = InterpolateMode.Nearest
    align_corners: bool = True

    def init(self, device: Device | None = None) -> Interpolate2d:
        """The module; it has no parameters."""
        _check(self, self.output_size, self.scale_factor)
        return Interpolate2d._from_fields(self.output_size, self.scale_factor, self.mode, self.align_corners)


class Interpolate2d(Module, config=Interpolate2dConfig):
    """Resamples (batch, channels, height, width).

    `torch.nn.Upsample`. To the new size, or to each dim times its factor, rounded down.

    Arguments:
        output_size: the new height and width.
        scale_factor: factors in their place.
        mode: an `InterpolateMode`; the nearest element.
        align_corners: whether the centres of the corners stay in place; True.

    >>> layer = nn.Interpolate2d(scale_factor=(2.0, 2.0), mode=nn.InterpolateMode.Linear)
    >>> layer(Tensor.ones([1, 3, 4, 4])).shape
    Shape([1, 3, 8, 8])
    """

    output_size: Pair[int] | None
    scale_factor: Pair[float] | None
    interpolation: InterpolateMode  # `mode` is a method of every module
    align_corners: bool = True

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            output_size: Pair[int] | int | None = None,
            scale_factor: Pair[float] | float | None = None,
            mode: InterpolateMode | str = ...,
            align_corners: bool = True,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height, width) to the new size, or to each dim times its factor, rounded down."""
        check_rank("Interpolate2d", x.shape, 2)
        scale = self.scale_factor
        size: Any = self.output_size if scale is None else _scaled(x, scale)
        return interpolate(x, size, self.interpolation.value, self.align_corners)

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


def _check(config: Config, size: int | Sequence[int] | None, scale: Sequence[float] | None) -> None:
    faults = too_small(1, output_size=size)
    if (size is None) == (scale is None):
        given = "neither" if size is None else "both"
        faults.append(f"give output_size or scale_factor, got {given}")
    if scale is not None and not all(0.0 < factor < math.inf for factor in scale):
        faults.append(f"scale_factor must be above 0 and finite, got {shown(scale)}")
    refuse(config, faults)


def _scaled(x: Tensor, scale: Sequence[float]) -> tuple[int, ...]:
    return tuple(int(size * factor) for size, factor in zip(x.shape[2:], scale, strict=True))


def _content(module: Interpolate1d | Interpolate2d, content: Content) -> Content:
    content.add("mode", module.interpolation).add("output_size", module.output_size)
    return content.add("scale_factor", module.scale_factor).add("align_corners", module.align_corners)
