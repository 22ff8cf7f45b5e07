"""Temporaries that live at the same time never share bytes, and the arena is hardly larger than it must be."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from burn.engine.schedule.arena import Lifetime, lower_bound, plan_arena
from burn.errors import ArgumentError


@st.composite
def lifetimes(draw: st.DrawFn) -> list[Lifetime]:
    steps = draw(st.integers(1, 30))
    one = st.tuples(st.integers(0, 5000), st.integers(0, steps), st.integers(0, steps))
    return [(size, min(a, b), max(a, b)) for size, a, b in draw(st.lists(one, max_size=40))]


def most_alive(values: list[Lifetime]) -> int:
    """The bound, counted step by step."""
    steps = range(max((last for _, _, last in values), default=0) + 1)
    return max(
        (sum(-(-size // 64) * 64 for size, first, last in values if first <= step <= last) for step in steps), default=0
    )


@given(lifetimes())
def test_temporaries_alive_together_do_not_overlap(values: list[Lifetime]) -> None:
    offsets, total = plan_arena(values)
    assert len(offsets) == len(values)
    assert all(offset % 64 == 0 and offset >= 0 for offset in offsets)
    assert all(offset + size <= total for offset, (size, _, _) in zip(offsets, values))
    for i, (size, first, last) in enumerate(values):
        for j, (other_size, other_first, other_last) in enumerate(values[:i]):
            if size and other_size and first <= other_last and other_first <= last:
                assert offsets[i] + size <= offsets[j] or offsets[j] + other_size <= offsets[i]


@given(lifetimes())
def test_the_bound_is_the_most_that_lives_at_one_step(values: list[Lifetime]) -> None:
    assert lower_bound(values) == most_alive(values)
    assert lower_bound(values) <= plan_arena(values)[1] <= sum(-(-size // 64) * 64 for size, _, _ in values)


@given(lifetimes())
def test_planning_is_deterministic(values: list[Lifetime]) -> None:
    assert plan_arena(values) == plan_arena(list(values))


def test_a_chain_needs_two_places() -> None:
    offsets, total = plan_arena([(1000, step, step + 1) for step in range(20)])
    assert total == 2 * 1024
    assert set(offsets) == {0, 1024}


def test_values_of_a_forward_pass_kept_for_the_backward_pass_meet_the_bound() -> None:
    generator = np.random.default_rng(0)
    sizes = [int(size) for size in generator.choice((256, 4096, 50_000, 200_000), 400)]
    forward = [(size, step, 400 - step) for step, size in enumerate(sizes[:200])]
    backward = [(size, 200 + step, 202 + step) for step, size in enumerate(sizes[200:])]
    values = forward + backward
    assert plan_arena(values)[1] <= 1.02 * lower_bound(values)


@pytest.mark.parametrize("seed", range(5))
def test_random_programs_stay_within_an_eighth_of_the_bound(seed: int) -> None:
    generator = np.random.default_rng(seed)
    values = []
    for _ in range(300):
        first = int(generator.integers(300))
        values.append((int(generator.integers(1, 1 << 18)), first, first + int(generator.exponential(15))))
    assert plan_arena(values)[1] <= 1.125 * lower_bound(values)


def test_nothing_needs_nothing() -> None:
    assert plan_arena([]) == ([], 0)
    assert plan_arena([(0, 0, 5), (0, 1, 2)]) == ([0, 0], 0)


@pytest.mark.parametrize("wrong", [(-1, 0, 1), (8, 3, 2)])
def test_impossible_lifetimes_are_refused(wrong: Lifetime) -> None:
    with pytest.raises(ArgumentError, match=rf"plan_arena: temporary 1 has size {wrong[0]} and lives from step"):
        plan_arena([(1, 0, 0), wrong])
