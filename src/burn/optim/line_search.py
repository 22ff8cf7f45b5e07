"""Line search: how far to go along a direction.

A step is long enough and not too long under the strong Wolfe conditions: the loss falls by at least a share of
what the slope promised, and the slope at the new point is small. First the step grows until an interval must
hold such a point; then the interval shrinks, guided by cubic interpolation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

DECREASE, CURVATURE = 1e-4, 0.9
MOST_TRIALS = 25


class Point(NamedTuple):
    """A trial: how far, the loss there, the gradient there, and the slope along the direction."""

    t: float
    loss: float
    gradient: Any
    slope: float


def strong_wolfe(
    evaluate: Callable[[float], Point], start: Point, t: float, longest: float, tolerance: float
) -> tuple[Point, int]:
    """A point under the strong Wolfe conditions, or the best one found, and the number of evaluations.

    `longest` is the largest component of the direction: an interval narrower than `tolerance` in every
    component is not searched any more.
    """
    new = evaluate(t)
    previous, bracket, found, trials = start, None, False, 0
    while trials < MOST_TRIALS:
        if _too_high(new, start) or (trials > 1 and new.loss >= previous.loss):
            bracket = [previous, new]
            break
        if abs(new.slope) <= -CURVATURE * start.slope:
            bracket, found = [new], True
            break
        if new.slope >= 0:
            bracket = [previous, new]
            break
        bounds = new.t + 0.01 * (new.t - previous.t), new.t * 10
        t = interpolated(previous, new, bounds)
        previous, new = new, evaluate(t)
        trials += 1
    evaluations = trials + 1
    if bracket is None:
        bracket = [start, new]
    low, high = _ordered(bracket)
    stuck = False
    while not found and trials < MOST_TRIALS:
        if abs(bracket[1].t - bracket[0].t) * longest < tolerance:
            break
        t = interpolated(bracket[0], bracket[1], None)
        least, most = sorted((bracket[0].t, bracket[1].t))
        margin = 0.1 * (most - least)
        near_end = min(most - t, t - least) < margin
        if near_end and (stuck or t >= most or t <= least):
            t = most - margin if abs(t - most) < abs(t - least) else least + margin
            near_end = False
        stuck = near_end
        new = evaluate(t)
        evaluations += 1
        trials += 1
        if _too_high(new, start) or new.loss >= bracket[low].loss:
            bracket[high] = new
            low, high = _ordered(bracket)
            continue
        if abs(new.slope) <= -CURVATURE * start.slope:
            found = True
        elif new.slope * (bracket[high].t - bracket[low].t) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = new
    return bracket[low], evaluations


def _too_high(point: Point, start: Point) -> bool:
    return point.loss > start.loss + DECREASE * point.t * start.slope


def _ordered(bracket: list[Point]) -> tuple[int, int]:
    return (0, 1) if bracket[0].loss <= bracket[-1].loss else (1, 0)


def interpolated(one: Point, other: Point, bounds: tuple[float, float] | None) -> float:
    """The minimum of the cubic through two points with their slopes, kept within bounds."""
    least, most = bounds or (min(one.t, other.t), max(one.t, other.t))
    left, right = (one, other) if one.t <= other.t else (other, one)
    chord = one.slope + other.slope - 3 * (one.loss - other.loss) / (one.t - other.t)
    square = chord * chord - one.slope * other.slope
    if not square >= 0:
        return (least + most) / 2
    root = math.sqrt(square)
    divisor = right.slope - left.slope + 2 * root
    if divisor == 0:
        return (least + most) / 2
    t = right.t - (right.t - left.t) * ((right.slope + root - chord) / divisor)
    return min(max(t, least), most)
