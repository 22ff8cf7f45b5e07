"""Capture: a function of tensors recorded once and replayed as one plan.

    step = burn.compile(train_step)
    model, state, loss = step(model, state, batch, 1e-3)

The first two calls with new shapes run as usual while they are recorded. If both recordings are the
same, later calls replay the plan and Python pays per call, not per operation. Tensors and floats in the
arguments (and tensors named in the function's closure and globals) are inputs; everything else is part
of the key. Mutable objects (state cells, optimizers) reached through either keep their identity: what the
function puts into them, and names that it binds anew, are results that a replay commits once its plan has
succeeded. What cannot be captured runs as usual, with one warning that names the line and the reason.

The promise: a captured call gives what a plain call gives, if the function's Python part depends on
nothing but the above. `print` and values read inside helper functions are seen only while recording.
"""

from burn.capture.compiled import CaptureWarning, Compiled, compile
from burn.capture.tuning import tune
from burn.scalar import Scalar

__all__ = ["CaptureWarning", "Compiled", "Scalar", "compile", "tune"]
