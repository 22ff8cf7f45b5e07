"""The shortest way to run an instance once more: a function written for it, without a loop over inputs and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from burn.backend.cpu.runner import StepArray
from burn.engine.runtime import Launch

if TYPE_CHECKING:
    from burn.backend.cpu.instance import Instance

MOST_ARRAYS = 64
"""Inputs that change and results that are made: more of them are not worth a function of their own."""


def launch_of(run: Instance, changing: list[int], offset: int) -> Launch | None:
    """What does the last run again with other arrays for the inputs that are `changing`; None where nothing can.

    Array objects have their address at `offset`.
    """
    picks, segments, allocations = run.picks, run.segments, run.allocations
    if not run.steady or run.checks or run.hosted or picks is None or len(changing) + len(allocations) > MOST_ARRAYS:
        return None
    if any(owner is not None for *_, owner in allocations):
        return None
    arrays = [each for each in segments if isinstance(each, StepArray)]
    native, address = (arrays[0].alone() if len(arrays) == 1 else None) or (None, 0)
    known: dict[str, Any] = {"run": run, "segments": segments, "places": run.places, "empty": np.empty}
    known |= {"allocate": run.plan.device.allocate, "native": native, "steps": arrays}
    conditions = ["not run.steady", "run.segments is not segments"]
    if native is None or run.plan.asked.answers:
        conditions.append("not run.is_current()")
    lines = ["def launch(values):", f"    if {' or '.join(conditions)}:", "        return None"]
    lines += [f"    places[{number}] = id(values[{index}]) + {offset}" for index, number in enumerate(changing)]
    for index, (number, shape, kind, large, dtype, _) in enumerate(allocations):
        known |= {f"kind{index}": kind, f"dtype{index}": dtype}
        made = f"allocate({shape}, dtype{index})" if large else f"empty({shape}, kind{index})"
        lines += [f"    made{index} = {made}", f"    places[{number}] = id(made{index}) + {offset}"]
    work = "for each in steps: each.run()" if native is None else f"native({address})"
    lines += ["    try:", f"        {work}", "    except BaseException:", "        run.forget()", "        raise"]
    lines.append(f"    return [{', '.join(f'made{pick}' for pick in picks)}]")
    exec(compile("\n".join(lines), __file__, "exec"), known)
    launch: Launch = known.pop("launch")  # or the two would hold each other
    return launch
