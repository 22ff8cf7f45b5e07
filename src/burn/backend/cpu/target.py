"""The processor as a target: what lowering asks of any machine, and the instruction sets its own kernels ask for."""

from __future__ import annotations

from dataclasses import field
from functools import lru_cache

from burn.backend.cpu.features import Features
from burn.classes import dataclass
from burn.engine.target import Target, target


@dataclass(frozen=True)
class CpuTarget(Target):
    """A processor with some instruction sets; its units are threads."""

    features: Features = field(kw_only=True)


@lru_cache(maxsize=64)
def target_of(features: Features, threads: int) -> CpuTarget:
    """The target of kernels of these instruction sets, which so many threads run."""
    lanes = features.vector_bits // 32
    return CpuTarget(f"cpu {features.level}", lanes, threads, channels_last=True, features=features)


def features() -> Features:
    """The instruction sets that kernels are being written for: those of the device whose plan is lowered."""
    found = target()
    assert isinstance(found, CpuTarget), f"{found.name} is no processor"
    return found.features
