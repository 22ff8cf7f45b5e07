"""Products of matrices as kernels.

`tile` writes the innermost loop, `form` says what a product is, `choice` how it is computed, `blocked` writes the
kernel around the tile, `packing` brings weights into the order it reads, and `lowering` makes steps of it all.
"""

from __future__ import annotations

from burn.backend.cpu.lower.products.lowering import fits, lower_product
from burn.backend.cpu.lower.products.tile import Tile, lanes_of, write_tile

__all__ = ["Tile", "fits", "lanes_of", "lower_product", "write_tile"]
