"""Movement kernels."""

from __future__ import annotations

import numpy as np

from burn.ops import joining, movement


class Movement:
    """Kernels of the rows in `burn.ops.movement` and `burn.ops.joining`."""

    reshape = staticmethod(np.reshape)
    expand = staticmethod(np.broadcast_to)
    permute = staticmethod(np.transpose)
    flip = staticmethod(np.flip)
    unfold = staticmethod(movement.unfold.op.reference)  # type: ignore[attr-defined]
    cat = staticmethod(joining.cat.op.reference)  # type: ignore[attr-defined]
