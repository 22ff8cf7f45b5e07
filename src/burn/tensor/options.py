"""The settings of the functions in `burn.tensor.module`: plain values, checked when they are made.

A size is an int, which stands for every spatial dim, or one int a dim.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence

from burn.classes import dataclass
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
    """The settings of a convolution, padded alike on both sides.

    Arguments:
        stride, dilation: a number, or one a dim.
        padding: a number, one a dim, "same" or "valid".
        groups: into how many groups the channels are divided.

    >>> from burn.tensor.module import ConvOptions
    >>> ConvOptions(stride=2, padding=[1, 0])
    ConvOptions(stride=2, padding=[1, 0], dilation=1, groups=1)
    """

    stride: Size = 1
    padding: Size | str = 0
    dilation: Size = 1
    groups: int = 1

    def __post_init__(self) -> None:
        _check(self, 1, "stride", "dilation", "groups")
        _check(self, 0, "padding")


@dataclass(frozen=True)
class PaddedConvOptions:
    """The settings of a convolution whose padding may differ at the end.

    Arguments:
        options: the `ConvOptions`, whose padding is what comes before.
        padding_end: what comes after; None means the same.

    >>> from burn.tensor.module import PaddedConvOptions
    >>> options = PaddedConvOptions.asymmetric(stride=1, padding_start=0, padding_end=1)
    >>> options.is_asymmetric(), options.pairs(2)
    (True, [(0, 1), (0, 1)])
    """

    options: ConvOptions = dataclasses.field(default_factory=ConvOptions)
    padding_end: Size | None = None

    @staticmethod
    def asymmetric(
        stride: Size, padding_start: Size, padding_end: Size, dilation: Size = 1, groups: int = 1
    ) -> PaddedConvOptions:
        """Settings with `padding_start` before and `padding_end` after.

        `stride`, `dilation` and `groups` are those of `ConvOptions`.
        """
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
        """The padding as a convolution of `spatial` dims takes it: (before, after) for each where the two differ."""
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
    """The settings of a transposed convolution.

    Arguments:
        stride, padding, dilation: a number, or one a dim.
        padding_out: how much the result is longer at its end.
        groups: into how many groups the channels are divided.

    >>> from burn.tensor.module import ConvTransposeOptions
    >>> ConvTransposeOptions(stride=2, padding_out=1)
    ConvTransposeOptions(stride=2, padding=0, padding_out=1, dilation=1, groups=1)
    """

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
    """The settings of a deformable convolution.

    Arguments:
        stride, padding, dilation: a number, or one a dim.
        weight_groups, offset_groups: into how many groups of channels with weights, or offsets, of their own.

    >>> from burn.tensor.module import DeformConvOptions
    >>> DeformConvOptions(padding=1, offset_groups=2)
    DeformConvOptions(stride=1, padding=1, dilation=1, weight_groups=1, offset_groups=2)
    """

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
    """How patches lie on an image.

    Arguments:
        stride, padding, dilation: a number, or one a dim.

    >>> from burn.tensor.module import UnfoldOptions, unfold4d
    >>> unfold4d(Tensor.ones([1, 1, 4, 4]), [2, 2], UnfoldOptions(stride=2)).shape
    Shape([1, 4, 4])
    """

    stride: Size = 1
    padding: Size = 0
    dilation: Size = 1

    def __post_init__(self) -> None:
        _check(self, 1, "stride", "dilation")
        _check(self, 0, "padding")


class InterpolateMode(enum.Enum):
    """How a value between elements is made.

    >>> from burn.tensor.options import InterpolateMode
    >>> [each.value for each in InterpolateMode]
    ['nearest', 'nearest_exact', 'bilinear', 'bicubic', 'lanczos3']
    """

    Nearest = "nearest"
    NearestExact = "nearest_exact"
    Bilinear = "bilinear"
    Bicubic = "bicubic"
    Lanczos3 = "lanczos3"


@dataclass(frozen=True)
class InterpolateOptions:
    """The settings of `interpolate`.

    Arguments:
        mode: an `InterpolateMode`.
        align_corners: whether the centres of the corners stay in place.

    >>> from burn.tensor.module import InterpolateOptions, interpolate
    >>> from burn.tensor.options import InterpolateMode
    >>> options = InterpolateOptions(InterpolateMode.Bilinear).with_align_corners(True)
    >>> interpolate(burn.tensor([[[[1.0, 2.0]]]]), [1, 3], options).tolist()
    [[[[1.0, 1.5, 2.0]]]]
    """

    mode: InterpolateMode = InterpolateMode.Nearest
    align_corners: bool = True

    def with_align_corners(self, align_corners: bool) -> InterpolateOptions:
        """The same settings with another `align_corners`."""
        return dataclasses.replace(self, align_corners=align_corners)


class GridSamplePaddingMode(enum.Enum):
    """What lies beyond the ends of an image.

    >>> from burn.tensor.options import GridSamplePaddingMode
    >>> [each.value for each in GridSamplePaddingMode]
    ['zeros', 'border', 'reflection']
    """

    Zeros = "zeros"
    Border = "border"
    Reflection = "reflection"


@dataclass(frozen=True)
class GridSampleOptions:
    """The settings of `grid_sample_2d`.

    Arguments:
        mode: an `InterpolateMode`.
        padding_mode: a `GridSamplePaddingMode`.
        align_corners: whether -1 and 1 are the centres of the outermost pixels, not their outer edges.

    >>> from burn.tensor.options import GridSampleOptions, InterpolateMode
    >>> GridSampleOptions(InterpolateMode.Nearest).padding_mode
    <GridSamplePaddingMode.Zeros: 'zeros'>
    """

    mode: InterpolateMode = InterpolateMode.Bilinear
    padding_mode: GridSamplePaddingMode = GridSamplePaddingMode.Zeros
    align_corners: bool = False


@dataclass(frozen=True)
class AttentionModuleOptions:
    """The settings of `attention`.

    Arguments:
        scale: of the products; None means 1/sqrt(size).
        softcap: the number towards which the scores are bent: `softcap * tanh(score / softcap)`.
        is_causal: whether a query sees only the keys up to its own place.

    >>> from burn.tensor.module import AttentionModuleOptions, attention
    >>> x = burn.tensor([[[[1.0, 0.0], [0.0, 1.0]]]])
    >>> attention(x, x, x, options=AttentionModuleOptions(is_causal=True)).to_data()
    TensorData([[[[1.0, 0.0], [0.33023846, 0.66976154]]]], shape=[1, 1, 2, 2], dtype=f32)
    """

    scale: float | None = None
    softcap: float | None = None
    is_causal: bool = False
