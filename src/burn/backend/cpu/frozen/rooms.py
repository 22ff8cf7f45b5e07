"""Where the values between the steps of a frozen plan lie.

With sizes that are known this is the arena of every plan. Sizes that are not known yet cannot be packed into gaps:
values whose lives do not meet share a room, as large as the largest of them, and rooms stand side by side, so that
every address is a formula.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from burn.dim import Dim, Linear, TooComplex, is_at_least
from burn.engine.schedule.arena import plan_arena


class Life(NamedTuple):
    """A value of the arena: its bytes, as many as they are at hand, the steps that use it first and last."""

    number: int
    bytes: Linear
    usual: int
    first: int
    last: int


Room = tuple[Linear, ...]


def arrange(lives: Sequence[Life]) -> tuple[tuple[Room, ...], dict[int, tuple[int, int]]]:
    """Rooms, and for each value its room and the offset in there."""
    if not lives:
        return (), {}
    if not any(isinstance(each.bytes, Dim) for each in lives):
        offsets, total = plan_arena([(each.usual, each.first, each.last) for each in lives])
        return ((total,),), {each.number: (0, offset) for each, offset in zip(lives, offsets, strict=True)}
    rooms: list[list[Life]] = []
    where: dict[int, tuple[int, int]] = {}
    for each in sorted(lives, key=lambda life: (-life.usual, life.first)):
        index = next((i for i, members in enumerate(rooms) if _is_free(members, each)), len(rooms))
        if index == len(rooms):
            rooms.append([])
        rooms[index].append(each)
        where[each.number] = index, 0
    return tuple(largest([each.bytes for each in members]) for members in rooms), where


def _is_free(members: Sequence[Life], wanted: Life) -> bool:
    """Whether a value is never alive together with some others."""
    return all(wanted.first > each.last or wanted.last < each.first for each in members)


def largest(sizes: Sequence[Linear]) -> Room:
    """Those of some sizes of which one is the largest, whatever the named sizes are."""
    found: list[Linear] = []
    for size in dict.fromkeys(sizes):
        if any(_is_never_less(other, size) for other in found):
            continue
        found = [other for other in found if not _is_never_less(size, other)] + [size]
    return tuple(found)


def _is_never_less(left: Linear, right: Linear) -> bool:
    try:
        return is_at_least(left - right, 0)
    except TooComplex:
        return False
