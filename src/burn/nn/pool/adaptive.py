"""Adaptive average pools: as many windows as asked for, whatever the size of the input.

Window `i` of `count` over `size` elements goes from `floor(i * size / count)` to
`ceil((i + 1) * size / count)`, so neighbours may share an element.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from burn.config import Config, Pair, Triple
from burn.device import Device
from burn.module import Module
from burn.nn.checks import refuse, too_small
from burn.tensor import Tensor
from burn.tensor.module import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d


class AdaptiveAvgPool1dConfig(Config):
    """Settings of `AdaptiveAvgPool1d`; `init(device=None)` makes it.

    Arguments:
        output_size: the number of windows.

    >>> nn.AdaptiveAvgPool1dConfig(2).init()
    AdaptiveAvgPool1d {output_size: 2}
    """

    output_size: int

    def init(self, device: Device | None = None) -> AdaptiveAvgPool1d:
        """The module; it has no parameters."""
        refuse(self, too_small(1, output_size=self.output_size))
        return AdaptiveAvgPool1d._from_fields(self.output_size)


class AdaptiveAvgPool1d(Module, config=AdaptiveAvgPool1dConfig):
    """Takes the means of `output_size` windows of (batch, channels, length).

    `torch.nn.AdaptiveAvgPool1d`. (batch, channels, length) to (batch, channels, output_size).

    Arguments:
        output_size: the number of windows.

    >>> nn.AdaptiveAvgPool1d(2)(Tensor.ones([1, 2, 8])).shape
    Shape([1, 2, 2])
    """

    output_size: int

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, output_size: int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, length) to (batch, channels, output_size)."""
        return adaptive_avg_pool1d(x, self.output_size)


class AdaptiveAvgPool2dConfig(Config):
    """Settings of `AdaptiveAvgPool2d`; `init(device=None)` makes it.

    Arguments:
        output_size: the number of windows in each dim.

    >>> nn.AdaptiveAvgPool2dConfig([2, 2]).init()
    AdaptiveAvgPool2d {output_size: [2, 2]}
    """

    output_size: Pair[int]

    def init(self, device: Device | None = None) -> AdaptiveAvgPool2d:
        """The module; it has no parameters."""
        refuse(self, too_small(1, output_size=self.output_size))
        return AdaptiveAvgPool2d._from_fields(self.output_size)


class AdaptiveAvgPool2d(Module, config=AdaptiveAvgPool2dConfig):
    """Takes the means of `output_size` windows of (batch, channels, height, width).

    `torch.nn.AdaptiveAvgPool2d`. (batch, channels, height, width) to (batch, channels, *output_size).

    Arguments:
        output_size: the number of windows in each dim.

    >>> nn.AdaptiveAvgPool2d(2)(Tensor.ones([1, 2, 8, 8])).shape
    Shape([1, 2, 2, 2])
    """

    output_size: Pair[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, output_size: Pair[int] | int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, height, width) to (batch, channels, *output_size)."""
        return adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool3dConfig(Config):
    """Settings of `AdaptiveAvgPool3d`; `init(device=None)` makes it.

    Arguments:
        output_size: the number of windows in each dim.

    >>> nn.AdaptiveAvgPool3dConfig([2, 2, 2]).init()
    AdaptiveAvgPool3d {output_size: [2, 2, 2]}
    """

    output_size: Triple[int]

    def init(self, device: Device | None = None) -> AdaptiveAvgPool3d:
        """The module; it has no parameters."""
        refuse(self, too_small(1, output_size=self.output_size))
        return AdaptiveAvgPool3d._from_fields(self.output_size)


class AdaptiveAvgPool3d(Module, config=AdaptiveAvgPool3dConfig):
    """Takes the means of `output_size` windows of (batch, channels, depth, height, width).

    `torch.nn.AdaptiveAvgPool3d`. (batch, channels, depth, height, width) to (batch, channels, *output_size).

    Arguments:
        output_size: the number of windows in each dim.

    >>> nn.AdaptiveAvgPool3d(2)(Tensor.ones([1, 2, 4, 4, 4])).shape
    Shape([1, 2, 2, 2, 2])
    """

    output_size: Triple[int]

    if TYPE_CHECKING:  # written by tools/typed_constructors.py

        def __init__(self, output_size: Triple[int] | int, *, device: Device | None = None) -> None: ...

    def forward(self, x: Tensor) -> Tensor:
        """(batch, channels, depth, height, width) to (batch, channels, *output_size)."""
        return adaptive_avg_pool3d(x, self.output_size)
