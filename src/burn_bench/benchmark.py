"""What a benchmark is: one piece of work, the engines that can do it, and the right answer.

def build(setting: Setting) -> Work:
    x = burn.tensor(values(), device=setting.device)
    return finished(setting.device, lambda: x.exp())

Benchmark("unary", "exp 1M", builders={"burn": build}, reference=lambda setting: [np.exp(values())])

A builder runs in the process of its engine. What it prepares is not timed; `Work.run` is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from burn.device import Device

Array = np.ndarray[Any, Any]


class Missing(Exception):
    """An engine cannot take part, and that is nobody's fault: a package or a tool is not here."""


class Work(NamedTuple):
    """Prepared work: `run` does it once and returns when it is done; `result` is what gets checked.

    `result` is called once, before the first `run` that is timed. It is None where there is nothing to
    check: for a copy of memory. `repeats` is how often `run` does the work, where once would be too short.
    """

    run: Callable[[], object]
    result: Callable[[], Sequence[Any]] | None
    repeats: int = 1


@dataclass
class Setting:
    """Where a builder builds: on which device of ours, with how many threads, with which folder for files."""

    threads: int
    folder: Path
    device_source: str = ""

    @cached_property
    def device(self) -> Device:
        """The device of ours that is measured."""
        from burn_bench.engines import make_device

        return make_device(self.device_source)


Builder = Callable[[Setting], Work]


@dataclass(frozen=True)
class Target:
    """How many times faster than the best of `peers` the engine `subject` has to be."""

    subject: str
    peers: tuple[str, ...]
    at_least: float
    aim: float | None = None

    def title(self) -> str:
        """The target in words."""
        peers = self.peers[0] if len(self.peers) == 1 else f"best of {', '.join(self.peers)}"
        aim = "" if self.aim is None else f", aim {self.aim:g}"
        return f"{self.subject} ≥ {self.at_least:g} × {peers}{aim}"


@dataclass(frozen=True)
class Benchmark:
    """One piece of work with fixed shapes. `builders` has one entry for each family of engines that can do it.

    A result is right when no element differs from the reference by more than `tolerance` times the
    reference's largest magnitude. `traffic` is the number of bytes that must be read and written.
    """

    name: str
    shapes: str
    builders: Mapping[str, Builder]
    reference: Callable[[Setting], Sequence[Array]]
    summary: str = ""
    tolerance: float = 1e-5
    targets: tuple[Target, ...] = ()
    traffic: int | None = None

    @property
    def title(self) -> str:
        """The name on the command line and in results."""
        return f"{self.name}/{self.shapes.replace(' ', '-')}"

    def changed(self, **fields: Any) -> Benchmark:
        """The same benchmark with other fields."""
        return dataclasses.replace(self, **fields)


class WrongResult(Exception):
    """An engine computed something else than the reference."""


def difference(results: Sequence[Any], references: Sequence[Array], tolerance: float) -> float:
    """The largest difference, relative to the largest magnitude of the reference; too large a one is an error."""
    if len(results) != len(references):
        raise WrongResult(f"{len(results)} results where the reference has {len(references)}")
    worst = 0.0
    for number, (result, reference) in enumerate(zip(results, references, strict=True)):
        found = np.asarray(result)
        if found.shape != reference.shape:
            raise WrongResult(f"result {number} has the shape {found.shape}, the reference {reference.shape}")
        if not found.size:
            continue
        expected = reference.astype(np.float64)
        distance = np.abs(found.astype(np.float64) - expected).max()
        relative = float(distance / max(float(np.abs(expected).max()), np.finfo(np.float32).tiny))
        if not relative <= tolerance:  # NaN is wrong too
            raise WrongResult(
                f"result {number} is off by {relative:.1e} of the largest value; allowed is {tolerance:.0e}"
            )
        worst = max(worst, relative)
    return worst


def finished(device: Device, compute: Callable[[], Any]) -> Work:
    """Work on a device of ours: done when the device is."""

    def run() -> Any:
        result = compute()
        device.sync()
        return result

    def result() -> list[Array]:
        value = run()
        return [each.numpy() for each in (value if isinstance(value, list | tuple) else [value])]

    return Work(run, result)
