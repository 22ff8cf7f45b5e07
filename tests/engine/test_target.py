"""Targets: what lowering may ask, and when."""

from __future__ import annotations

import threading

import pytest

from burn.dtype import DType, f32, f64
from burn.engine.lower.elements import fits_a_loop
from burn.engine.lower.loops import lower_loop
from burn.engine.lower.recipe import Recipe
from burn.engine.plan import Lowered
from burn.engine.schedule.units import Scheduler
from burn.engine.target import ARITHMETIC, Costs, Target, Tiles, lowering_for, target
from burn.ops import TABLE
from burn.program.program import Node, Program, Value
from burn.shape import Shape


def test_a_target_keeps_the_composites_that_it_names_and_no_others() -> None:
    made = Target("made up", kept=frozenset(("softmax",)))
    assert made.keeps(TABLE["softmax"])
    assert not made.keeps(TABLE["log_softmax"])
    assert not Target("made up").keeps(TABLE["softmax"])


def test_the_target_is_that_of_the_innermost_lowering_of_this_thread() -> None:
    outer, inner = Target("outer"), Target("inner")
    elsewhere: list[str] = []

    def ask() -> None:
        try:
            target()
        except RuntimeError as error:
            elsewhere.append(str(error))

    with lowering_for(outer):
        with lowering_for(inner):
            assert target() is inner
        assert target() is outer
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    with pytest.raises(RuntimeError, match="nothing is being lowered"):
        target()
    assert len(elsewhere) == 1


@pytest.mark.parametrize("dtype, expected", [(f32, "kernel  exp"), (f64, "numpy   exp")])
def test_what_a_target_does_not_compute_with_has_no_kernel(dtype: DType, expected: str) -> None:
    value = Value(Shape((1000,)), dtype)
    program = Program((value, value), 1, 0, (Node(TABLE["exp"], (0,), (), (1,)),), (1,))
    lowered = Lowered()
    with lowering_for(Target("made up", dtypes=ARITHMETIC - {f64})):
        lowered.lower(program, (False,))
    assert lowered.describe() == expected


def test_kernels_follow_the_tile_sizes_of_the_target_and_recipes_know_them() -> None:
    texts, keys = set(), set()
    for sizes in (Tiles(), Tiles(block=64)):
        with lowering_for(Target("made up", tiles=sizes)):
            program = Program((Value(Shape((1000,)), f32),) * 2, 1, 0, (Node(TABLE["exp"], (0,), (), (1,)),), (1,))
            schedule = Scheduler(program, fits_a_loop).schedule()
            loop = lower_loop(program, schedule, schedule.units[0])
            assert loop.extent == -(-1000 // sizes.block)
            texts.add(str(loop.kernel))
            keys.add(Recipe("made up", (), lambda: pytest.fail("nobody asks for it")).key_parts)
    assert len(texts) == len(keys) == 2


@pytest.mark.parametrize("costs, iterations", [(Costs(), 3), (Costs(iteration=1.0), 400)])
def test_lanes_run_along_the_dim_that_costs_the_target_least(costs: Costs, iterations: int) -> None:
    result, operand = Value(Shape((400, 3)), f32), Value(Shape((3, 400)), f32)
    turned = Node(TABLE["permute"], (0,), ((1, 0),), (1,))
    program = Program((operand, result, result), 1, 0, (turned, Node(TABLE["exp"], (1,), (), (2,))), (2,))
    with lowering_for(Target("made up", costs=costs)):
        schedule = Scheduler(program, fits_a_loop).schedule()
        loop = lower_loop(program, schedule, schedule.units[-1])
    assert loop.extent == iterations
