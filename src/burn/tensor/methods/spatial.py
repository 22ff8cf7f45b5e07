"""Sampling between pixels under Burn's name, resizing, and blocks of pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.ops import blocks, sampling, spatial
from burn.ops import resize as resizing

if TYPE_CHECKING:
    from burn.ops.declare import B
    from burn.tensor.options import GridSampleOptions
    from burn.tensor.tensor import Tensor


class SpatialMethods:
    """What an image can be asked for."""

    __slots__ = ()

    resize = resizing.resize
    grid_sample = sampling.grid_sample
    depth_to_space = blocks.depth_to_space
    space_to_depth = blocks.space_to_depth

    def grid_sample_2d(self: Tensor[B], grid: Tensor[Any], options: GridSampleOptions | None = None) -> Tensor[B]:  # type: ignore[misc]
        """Read an image at the places `grid` (batch, rows, columns, 2) names, each a pair (x, y) in -1..1.

        Arguments:
            options: mode, padding and alignment, as `GridSampleOptions`.

        >>> x = burn.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
        >>> x.grid_sample_2d(burn.tensor([[[[0.0, 0.0], [-0.5, 0.5]]]])).tolist()
        [[[[2.5, 3.0]]]]
        """
        if options is None:
            return spatial.grid_sample_2d(self, grid)
        return spatial.grid_sample_2d(self, grid, options.mode, options.padding_mode, options.align_corners)
