"""What a `Cpu` device lets its plans do for speed: how exact results are, and how much memory weights may take.

    exact = Cpu(accuracy="exact")
    small = Cpu(mapped_weights=16 << 20)

Settings belong to the device, so a plan made under one setting never runs for another.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from burn.errors import ArgumentError

FAST, EXACT = "fast", "exact"
ACCURACIES = (FAST, EXACT)

VARIABLE = "BURN_ACCURACY"
"""The accuracy of devices that are not told one."""

SANITIZE = "BURN_SANITIZE"
"""Whether devices that are not told run checked kernels: `1`, or `0` as if it were not there."""

MOST_MAPPED = 512 << 20
"""Bytes of weights mapped for Winograd's convolutions that one plan holds beside the weights themselves."""


@dataclass(frozen=True)
class Settings:
    """`fast` may cost up to 1e-5 of the largest result in a convolution; `exact` is as good as the plain computation.

    `mapped_weights` are bytes; convolutions whose weights find no room run on kernels that need none.
    `sanitize` runs checked kernels (see `burn.backend.cpu.sanitizer`).
    """

    accuracy: str = FAST
    mapped_weights: int = MOST_MAPPED
    sanitize: bool = False

    def arguments(self) -> list[str]:
        """What differs from the usual, as one would write it."""
        given = []
        if self.accuracy != FAST:
            given.append(f"accuracy={self.accuracy!r}")
        if self.mapped_weights != MOST_MAPPED:
            given.append(f"mapped_weights={self.mapped_weights}")
        if self.sanitize:
            given.append("sanitize=True")
        return given


def settings(accuracy: Any = None, mapped_weights: Any = None, sanitize: Any = None) -> Settings:
    """Settings from what a user wrote; the environment and the usual values stand in for what is None."""
    faults = []
    chosen = os.environ.get(VARIABLE) or FAST if accuracy is None else accuracy
    if chosen not in ACCURACIES:
        write = f"{VARIABLE}={EXACT}" if accuracy is None else f"Cpu(accuracy={EXACT!r})"
        where = VARIABLE if accuracy is None else "accuracy"
        faults.append(f"{where} is {chosen!r}; write {write} or leave it out for {FAST!r}")
    most = MOST_MAPPED if mapped_weights is None else mapped_weights
    if not isinstance(most, int) or isinstance(most, bool) or most < 0:
        faults.append(f"mapped_weights is {most!r}; write bytes, at least 0, such as mapped_weights={MOST_MAPPED}")
    checked = _switch(os.environ.get(SANITIZE, "")) if sanitize is None else sanitize
    if not isinstance(checked, bool):
        where, write = (SANITIZE, f"{SANITIZE}=1") if sanitize is None else ("sanitize", "sanitize=True")
        faults.append(f"{where} is {checked!r}; write {write} or leave it out")
    if faults:
        raise ArgumentError(f"Cpu: {'; '.join(faults)}")
    return Settings(chosen, most, checked)


def _switch(given: str) -> Any:
    return {"": False, "0": False, "1": True}.get(given, given)
