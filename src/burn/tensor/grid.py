"""Grids of coordinates: `meshgrid([x, y], GridIndexing.Matrix)`."""

from burn.ops.grid import GridIndexing, GridOptions, GridSparsity, IndexPos, meshgrid, meshgrid_stack

__all__ = ["GridIndexing", "GridOptions", "GridSparsity", "IndexPos", "meshgrid", "meshgrid_stack"]
