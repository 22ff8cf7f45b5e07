"""Convolutions with windows of 3 by 3 in fewer multiplications: Winograd's F(2x2, 3x3) and F(4x4, 3x3).

A tile of two by two pixels is made from a patch of four by four. Both the patches and the windows of the weight go
through a linear map; there, sixteen products of matrices (tiles by channels) take the place of the convolution, with
16 multiplications where 36 were, and another map leads back. Tiles of four by four take 36 where 144 were. Infinity
is different: a patch that has one gives NaN to all pixels of its tile.
"""

from burn.backend.cpu.lower.winograd.choice import fits, planned
from burn.backend.cpu.lower.winograd.kernel import Winograd

__all__ = ["Winograd", "fits", "planned"]
