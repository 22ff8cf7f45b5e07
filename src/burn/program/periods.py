"""Periods: what a loop of the user's leaves in a recording, the same operations again and again."""

from __future__ import annotations

from collections.abc import Sequence


def period_of(sequence: Sequence[object]) -> int:
    """The smallest period of a longest end of the sequence that has at least two of them; 0 where it has none.

    The end must be a quarter of the sequence at least: two equal operations are no loop.
    """
    backward = sequence[::-1]
    border = [0] * (len(backward) + 1)  # of each beginning: its longest proper beginning that is its end too
    length = 0
    for place in range(1, len(backward)):
        while length and backward[place] != backward[length]:
            length = border[length]
        if backward[place] == backward[length]:
            length += 1
        border[place + 1] = length
    for size in range(len(backward), max(1, len(backward) // 4) - 1, -1):
        if 2 * (size - border[size]) <= size:
            return size - border[size]
    return 0
