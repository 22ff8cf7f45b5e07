"""Who won: a candidate replaces the default only if it is faster by a margin, and in most rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MARGIN = 0.03
"""The share of the default's time that a candidate must save: less is noise, or is gone with the next kernel."""

ROUNDS_WON = 0.75
"""The share of rounds in which it must have been faster than the default of the same round."""


def decide(times: Mapping[str, Sequence[float]], default: str) -> str:
    """The winner, by seconds of each candidate in each round; rounds of one number belong together."""
    if default not in times:
        return default
    import statistics  # of no use to those who only run plans

    own = times[default]
    limit = (1.0 - MARGIN) * statistics.median(own)
    medians = {name: statistics.median(found) for name, found in times.items() if name != default}
    for name in sorted(medians, key=lambda each: medians[each]):
        won = sum(mine < theirs for mine, theirs in zip(times[name], own, strict=True))
        if medians[name] <= limit and won >= ROUNDS_WON * len(own):
            return name
    return default
