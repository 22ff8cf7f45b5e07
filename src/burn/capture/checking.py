"""Checking a replay against a plain call: `burn.compile(f, check=n)`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from burn.capture.call import After, Call
from burn.capture.leaves import detached, lazy_handle
from burn.capture.recording import Capture
from burn.tensor import Tensor


def expected(capture: Capture, call: Call, function: Callable[..., Any]) -> After:
    """What a plain call leaves behind; everything it changed is put back afterwards."""
    generator = capture.device.generator()
    state = generator.state()
    try:
        args, kwargs = call.arguments(call.leaves)
        after = After(call, call.leaves, args, kwargs, detached(function(*args, **kwargs)))
        for leaf in after.leaves:
            if isinstance(leaf, Tensor):
                lazy_handle(leaf).force()
    finally:
        call.restore()
        generator.restore(state)
    return after


def compare(after: After, plain: After, function: Any) -> None:
    """Raise unless a replay left behind what a plain call did."""
    name = getattr(function, "__qualname__", function)
    because = "its Python part depends on something that is neither argument, closure nor global"
    if [part.structure for part in after.parts] != [part.structure for part in plain.parts]:
        raise AssertionError(f"compile: replaying {name} changed other things than a plain call: {because}")
    for position, (one, other) in enumerate(zip(after.leaves, plain.leaves, strict=True)):
        left, right = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
        if left.shape != right.shape or not np.allclose(left, right, rtol=1e-4, atol=1e-5, equal_nan=True):
            raise AssertionError(
                f"compile: replaying {name} gave another result {position} than a plain call: {because}"
            )
