"""`burn.tune`: which kernels are fastest for a function, found out on this machine and remembered.

    print(burn.tune(forward, model, images))

Answers hold for every plan in which the same question comes up, in this process and in later ones on the same kind of
processor (see `burn.backend.cpu.tuning`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from burn.capture.arrays import as_tensors
from burn.capture.call import Call
from burn.capture.compiled import Compiled
from burn.capture.leaves import fused_device
from burn.capture.recording import Capture
from burn.device import current_device
from burn.errors import ArgumentError

if TYPE_CHECKING:
    from burn.engine.tuning import Report

MOST_CALLS = 3


def tune(function: Callable[..., Any], *args: Any, again: bool = False, progress: Any = None, **kwargs: Any) -> Report:
    """Measure the kernels that a call of `function` could run on; gives a table of what was found.

    The function is called up to three times, unless it is under `burn.compile` and was captured for such arguments.

    Arguments:
        args, kwargs: those of the call; NumPy arrays stand for tensors, as in `.numpy(...)`.
        again: measure what is known already, too.
        progress: called with how many questions are done, of how many, and the next, in the place of a bar.

    >>> x = Tensor.ones([64, 64], burn.Cpu())
    >>> report = burn.tune(lambda x: x @ x, x)
    """
    reasons: list[str] = []
    compiled = function if isinstance(function, Compiled) else Compiled(function, (), 0, reasons.append)
    device = fused_device(Call(compiled.surroundings, args, kwargs).leaves) or current_device()
    args, kwargs = as_tensors(args, device), as_tensors(kwargs, device)
    plan = _captured(compiled, args, kwargs, reasons).plan
    found: Report | None = plan.tune(again, progress)
    if found is None:
        raise ArgumentError(f"tune: there is nothing to choose on {device!r}; give tensors that live on Cpu()")
    return found


def _captured(compiled: Compiled[..., Any], args: Any, kwargs: Any, reasons: list[str]) -> Capture:
    """The capture of a call, made by calling where there is none."""
    for _ in range(MOST_CALLS):
        capture = compiled.captured(Call(compiled.surroundings, args, kwargs))
        if capture is not None:
            return capture
        if compiled.donate:
            raise ArgumentError(
                f"tune: {compiled!r} takes some of its arguments and was not captured for such ones yet; call it "
                "twice first, then tune it with the arguments of the next call"
            )
        compiled(*args, **kwargs)
    why = "; ".join(reasons or compiled.plain.values()) or "its calls differ from each other"
    raise ArgumentError(f"tune: {compiled!r} runs without capture: {why}")
