"""Choice by measurement: which of several kernels does a step, found out on the machine that runs it.

A lowering that could write a step in several ways asks; what it gets is what was measured before, here or in an
earlier process on the same kind of processor, or its own default:

    how = pick("winograd", (1, 56, 56, 64, 64), candidates=("plain", "2x2", "4x4"), default="4x4")

Measuring is a matter of its own: `burn.tune(function, *arguments)`, or `BURN_TUNE=on` for every plan that is made. A
plan is made once for each candidate and whole plans run by turns, so that a candidate finds the caches as it will find
them later: full of what the other steps left there. Which step of a plan differs is known, and its time decides.

    BURN_TUNE=off           defaults alone: the same plan on every machine
    BURN_TUNE=remembered    what was measured before, and defaults (this is what happens anyway)
    BURN_TUNE=on            what is not known yet is measured when a plan is made

Candidates give the same results within the accuracy that the device was told: a lowering offers no others.
"""

from burn.backend.cpu.tuning.known import answers, asking_here
from burn.backend.cpu.tuning.measuring import Progress, measure
from burn.engine.tuning import OFF, ON, REMEMBERED, Asked, Question, Report, Row, listening, mode, tell, using

__all__ = [
    "OFF", "ON", "REMEMBERED", "Asked", "Progress", "Question", "Report", "Row", "answers", "asking_here", "listening",
    "measure", "mode", "tell", "using",
]  # fmt: skip
