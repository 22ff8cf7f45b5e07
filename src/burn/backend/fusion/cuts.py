"""Where a stream is cut that nobody reads from.

Its programs have a bounded length. A loop records the same operations again and again: cut just anywhere, each piece
would begin at another place of the loop and be a program that was never seen before, to be lowered and compiled. So the
period of what was recorded is found, and from then on cuts fall on the same places of every period: a few programs run
again and again.
"""

from __future__ import annotations

from collections.abc import Sequence

from burn.program.periods import period_of

MOST_ENTRIES = 2048
"""Results of a stream at which it is cut, unless a period says otherwise."""

HISTORY = 8 * MOST_ENTRIES
"""Operations that are remembered; periods of up to half of them are found."""


class Cuts:
    """The cuts of one stream since somebody last read from it."""

    def __init__(self) -> None:
        self.history: list[object] = []
        self.period = 0
        self._done = 0  # of the present cycle: as many whole periods as fit between two cuts, at least one

    def forget(self) -> None:
        """Begin anew: somebody has read from the stream."""
        if self.history:
            self.__init__()  # type: ignore[misc]

    def after(self, operations: Sequence[object]) -> int:
        """How many results come next, if a cut follows on these operations, one for each result."""
        self.history = [*self.history, *operations][-HISTORY:]
        if self.period and self._holds(len(operations)):
            self._done += len(operations)
        else:
            self.period, self._done = period_of(self.history), 0
        if not self.period:
            return MOST_ENTRIES
        cycle = self.period * max(1, MOST_ENTRIES // self.period)
        self._done %= cycle
        return min(MOST_ENTRIES, cycle - self._done)

    def _holds(self, count: int) -> bool:
        """Whether the last operations are those of a period before."""
        return self.history[-count:] == self.history[-count - self.period : -self.period]
