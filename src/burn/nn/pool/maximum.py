"""Max pools: the largest element of each window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from burn.config import Config, Pair, Triple
from burn.device import Device
from burn.module import Module
from burn.module.display import Content
from burn.nn.padding import PaddingConfig1d, PaddingConfig2d, PaddingConfig3d
from burn.nn.pool.windows import check, maxima, side_by_side
from burn.tensor import Tensor


class MaxPool1dConfig(Config):
    """Settings of `MaxPool1d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a window.
        stride: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig1d` or numbers; none.
        dilation: from one element of a window to the next; 1.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.MaxPool1dConfig(2).init()
    MaxPool1d {kernel_size: 2, stride: 2, padding: Valid, dilation: 1, ceil_mode: false}
    """

    kernel_size: int
    stride: int | None = None
    padding: PaddingConfig1d = PaddingConfig1d.Valid
    dilation: int = 1
    ceil_mode: bool = False

    def __validate__(self) -> tuple[str, ...]:
        return side_by_side(self, "stride")

    def init(self, device: Device | None = None) -> MaxPool1d:
        """The module; it has no parameters."""
        assert self.stride is not None
        check(self, (self.kernel_size,), self.stride, self.dilation, "stride")
        return MaxPool1d._from_fields(self.stride, self.kernel_size, self.padding, self.dilation, self.ceil_mode)


class MaxPool1d(Module, config=MaxPool1dConfig):
    """Takes the largest element of each window of (batch, channels, length).

    `torch.nn.MaxPool1d`. To (batch, channels, windows).

    Arguments:
        kernel_size: the size of a window.
        stride: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig1d` or numbers; none.
        dilation: from one element of a window to the next; 1.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.MaxPool1d(2)(Tensor.ones([1, 2, 8])).shape
    Shape([1, 2, 4])
    """

    stride: int
    kernel_size: int
    padding: PaddingConfig1d
    dilation: int
    ceil_mode: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: int,
            stride: int | None = None,
            padding: PaddingConfig1d | str | int | Sequence[int] = ...,
            dilation: int = 1,
            ceil_mode: bool = False,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, length) to (batch, channels, windows)."""
        return maxima(
            "max_pool1d", x, self.padding.pairs, (self.kernel_size,), (self.stride,), (self.dilation,), self.ceil_mode
        )

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


class MaxPool2dConfig(Config):
    """Settings of `MaxPool2d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig2d` or numbers; none.
        dilation: from one element of a window to the next; 1.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.MaxPool2dConfig([2, 2]).init()
    MaxPool2d {kernel_size: [2, 2], stride: [2, 2], padding: Valid, dilation: [1, 1], ceil_mode: false}
    """

    kernel_size: Pair[int]
    strides: Pair[int] | None = None
    padding: PaddingConfig2d = PaddingConfig2d.Valid
    dilation: Pair[int] = (1, 1)
    ceil_mode: bool = False

    def __validate__(self) -> tuple[str, ...]:
        return side_by_side(self, "strides")

    def init(self, device: Device | None = None) -> MaxPool2d:
        """The module; it has no parameters."""
        assert self.strides is not None
        check(self, self.kernel_size, self.strides, self.dilation, "strides")
        return MaxPool2d._from_fields(self.strides, self.kernel_size, self.padding, self.dilation, self.ceil_mode)


class MaxPool2d(Module, config=MaxPool2dConfig):
    """Takes the largest element of each window of (batch, channels, height, width).

    `torch.nn.MaxPool2d`. To (batch, channels, rows, columns).

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig2d` or numbers; none.
        dilation: from one element of a window to the next; 1.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.MaxPool2d(2)(Tensor.ones([1, 2, 8, 8])).shape
    Shape([1, 2, 4, 4])
    """

    stride: Pair[int]
    kernel_size: Pair[int]
    padding: PaddingConfig2d
    dilation: Pair[int]
    ceil_mode: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: Pair[int] | int,
            strides: Pair[int] | int | None = None,
            padding: PaddingConfig2d | str | int | Sequence[int] = ...,
            dilation: Pair[int] | int = ...,
            ceil_mode: bool = False,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height, width) to (batch, channels, rows, columns)."""
        return maxima("max_pool2d", x, self.padding.pairs, self.kernel_size, self.stride, self.dilation, self.ceil_mode)

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


class MaxPool3dConfig(Config):
    """Settings of `MaxPool3d`; `init(device=None)` makes it.

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig3d` or numbers; none.
        dilation: from one element of a window to the next; 1.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.MaxPool3dConfig([2, 2, 2]).init()
    MaxPool3d {kernel_size: [2, 2, 2], stride: [2, 2, 2], padding: Valid, dilation: [1, 1, 1], ceil_mode: false}
    """

    kernel_size: Triple[int]
    strides: Triple[int] | None = None
    padding: PaddingConfig3d = PaddingConfig3d.Valid
    dilation: Triple[int] = (1, 1, 1)
    ceil_mode: bool = False

    def __validate__(self) -> tuple[str, ...]:
        return side_by_side(self, "strides")

    def init(self, device: Device | None = None) -> MaxPool3d:
        """The module; it has no parameters."""
        assert self.strides is not None
        check(self, self.kernel_size, self.strides, self.dilation, "strides")
        return MaxPool3d._from_fields(self.strides, self.kernel_size, self.padding, self.dilation, self.ceil_mode)


class MaxPool3d(Module, config=MaxPool3dConfig):
    """Takes the largest element of each window of (batch, channels, depth, height, width).

    `torch.nn.MaxPool3d`. To (batch, channels, layers, rows, columns).

    Arguments:
        kernel_size: the size of a window.
        strides: from one window to the next; side by side, if nothing is said.
        padding: around the input: `PaddingConfig3d` or numbers; none.
        dilation: from one element of a window to the next; 1.
        ceil_mode: whether a window may begin inside and end outside; False.

    >>> nn.MaxPool3d(2)(Tensor.ones([1, 2, 4, 4, 4])).shape
    Shape([1, 2, 2, 2, 2])
    """

    stride: Triple[int]
    kernel_size: Triple[int]
    padding: PaddingConfig3d
    dilation: Triple[int]
    ceil_mode: bool = False

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(
            self,
            kernel_size: Triple[int] | int,
            strides: Triple[int] | int | None = None,
            padding: PaddingConfig3d | str | int | Sequence[int] = ...,
            dilation: Triple[int] | int = ...,
            ceil_mode: bool = False,
            *,
            device: Device | None = None,
        ) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, depth, height, width) to (batch, channels, layers, rows, columns)."""
        return maxima("max_pool3d", x, self.padding.pairs, self.kernel_size, self.stride, self.dilation, self.ceil_mode)

    def custom_content(self, content: Content) -> Content:
        """The settings."""
        return _content(self, content)


def _content(pool: MaxPool1d | MaxPool2d | MaxPool3d, content: Content) -> Content:
    content.add("kernel_size", pool.kernel_size).add("stride", pool.stride).add("padding", pool.padding.spelled())
    return content.add("dilation", pool.dilation).add("ceil_mode", pool.ceil_mode)
