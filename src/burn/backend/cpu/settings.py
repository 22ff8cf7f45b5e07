"""What a `Cpu` device lets its plans do: how exact results are, which instructions run, the memory weights may take.

    exact = Cpu(accuracy="exact")
    older = Cpu(features="avx2")
    small = Cpu(mapped_weights=16 << 20, kept_memory=64 << 20)

Settings belong to the device, so a plan made under one setting never runs for another.
"""

from __future__ import annotations

import os
from dataclasses import fields
from typing import Any

from burn.backend.cpu.features import NATIVE, SETS, Features, named, runnable
from burn.backend.cpu.kept import default_limit
from burn.classes import dataclass
from burn.environment import is_on
from burn.errors import ArgumentError, DeviceError

FAST, EXACT = "fast", "exact"
ACCURACIES = (FAST, EXACT)

VARIABLE, FEATURES = "BURN_ACCURACY", "BURN_FEATURES"
"""The accuracy, and the instruction sets, of devices that are not told any."""

SANITIZE = "BURN_SANITIZE"
"""Whether devices that are not told run checked kernels: `1`, or `0` as if it were not there."""

MOST_MAPPED = 512 << 20
"""Bytes of weights mapped for Winograd's convolutions that one plan holds beside the weights themselves."""


@dataclass(frozen=True)
class Settings:
    """`fast` may cost up to 1e-5 of the largest result in a convolution; `exact` is as good as the plain computation.

    `mapped_weights` are bytes; convolutions whose weights find no room run on kernels that need none.
    `sanitize` runs checked kernels (see `burn.backend.cpu.sanitizer`). `features` are the instruction sets that kernels
    are made of, by a name of `burn.backend.cpu.features.SETS`. `kept_memory` are the bytes that plans keep together to
    run again; None for a share of the machine's memory (see `burn.backend.cpu.kept`).
    """

    accuracy: str = FAST
    mapped_weights: int = MOST_MAPPED
    sanitize: bool = False
    features: str = NATIVE
    kept_memory: int | None = None

    @property
    def target(self) -> Features:
        """What kernels are compiled for."""
        return named(self.features)

    def refuse_elsewhere(self) -> None:
        """Raise where this processor cannot run the kernels of this device."""
        lacking = self.target.lacking
        if lacking:
            raise DeviceError(
                f"Cpu(features={self.features!r}): this processor has no {', '.join(lacking)}, so kernels can be "
                f"compiled for it here but not run; write features={' or '.join(map(repr, runnable()))}"
            )

    def arguments(self) -> list[str]:
        """What differs from a device that is told nothing, as one would write it."""
        usual = settings()
        names = (each.name for each in fields(self) if getattr(self, each.name) != getattr(usual, each.name))
        return [f"{name}={getattr(self, name)!r}" for name in names]


def settings(
    accuracy: Any = None,
    mapped_weights: Any = None,
    sanitize: Any = None,
    features: Any = None,
    kept_memory: Any = None,
) -> Settings:
    """Settings from what a user wrote; the environment and the usual values stand in for what is None."""
    faults: list[str] = []
    chosen = _chosen("accuracy", accuracy, VARIABLE, ACCURACIES, FAST, faults)
    sets = _chosen("features", features, FEATURES, SETS, NATIVE, faults)
    most = _bytes("mapped_weights", mapped_weights, MOST_MAPPED, faults)
    if kept_memory is not None:
        _bytes("kept_memory", kept_memory, default_limit(), faults)
    checked = sanitize
    if sanitize is None:
        try:
            checked = is_on(SANITIZE)
        except ArgumentError as error:
            faults.append(str(error))
    elif not isinstance(sanitize, bool):
        faults.append(f"sanitize is {sanitize!r}; write sanitize=True or leave it out")
    if faults:
        raise ArgumentError(f"Cpu: {'; '.join(faults)}")
    return Settings(chosen, most, checked, sets, kept_memory)


def _bytes(name: str, given: Any, usual: int, faults: list[str]) -> int:
    """A number of bytes that was given, or the usual one."""
    size: int = usual if given is None else given
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        faults.append(f"{name} is {size!r}; write bytes, at least 0, such as {name}={usual}")
    return size


def _chosen(name: str, given: Any, variable: str, words: tuple[str, ...], usual: str, faults: list[str]) -> str:
    """One of some words: what was written, else what the environment says, else the usual one."""
    chosen: str = os.environ.get(variable) or usual if given is None else given
    if chosen not in words:
        others = [word if given is None else repr(word) for word in words if word != usual]
        where, write = (variable, "{}={}") if given is None else (name, "Cpu({}={})")
        write = write.format(where, "|".join(others))
        faults.append(f"{where} is {chosen!r}; write {write} or leave it out for {usual!r}")
    return chosen
