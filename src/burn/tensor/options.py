"""The settings of the functions in `burn.tensor.module`: plain values, checked when they are made.

A size is an int, which stands for every spatial dim, or one int a dim.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from dataclasses import dataclass

from burn.errors import ArgumentError
from burn.shape import as_ints

Size = int | Sequence[int]


def _check(owner: object, least: int, *names: str) -> None:
    """Refuse sizes below `least`."""
    kind = type(owner).__name__
    for name in names:
        value = getattr(owner, name)
        if not isinstance(value, str) and min(as_ints(kind, name, value)) < least:
            raise ArgumentError(f"{kind}: {name} must be {least} or more, got {value!r}")


@dataclass(frozen=True)
class ConvOptions:
    """The settings of a convolution, padded alike on both sides; a padding may be "same" or "valid"."""

    stride: Size = 1
    padding: Size | str = 0
    dilation: Size = 1
    groups: int = 1

    def __post_init__(self) -> None:
        _check(self, 1, "stride", "dilation", "groups")
        _check(self, 0, "padding")


@dataclass(frozen=True)
class PaddedConvOptions:
    """The settings of a convolution whose padding may differ at the end: `padding_end` is what comes after."""

    options: ConvOptions = dataclasses.field(default_factory=ConvOptions)
    padding_end: Size | None = None

    @staticmethod
    def asymmetric(
        stride: Size, padding_start: Size, padding_end: Size, dilation: Size = 1, groups: int = 1
    ) -> PaddedConvOptions:
        """Settings with one padding before and another after."""
        return PaddedConvOptions(ConvOptions(stride, padding_start, dilation, groups), padding_end)

    def __post_init__(self) -> None:
        if self.padding_end is not None:
            _check(self, 0, "padding_end")
            if isinstance(self.options.padding, str):
                raise ArgumentError(f"PaddedConvOptions: padding {self.options.padding!r} leaves no choice of its end")

    def is_asymmetric(self) -> bool:
        """Whether the two sides are padded by different amounts."""
        starts, ends = self._sides(1)
        return starts != ends

    def pairs(self, spatial: int) -> Size | str | list[tuple[int, int]]:
        """The padding as a convolution takes it: (before, after) for each dim where the two differ."""
        starts, ends = self._sides(spatial)
        return self.options.padding if starts == ends else list(zip(starts, ends))

    def _sides(self, spatial: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
        if self.padding_end is None or isinstance(self.options.padding, str):
            return (), ()
        starts = as_ints("PaddedConvOptions", "padding", self.options.padding)
        ends = as_ints("PaddedConvOptions", "padding_end", self.padding_end)
        count = max(len(starts), len(ends), spatial)
        return starts * count if len(starts) == 1 else starts, ends * count if len(ends) == 1 else ends


@dataclass(frozen=True)
class ConvTransposeOptions:
    """The settings of a transposed convolution; `padding_out` lengthens the result at its end."""

    stride: Size = 1
    padding: Size = 0
    padding_out: Size = 0
    dilation: Size = 1
    groups: int = 1

    def __post_init__(self) -> None:
        _check(self, 1, "stride", "dilation", "groups")
        _check(self, 0, "padding", "padding_out")


@dataclass(frozen=True)
class DeformConvOptions:
    """The settings of a deformable convolution: channels share weights and offsets in groups."""

    stride: Size = 1
    padding: Size = 0
    dilation: Size = 1
    weight_groups: int = 1
    offset_groups: int = 1

    def __post_init__(self) -> None:
        _check(self, 1, "stride", "dilation", "weight_groups", "offset_groups")
        _check(self, 0, "padding")


@dataclass(frozen=True)
class UnfoldOptions:
    """How patches lie on an image."""

    stride: Size = 1
    padding: Size = 0
    dilation: Size = 1

    def __post_init__(self) -> None:
        _check(self, 1, "stride", "dilation")
        _check(self, 0, "padding")


class InterpolateMode(enum.Enum):
    """How a value between elements is made."""

    Nearest = "nearest"
    NearestExact = "nearest_exact"
    Bilinear = "bilinear"
    Bicubic = "bicubic"
    Lanczos3 = "lanczos3"


@dataclass(frozen=True)
class InterpolateOptions:
    """The settings of `interpolate`: with `align_corners` the centres of the corners stay in place."""

    mode: InterpolateMode = InterpolateMode.Nearest
    align_corners: bool = True

    def with_align_corners(self, align_corners: bool) -> InterpolateOptions:
        """The same settings with another alignment."""
        return dataclasses.replace(self, align_corners=align_corners)


class GridSamplePaddingMode(enum.Enum):
    """What lies beyond the ends of an image."""

    Zeros = "zeros"
    Border = "border"
    Reflection = "reflection"


@dataclass(frozen=True)
class GridSampleOptions:
    """The settings of `grid_sample_2d`."""

    mode: InterpolateMode = InterpolateMode.Bilinear
    padding_mode: GridSamplePaddingMode = GridSamplePaddingMode.Zeros
    align_corners: bool = False


@dataclass(frozen=True)
class AttentionModuleOptions:
    """The settings of `attention`: without a scale it is 1/sqrt(size)."""

    scale: float | None = None
    softcap: float | None = None
    is_causal: bool = False
