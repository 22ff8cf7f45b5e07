"""Average pools: the mean of each window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from burn.config import Config, Pair, Triple
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from burn.nn.pool.windows import check, means, side_by_side
from burn.tensor import Tensor


class AvgPool1dConfig(Config):
    """Settings of `AvgPool1d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a window.
        stride: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig1d` or numbers; none.
        count_include_pad: whether padding counts in the means; True.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.AvgPool1dConfig(2).init()
    AvgPool1d {kernel_size: 2, stride: 2, padding: Valid, count_include_pad: true, ceil_mode: false}
    """

    _positions: ClassVar = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
    kernel_size: int
    stride: int | None = None
    padding: PaddingConfig1d = PaddingConfig1d.Valid
    count_include_pad: bool = True
    ceil_mode: bool = False

    def __validate__(self) -> tuple[str, ...]:
        return side_by_side(self, "stride")

    def init(self, device: Device | None = None) -> AvgPool1d:
        """The module; it has no parameters."""
        assert self.stride is not None
        check(self, (self.kernel_size,), self.stride, 1, "stride")
        return AvgPool1d._from_fields(
            self.stride, self.kernel_size, self.padding, self.count_include_pad, self.ceil_mode
        )


class AvgPool1d(Module, config=AvgPool1dConfig):
    """Takes the mean of each window of (batch, channels, length).

    `torch.nn.AvgPool1d`. To (batch, channels, windows).

    Arguments:
        kernel_size: the size of a window.
        stride: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig1d` or numbers; none.
        count_include_pad: whether padding counts in the means; True.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.AvgPool1d(2)(Tensor.ones([1, 2, 8])).shape
    Shape([1, 2, 4])
    """

    stride: int
    kernel_size: int
    padding: PaddingConfig1d
    count_include_pad: bool
    ceil_mode: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: int,
            stride: int | None = None,
            padding: PaddingConfig1d | str | int | Sequence[int] = ...,
            *,
            count_include_pad: bool = True,
            ceil_mode: bool = False,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, length) to (batch, channels, windows)."""
        kernel, stride = (self.kernel_size,), (self.stride,)
        return means("avg_pool1d", x, self.padding.pairs, kernel, stride, self.count_include_pad, self.ceil_mode)

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


class AvgPool2dConfig(Config):
    """Settings of `AvgPool2d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig2d` or numbers; none.
        count_include_pad: whether padding counts in the means; True.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.AvgPool2dConfig([2, 2]).init()
    AvgPool2d {kernel_size: [2, 2], stride: [2, 2], padding: Valid, count_include_pad: true, ceil_mode: false}
    """

    _positions: ClassVar = ("kernel_size", "strides", "padding", "ceil_mode", "count_include_pad")
    kernel_size: Pair[int]
    strides: Pair[int] | None = None
    padding: PaddingConfig2d = PaddingConfig2d.Valid
    count_include_pad: bool = True
    ceil_mode: bool = False

    def __validate__(self) -> tuple[str, ...]:
        return side_by_side(self, "strides")

    def init(self, device: Device | None = None) -> AvgPool2d:
        """The module; it has no parameters."""
        assert self.strides is not None
        check(self, self.kernel_size, self.strides, 1, "strides")
        return AvgPool2d._from_fields(
            self.strides, self.kernel_size, self.padding, self.count_include_pad, self.ceil_mode
        )


class AvgPool2d(Module, config=AvgPool2dConfig):
    """Takes the mean of each window of (batch, channels, height, width).

    `torch.nn.AvgPool2d`. To (batch, channels, rows, columns).

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig2d` or numbers; none.
        count_include_pad: whether padding counts in the means; True.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.AvgPool2d(2)(Tensor.ones([1, 2, 8, 8])).shape
    Shape([1, 2, 4, 4])
    """

    stride: Pair[int]
    kernel_size: Pair[int]
    padding: PaddingConfig2d
    count_include_pad: bool
    ceil_mode: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: Pair[int] | int,
            strides: Pair[int] | int | None = None,
            padding: PaddingConfig2d | str | int | Sequence[int] = ...,
            *,
            count_include_pad: bool = True,
            ceil_mode: bool = False,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height, width) to (batch, channels, rows, columns)."""
        return means(
            "avg_pool2d", x, self.padding.pairs, self.kernel_size, self.stride, self.count_include_pad, self.ceil_mode
        )

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


class AvgPool3dConfig(Config):
    """Settings of `AvgPool3d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig3d` or numbers; none.
        count_include_pad: whether padding counts in the means; True.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.AvgPool3dConfig([2, 2, 2]).init()
    AvgPool3d {kernel_size: [2, 2, 2], stride: [2, 2, 2], padding: Valid, count_include_pad: true, ceil_mode: false}
    """

    _positions: ClassVar = ("kernel_size", "strides", "padding", "ceil_mode", "count_include_pad")
    kernel_size: Triple[int]
    strides: Triple[int] | None = None
    padding: PaddingConfig3d = PaddingConfig3d.Valid
    count_include_pad: bool = True
    ceil_mode: bool = False

    def __validate__(self) -> tuple[str, ...]:
        return side_by_side(self, "strides")

    def init(self, device: Device | None = None) -> AvgPool3d:
        """The module; it has no parameters."""
        assert self.strides is not None
        check(self, self.kernel_size, self.strides, 1, "strides")
        return AvgPool3d._from_fields(
            self.strides, self.kernel_size, self.padding, self.count_include_pad, self.ceil_mode
        )


class AvgPool3d(Module, config=AvgPool3dConfig):
    """Takes the mean of each window of (batch, channels, depth, height, width).

    `torch.nn.AvgPool3d`. To (batch, channels, layers, rows, columns).

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig3d` or numbers; none.
        count_include_pad: whether padding counts in the means; True.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.AvgPool3d(2)(Tensor.ones([1, 2, 4, 4, 4])).shape
    Shape([1, 2, 2, 2, 2])
    """

    stride: Triple[int]
    kernel_size: Triple[int]
    padding: PaddingConfig3d
    count_include_pad: bool
    ceil_mode: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: Triple[int] | int,
            strides: Triple[int] | int | None = None,
            padding: PaddingConfig3d | str | int | Sequence[int] = ...,
            *,
            count_include_pad: bool = True,
            ceil_mode: bool = False,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, depth, height, width) to (batch, channels, layers, rows, columns)."""
        return means(
            "avg_pool3d", x, self.padding.pairs, self.kernel_size, self.stride, self.count_include_pad, self.ceil_mode
        )

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


def _content(pool: AvgPool1d | AvgPool2d | AvgPool3d, content: Content) -> Content:
    content.add("kernel_size", pool.kernel_size).add("stride", pool.stride).add("padding", pool.padding.spelled())
    return content.add("count_include_pad", pool.count_include_pad).add("ceil_mode", pool.ceil_mode)
