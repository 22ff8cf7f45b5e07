"""Kernels of patches and interpolation."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional

from burn.backend.torch.precision import through_single
from burn.ops import dispatch
from burn.ops.interpolation import taps
from burn.ops.sampling import grid_sample

Sizes = tuple[int, ...]

_aten: Any = torch.ops.aten
_OWN: dict[tuple[str, int], str] = {
    ("nearest", 1): "nearest", ("nearest", 2): "nearest", ("nearest", 3): "nearest",
    ("nearest_exact", 1): "nearest-exact", ("nearest_exact", 2): "nearest-exact", ("nearest_exact", 3): "nearest-exact",
    ("bilinear", 1): "linear", ("bilinear", 2): "bilinear", ("bilinear", 3): "trilinear", ("bicubic", 2): "bicubic",
}  # fmt: skip
"""What torch has a kernel for: (mode, spatial dims) to torch's name."""
_OWN_BACKWARD: dict[tuple[str, int], Any] = {
    ("nearest", 1): _aten.upsample_nearest1d_backward,
    ("nearest", 2): _aten.upsample_nearest2d_backward,
    ("nearest", 3): _aten.upsample_nearest3d_backward,
    ("nearest_exact", 1): _aten._upsample_nearest_exact1d_backward,
    ("nearest_exact", 2): _aten._upsample_nearest_exact2d_backward,
    ("nearest_exact", 3): _aten._upsample_nearest_exact3d_backward,
    ("bilinear", 1): _aten.upsample_linear1d_backward,
    ("bilinear", 2): _aten.upsample_bilinear2d_backward,
    ("bilinear", 3): _aten.upsample_trilinear3d_backward,
    ("bicubic", 2): _aten.upsample_bicubic2d_backward,
}


_SAMPLED = {"linear": "bilinear", "nearest": "nearest", "cubic": "bicubic"}


def _taps(x: torch.Tensor, size: int, output: int, mode: str, align_corners: bool) -> list[tuple[Any, Any]]:
    index, weights = taps(size, output, mode, align_corners)
    places = torch.from_numpy(index).to(x.device)
    shares = torch.from_numpy(weights).to(x.device, x.dtype)
    return [(places[:, tap], shares[:, tap]) for tap in range(index.shape[1])]


@through_single
def _along_taps(x: torch.Tensor, output_size: Sizes, mode: str, align_corners: bool) -> torch.Tensor:
    for dim, output in enumerate(output_size, 2):
        shape = (output,) + (1,) * (x.dim() - dim - 1)
        parts = [
            x.index_select(dim, index) * weight.reshape(shape)
            for index, weight in _taps(x, x.shape[dim], output, mode, align_corners)
        ]
        x = torch.stack(parts).sum(0)
    return x


@through_single
def _onto_taps(gradient: torch.Tensor, x_spatial: Sizes, mode: str, align_corners: bool) -> torch.Tensor:
    for dim, size in enumerate(x_spatial, 2):
        shape = (-1,) + (1,) * (gradient.dim() - dim - 1)
        total = gradient.new_zeros((*gradient.shape[:dim], size, *gradient.shape[dim + 1 :]))
        for index, weight in _taps(gradient, size, gradient.shape[dim], mode, align_corners):
            total.index_add_(dim, index, gradient * weight.reshape(shape))
        gradient = total
    return gradient


@through_single
def _sampled(x: torch.Tensor, grid: torch.Tensor, mode: str, padding: str, align_corners: bool) -> torch.Tensor:
    return functional.grid_sample(x, grid, mode, padding, align_corners)


class Spatial:
    """Torch's own kernels where it has them, sums along taps elsewhere."""

    grid_sample_2d = staticmethod(_sampled)

    def grid_sample(
        self, x: torch.Tensor, grid: torch.Tensor, mode: str, padding: str, align_corners: bool
    ) -> torch.Tensor:
        if x.dim() == 3 or (mode == "cubic" and x.dim() == 5):
            own: torch.Tensor = dispatch.body_kernel(grid_sample.op, self)(  # type: ignore[attr-defined, arg-type]
                x, grid, mode, padding, align_corners
            )
            return own
        return _sampled(x, grid, _SAMPLED[mode], padding, align_corners)

    @staticmethod
    def unfold4d(x: torch.Tensor, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> torch.Tensor:
        return functional.unfold(x, kernel, dilation, padding, stride)

    @staticmethod
    def fold4d(
        x: torch.Tensor, output: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
    ) -> torch.Tensor:
        return functional.fold(x, output, kernel, dilation, padding, stride)

    @staticmethod
    def interpolate(x: torch.Tensor, output_size: Sizes, mode: str, align_corners: bool) -> torch.Tensor:
        own = _OWN.get((mode, len(output_size)))
        if own is None or x.shape[0] == 0:
            return _along_taps(x, output_size, mode, align_corners)
        aligned = None if own.startswith("nearest") else align_corners
        return functional.interpolate(x, output_size, mode=own, align_corners=aligned)

    @staticmethod
    def interpolate_backward(gradient: torch.Tensor, x_spatial: Sizes, mode: str, align_corners: bool) -> torch.Tensor:
        rank = len(x_spatial)
        own = _OWN_BACKWARD.get((mode, rank))
        if own is None or gradient.shape[0] == 0:
            return _onto_taps(gradient, x_spatial, mode, align_corners)
        output, shape = gradient.shape[2:], (*gradient.shape[:2], *x_spatial)
        scales = (None,) * rank
        if mode.startswith("nearest"):
            return own(gradient, output, shape, *scales)  # type: ignore[no-any-return]
        return own(gradient, output, shape, align_corners, *scales)  # type: ignore[no-any-return]
