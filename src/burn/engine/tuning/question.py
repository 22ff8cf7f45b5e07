"""What a lowering asks: a question that means the same in every process on the same kind of processor."""

from __future__ import annotations

from burn.classes import dataclass


@dataclass(frozen=True)
class Question:
    """`family` names the place that asks, `numbers` tell one of its cases from another.

    The candidates are part of it: what was the best of three says little about the best of two of them.
    """

    family: str
    numbers: tuple[int | str, ...]
    threads: int
    accuracy: str
    features: str
    candidates: tuple[str, ...]

    def title(self) -> str:
        """It in one line: the key under which its answer is kept."""
        numbers = " ".join(map(str, self.numbers))
        how = f"{self.threads} threads, {self.accuracy}, {self.features}"
        return f"{self.family} {numbers}; {how}; {', '.join(self.candidates)}"
