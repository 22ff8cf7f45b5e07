"""Capture: a function of tensors recorded once and replayed as one plan.

    step = burn.compile(train_step)
    model, state, loss = step(model, state, batch, 1e-3)

The first two calls with new shapes run as usual while they are recorded. If both recordings are the
same, later calls replay the plan and Python pays per call, not per operation. Tensors in the arguments (and those
named in the function's closure and globals) are inputs; floats that change are run-time numbers; everything else
is part of the key. Mutable objects (state cells, optimizers) reached through either keep their identity: what the
function puts into them, and names that it binds anew, are results that a replay commits once its plan has
succeeded.

The promise: a captured call gives what a plain call gives. A recording is watched (`watching`): what the Python code
that really runs reads is looked at (`looks`) and guards every replay by value (`guards`); a function that prints,
draws, waits, or changes what is around it runs as usual, with one warning that names the line and the reason.
`docs/performance.md` tells the limits.
"""

from burn.capture.compiled import CaptureWarning, Compiled, compile
from burn.capture.tuning import tune
from burn.scalar import Scalar

__all__ = ["CaptureWarning", "Compiled", "Scalar", "compile", "tune"]
