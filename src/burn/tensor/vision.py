"""Images: resized, read between pixels, cut into boxes and blocks."""

from burn.ops.blocks import depth_to_space, fold, space_to_depth
from burn.ops.padding import center_crop_pad, pad_or_crop
from burn.ops.regions import non_max_suppression, roi_align, roi_max_pool
from burn.ops.resize import resize
from burn.ops.sampling import affine_grid, grid_sample

__all__ = [
    "affine_grid", "center_crop_pad", "depth_to_space", "fold", "grid_sample", "non_max_suppression", "pad_or_crop",
    "resize", "roi_align", "roi_max_pool", "space_to_depth",
]  # fmt: skip
