"""Programs: built by the rules of the table, printed, hashed, verified and simplified."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from burn import NdArray
from burn.backend.fusion.handle import Storage
from burn.dtype import f32, i64
from burn.errors import ArgumentError, ShapeError
from burn.ops.op import TABLE
from burn.program import Constant, Node, Program, ProgramBuilder, to_text, verify
from burn.program.interpreter import interpreted, run_guarded
from burn.program.passes import Explanation, drop_identities, remove_dead, run_passes, share_equal
from burn.program.verifier import ProgramError


def sample() -> Program:
    builder = ProgramBuilder(NdArray())
    x, y = builder.input((2, 3), f32), builder.input((3,), f32)
    rate = builder.scalar()
    (scaled,) = builder.apply(TABLE["mul"], (x, rate))
    (total,) = builder.apply(TABLE["add"], (scaled, y))
    (rows,) = builder.apply(TABLE["sum_dims"], (total,), ((1,),))
    return builder.finish((rows,))


def run(program: Program, *arrays, scalars=()):
    return interpreted(program, NdArray())([Storage(array) for array in arrays], list(scalars))


def test_a_program_reads_like_one():
    assert to_text(sample()).splitlines() == [
        "%0: f32[2, 3] = input",
        "%1: f32[3] = input",
        "%2: f32[2, 3] = mul(%0, $0)",
        "%3: f32[2, 3] = add(%2, %1)",
        "%4: f32[2, 1] = sum_dims(%3, dims=(1,))",
        "return %4",
    ]


def test_equal_programs_have_equal_keys_and_others_do_not():
    assert sample().key() == sample().key()
    builder = ProgramBuilder(NdArray())
    x = builder.input((2, 3), f32)
    other = builder.finish(builder.apply(TABLE["exp"], (x,)))
    assert other.key() != sample().key()


def test_the_rules_of_the_table_check_a_program():
    builder = ProgramBuilder(NdArray())
    x, y = builder.input((2, 3), f32), builder.input((4,), f32)
    with pytest.raises(ShapeError, match=r"add: shapes \(2, 3\) and \(4,\)"):
        builder.apply(TABLE["add"], (x, y))


def test_the_interpreter_runs_it():
    x, y = np.arange(6, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    (result,) = run(sample(), x, y, scalars=[2.0])
    np.testing.assert_array_equal(result, (x * 2 + y).sum(1, keepdims=True))


def test_the_verifier_lists_every_fault():
    good = sample()
    broken = Program(
        good.values,
        good.inputs,
        0,
        (Node(TABLE["exp"], (4,), (), (2,)), Node(TABLE["exp"], (0,), (), (2,)), *good.nodes[:1]),
        (9,),
    )
    with pytest.raises(ProgramError) as caught:
        verify(broken)
    for fault in (
        "node 0 (exp) reads %4 before it is made",
        "node 1 (exp) makes %2 a second time",
        "node 2 (mul) reads scalar 0 of 0",
        "output %9 is never made",
    ):
        assert fault in str(caught.value)
    verify(good)


def test_dead_nodes_are_removed_and_equal_ones_shared():
    builder = ProgramBuilder(NdArray())
    x = builder.input((3,), f32)
    (first,) = builder.apply(TABLE["exp"], (x,))
    (second,) = builder.apply(TABLE["exp"], (x,))
    builder.apply(TABLE["sin"], (x,))
    (total,) = builder.apply(TABLE["add"], (first, second))
    program = builder.finish((total,))
    simple = run_passes(program, [("share equal", share_equal), ("remove dead", remove_dead)])
    assert [node.op.name for node in simple.nodes] == ["exp", "add"]
    values = np.array([0.0, 1.0, 2.0], np.float32)
    np.testing.assert_array_equal(run(simple, values)[0], run(program, values)[0])


def test_identities_are_dropped_but_adding_zero_to_floats_is_kept():
    builder = ProgramBuilder(NdArray())
    x, n = builder.input((2, 3), f32), builder.input((2,), i64)
    (one,) = builder.apply(TABLE["mul"], (x, Constant(1.0)))
    (same,) = builder.apply(TABLE["reshape"], (one,), ((2, 3),))
    (zero,) = builder.apply(TABLE["add"], (same, Constant(0.0)))
    (whole,) = builder.apply(TABLE["add"], (n, Constant(0)))
    program = builder.finish((zero, whole))
    notes = Explanation()
    simple = run_passes(program, [("drop identities", drop_identities)], notes)
    assert [node.op.name for node in simple.nodes] == ["add"]
    assert np.signbit(run(simple, np.full((2, 3), -0.0, np.float32), np.ones(2, np.int64))[0]).sum() == 0
    assert [name for name, _ in notes.steps] == ["recorded", "drop identities"]
    assert "== drop identities ==" in str(notes)


def test_a_guarded_run_gives_every_value_that_does_not_depend_on_a_fault():
    builder = ProgramBuilder(NdArray())
    x, index = builder.input((3, 2), f32), builder.input((1,), i64)
    (bad,) = builder.apply(TABLE["select"], (x, index), (0,))
    (worse,) = builder.apply(TABLE["exp"], (bad,))
    (fine,) = builder.apply(TABLE["exp"], (x,))
    program = builder.finish((worse, fine))
    inputs = [Storage(np.zeros((3, 2), np.float32)), Storage(np.array([7]))]
    (first, second), failed = run_guarded(program, NdArray(), inputs, [])
    assert isinstance(first, IndexError)
    assert failed == bad
    np.testing.assert_array_equal(second, np.ones((3, 2), np.float32))


def test_explanations_go_to_the_error_stream(monkeypatch, capsys):
    monkeypatch.setenv("BURN_EXPLAIN", "1")
    run_passes(sample(), [("remove dead", remove_dead)])
    assert "== recorded ==" in capsys.readouterr().err


@pytest.mark.parametrize("word", ["", "0", "off", "OFF"])
def test_a_switch_that_is_off_prints_nothing_and_asks_no_row(word, monkeypatch, capsys):
    monkeypatch.setenv("BURN_EXPLAIN", word)
    monkeypatch.setenv("BURN_VERIFY", word)
    asked = []
    monkeypatch.setattr("burn.program.passes.verify", lambda program, rows: asked.append(rows))
    run_passes(sample(), [("changed", lambda program, notes: replace(program))])
    assert capsys.readouterr().err == ""
    assert asked == [False]


def test_a_switch_that_is_neither_on_nor_off_is_refused(monkeypatch):
    monkeypatch.setenv("BURN_VERIFY", "perhaps")
    with pytest.raises(ArgumentError, match="BURN_VERIFY is 'perhaps'; write BURN_VERIFY=1 or leave it out"):
        run_passes(sample(), [])
