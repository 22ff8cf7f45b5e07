"""Grids of coordinates: `meshgrid([x, y], GridIndexing.Matrix)`."""

from burn.ops.grid import GridIndexing, GridOptions, GridSparsity, IndexPos, meshgrid, meshgrid_stack
from burn.ops.sampling import affine_grid
from burn.ops.spatial import affine_grid_2d

__all__ = [
    "GridIndexing", "GridOptions", "GridSparsity", "IndexPos", "affine_grid", "affine_grid_2d", "meshgrid",
    "meshgrid_stack",
]  # fmt: skip
