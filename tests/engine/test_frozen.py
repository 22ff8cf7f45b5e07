"""Frozen plans: equal to the plans that they are made of, for every choice of constants, and for named sizes."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import burn
from burn import Cpu, Fusion, NdArray
from burn.backend.cpu.frozen import running as frozen_running
from burn.backend.cpu.frozen.fixed import FixedPlan
from burn.backend.cpu.pool import share
from burn.backend.reference import Reference
from burn.engine.runtime import with_constants
from burn.errors import BurnError, DTypeError, IndexingError
from burn.symbolic import Assumptions, DoesNotFit, NotForSizes
from tests.engine.recorded import Array, Recorded, recording, traced
from tests.fuzz.programs import running, seeds
from tests.fuzz.programs.reference import evaluate

SEEDS = range(5_000_000, 5_000_024)


@pytest.fixture
def engine() -> Any:
    device: Any = Cpu()
    return device.below


@pytest.fixture
def threads() -> Iterator[None]:
    before = burn.get_num_threads()
    yield
    burn.set_num_threads(before)


def draw(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def same(ours: list[Array], theirs: list[Array]) -> bool:
    described = [(each.shape, each.dtype, each.tobytes()) for each in ours]
    return described == [(each.shape, each.dtype, each.tobytes()) for each in theirs]


def programs(seed: int) -> list[Recorded]:
    program, device = seeds.draw(seed), Cpu(kept_memory=(1 << 20) + seed)  # a device that has no plan of it yet
    with recording() as found, np.errstate(all="ignore"):
        if program.gradients:
            running._gradient_faults(program, {"fused": device})
        else:
            running.run(program, device)
    return found


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs_give_what_their_plans_give(seed: int, engine: Any) -> None:
    chooser = random.Random(seed)
    for each in programs(seed):
        count = len(each.inputs)
        plan = engine.prepare_program(each.program, (False,) * count)
        for most in (1.0, 0.6, 0.0):
            constants = {n: each.inputs[n] for n in range(count) if chooser.random() < most}
            given = [array for n, array in enumerate(each.inputs) if n not in constants]
            fixed = engine.prepare_fixed(each.program, constants, each.scalars)
            usual = with_constants(plan, each.program, constants, each.scalars)
            for _ in range(2):
                assert same(fixed(given), usual(given))
            given = [np.roll(array.reshape(-1), 1).reshape(array.shape) for array in given]
            assert same(fixed(given), usual(given))


def network(x: Any, w: Any, b: Any, u: Any) -> Any:
    hidden = (x.matmul(w) + b).tanh()
    hidden = hidden - hidden.mean_dim(-1)
    result = hidden.matmul(u).exp()
    return result, result.sum_dim(0)


WEIGHTS = {1: draw(16, 32), 2: draw(32), 3: draw(32, 8)}
WEIGHT_SHAPES = [((16, 32), "f32"), ((32,), "f32"), ((32, 8), "f32")]


def symbolic(engine: Any, usual: int = 24) -> FixedPlan:
    rows = Assumptions().symbol(usual)
    made = engine.prepare_fixed(traced(network, ((rows, 16), "f32"), *WEIGHT_SHAPES), WEIGHTS)
    assert isinstance(made, FixedPlan)
    return made


def expected(engine: Any, x: Array) -> list[Array]:
    program = traced(network, (x.shape, "f32"), *WEIGHT_SHAPES)
    found: list[Array] = with_constants(engine.prepare_program(program, (False,) * 4), program, WEIGHTS, ())([x])
    return found


def close(ours: list[Array], theirs: list[Array]) -> None:
    assert len(ours) == len(theirs)
    for mine, other in zip(ours, theirs):
        np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6)


def test_one_plan_serves_many_sizes(engine: Any) -> None:
    fixed = symbolic(engine)
    for rows in (24, 23, 40, 64, 17, 24, 63):
        close(fixed([draw(rows, 16)]), expected(engine, draw(rows, 16)))
    (waiting,) = fixed.runner._ground.waiting
    assert len(waiting.bindings) <= 6
    assert fixed.runner.form.is_symbolic


def test_other_sizes_are_told(engine: Any) -> None:
    fixed = symbolic(engine)
    for shape in ((4096, 16), (1, 16), (24, 17), (24,), (24, 16, 1)):
        with pytest.raises(DoesNotFit):
            fixed([np.zeros(shape, np.float32)])
    with pytest.raises(DoesNotFit):
        fixed([np.zeros((0, 16), np.float32)])
    close(fixed([draw(24, 16)]), expected(engine, draw(24, 16)))


def test_the_last_bindings_are_remembered_and_the_arena_follows_their_needs(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frozen_running, "MOST_BINDINGS", 4)
    monkeypatch.setattr(frozen_running, "WORTH", 1024)
    monkeypatch.setattr(frozen_running, "SPARSE", 2)
    fixed = symbolic(engine)
    sizes = set()
    for rows in (20, 21, 22, 23, 24, 25, 26):
        fixed([draw(rows, 16)])
        (waiting,) = fixed.runner._ground.waiting
        sizes.add(waiting.bytes)
    assert list(waiting.bindings) == [((rows, 16),) for rows in (23, 24, 25, 26)]
    assert len(sizes) == 2  # it grew by more than it had to
    for rows in (25, 24, 23, 22, 25, 21):
        close(fixed([draw(rows, 16)]), expected(engine, draw(rows, 16)))
    assert list(waiting.bindings) == [((rows, 16),) for rows in (23, 22, 25, 21)]
    large = waiting.bytes
    fixed([draw(64, 16)])
    assert waiting.bytes > large
    for rows in (17, 18, 19, 20, 21, 17):
        close(fixed([draw(rows, 16)]), expected(engine, draw(rows, 16)))
    assert waiting.bytes < large


def test_several_threads_run_one_plan(engine: Any) -> None:
    fixed, faults = symbolic(engine), []
    wanted = {rows: fixed([draw(rows, 16)]) for rows in range(33, 63)}

    def work(begin: int) -> None:
        try:
            for turn in range(200):
                rows = 33 + (begin + 7 * turn) % 30
                assert same(fixed([draw(rows, 16)]), wanted[rows])
        except BaseException as error:
            faults.append(error)

    workers = [threading.Thread(target=work, args=(begin,)) for begin in (0, 11, 29)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert not faults


def test_another_number_of_threads_makes_it_anew_while_the_constants_are_there(engine: Any, threads: None) -> None:
    rows = 300
    program = traced(network, ((rows, 16), "f32"), *WEIGHT_SHAPES)
    weights = {number: np.array(each) for number, each in WEIGHTS.items()}
    burn.set_num_threads(2)
    fixed = engine.prepare_fixed(program, weights)
    x = draw(rows, 16)
    first = fixed([x])
    burn.set_num_threads(1)
    close(fixed([x]), first)
    assert fixed.runner.form.threads == 1
    del weights
    gc.collect()
    burn.set_num_threads(3)
    close(fixed([x]), first)
    assert fixed.runner.form.threads == 1  # the weights were packed and are gone


def test_constants_that_nobody_reads_any_more_are_let_go(engine: Any) -> None:
    weight = draw(64, 96)
    gone = weakref.ref(weight)
    program = traced(lambda x, w: x.matmul(w).exp(), ((40, 64), "f32"), ((64, 96), "f32"))
    fixed = engine.prepare_fixed(program, {1: weight})
    wanted = np.exp(draw(40, 64) @ weight)
    del weight
    gc.collect()
    assert gone() is None
    np.testing.assert_allclose(fixed([draw(40, 64)])[0], wanted, rtol=1e-3)


def test_an_index_outside_is_told_with_the_size_of_this_run(engine: Any) -> None:
    rows = Assumptions().symbol(10)
    program = traced(lambda x, i: x.select(0, i) * 2.0, ((rows, 4), "f32"), ((3,), "i64"))
    fixed = engine.prepare_fixed(program, {})
    assert isinstance(fixed, FixedPlan)
    x, good = draw(7, 4), np.array([0, 6, 3])
    for _ in range(2):
        np.testing.assert_array_equal(fixed([x, good])[0], x[good] * 2.0)
        with pytest.raises(IndexingError, match="index 7 is out of range for dim 0 of size 7"):
            fixed([x, np.array([0, 7, 3])])
    assert fixed([draw(12, 4), np.array([11, 0, 0])])[0].shape == (3, 4)


def test_memory_is_counted_and_can_be_taken_back() -> None:
    device: Any = Cpu(kept_memory=1 << 16)
    fixed = symbolic(device.below)
    for rows in (64, 30):
        fixed([draw(rows, 16)])
    kept = device.below.kept
    (instance,) = kept.instances()
    assert kept.bytes() == instance.bytes > 64 * 32 * 4
    assert instance.let_go()
    assert not instance.let_go()
    del instance
    gc.collect()
    assert kept.bytes() == 0
    close(fixed([draw(30, 16)]), expected(device.below, draw(30, 16)))
    fixed.release()


def test_what_is_not_kernels_alone_runs_as_a_plan(engine: Any) -> None:
    checked: Any = Cpu(sanitize=True)
    program = traced(lambda x: x.exp(), ((4,), "f32"))
    assert not isinstance(checked.below.prepare_fixed(program, {}), FixedPlan)
    handed = traced(lambda x: (x, x.exp()), ((4,), "f32"))
    x = draw(4)
    assert engine.prepare_fixed(handed, {})([x])[0] is x
    constant = engine.prepare_fixed(handed, {0: x})
    assert not isinstance(constant, FixedPlan)
    np.testing.assert_array_equal(constant([])[0], x)


def test_a_wrong_number_of_inputs_is_no_run(engine: Any) -> None:
    fixed = engine.prepare_fixed(traced(lambda x, y: x + y, ((4,), "f32"), ((4,), "f32")), {})
    with pytest.raises(ValueError, match="values to unpack"):
        fixed([draw(4)])
    np.testing.assert_array_equal(fixed([draw(4), draw(4)])[0], draw(4) + draw(4))


def test_callers_with_different_shares_of_the_threads_take_turns(engine: Any, threads: None) -> None:
    burn.set_num_threads(2)
    program = traced(network, ((300, 16), "f32"), *WEIGHT_SHAPES)
    fixed, x, forms = engine.prepare_fixed(program, WEIGHTS), draw(300, 16), []
    for _ in range(3):
        fixed([x])
        forms.append(fixed.runner.form)
        with share(1):
            fixed([x])
        forms.append(fixed.runner.form)
    assert [form.threads for form in forms] == [2, 1] * 3
    assert len({id(form) for form in forms}) == 2


def test_programs_of_several_shapes_that_need_the_host_are_refused(engine: Any) -> None:
    rows = Assumptions().symbol(10)
    program = traced(lambda x: x.argsort(0), ((rows,), "f32"))
    with pytest.raises(NotForSizes):
        engine.prepare_fixed(program, {})
    both = traced(lambda x: x.exp(), ((rows + Assumptions().symbol(3),), "f32"))
    with pytest.raises(NotForSizes, match="no input has s"):
        engine.prepare_fixed(both, {})


def test_sizes_follow_from_dims_that_hold_more_than_them(engine: Any) -> None:
    found = Assumptions()
    rows, elsewhere = found.symbol(10), found.symbol(7)
    assert elsewhere > 3  # of no program here
    fixed = engine.prepare_fixed(
        traced(lambda x, y: x.exp() + y.sum(), ((rows * 3 + 1,), "f32"), ((rows + 2,), "f32")), {}
    )
    assert len(fixed.runner.form.sizes) == 1
    for count in (10, 4, 25):
        x, y = draw(3 * count + 1), draw(count + 2)
        np.testing.assert_allclose(fixed([x, y])[0], np.exp(x) + y.sum(), rtol=1e-5)
    for lengths in ((32, 12), (31, 13), (1, 2), (0, 2)):
        with pytest.raises(DoesNotFit):
            fixed([draw(*lengths[:1]), draw(*lengths[1:])])


def function_of(program: Any) -> Any:
    """A random program as a function of tensors."""

    def function(*given: Any) -> tuple[Any, ...]:
        values = dict(zip(program.inputs, given))
        for step in program.steps:
            if step.makes:
                values[step.out] = evaluate(step, values)
        return tuple(values[number] for number in program.outputs)

    return function


WITHOUT_TENSORS_OF_THEIR_OWN = [
    seed
    for seed in range(40)
    if not any(name in step.code for step in seeds.draw(seed).steps for name in running.MADE_INSIDE)
]


@pytest.mark.parametrize("seed", WITHOUT_TENSORS_OF_THEIR_OWN)
def test_random_programs_with_named_sizes_serve_others(seed: int, engine: Any) -> None:
    program, chooser, found = seeds.draw(seed), random.Random(seed), Assumptions()
    usual = sorted({size for given in program.inputs.values() for size in given.shape if size > 1})
    named = {size: found.symbol(size) for size in usual if chooser.random() < 0.7}
    function, arrays = function_of(program), list(program.arrays().values())

    def shaped(sizes: dict[int, Any]) -> list[tuple[tuple[Any, ...], str]]:
        return [(tuple(sizes.get(n, n) for n in given.shape), given.dtype) for given in program.inputs.values()]

    try:
        fixed = engine.prepare_fixed(traced(function, *shaped(named)), {})
    except (NotForSizes, DTypeError):  # a step is NumPy's, or asks for the number of a size in a way that there is not
        pytest.skip("not for named sizes")
    for turn in range(4):
        sizes = {n: n if turn == 0 else max(1, n + chooser.choice((-1, 1, 2, n))) for n in named}
        given = [np.resize(array, shape) for array, (shape, _) in zip(arrays, shaped(sizes))]
        try:
            plain = traced(function, *shaped(sizes))
        except BurnError:  # the program is for some sizes only
            assert turn
            continue
        wanted = engine.prepare_fixed(plain, {})(given)
        try:
            made = fixed(given)
        except DoesNotFit:
            assert turn
            continue
        for ours, theirs in zip(made, wanted, strict=True):
            assert (ours.shape, ours.dtype) == (theirs.shape, theirs.dtype)
            if ours.dtype.kind == "f" and ours.dtype.itemsize > 2:
                np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
            else:
                np.testing.assert_array_equal(ours, theirs)


FORKED = """
import os
import numpy as np
import burn
from burn.symbolic import Assumptions
from tests.engine.recorded import traced

rows = Assumptions().symbol(400)
fixed = burn.Cpu().below.prepare_fixed(traced(lambda x: x.exp().sum_dim(1), ((rows, 300), "f32")), {})
x = np.ones((500, 300), np.float32)
wanted = fixed([x])[0]
child = os.fork()
if child == 0:
    os._exit(0 if np.array_equal(fixed([x])[0], wanted) and len(fixed([x[:450]])[0]) == 450 else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert np.array_equal(fixed([x])[0], wanted)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_runs_it_too() -> None:
    found = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, check=False, timeout=100)
    assert found.returncode == 0, found.stderr


def test_two_inputs_that_are_one_array_are_one_constant(engine: Any) -> None:
    table = draw(10, 6)
    program = traced(lambda x, u, v: x * u + v, ((10, 6), "f32"), ((10, 6), "f32"), ((10, 6), "f32"))
    fixed = engine.prepare_fixed(program, {1: table, 2: table})
    assert fixed.runner.form.constants == (table.nbytes,)
    np.testing.assert_allclose(fixed([table])[0], table * table + table, rtol=1e-6)


@pytest.mark.parametrize("device", [Cpu(), Fusion(NdArray()), Fusion(Reference())], ids=repr)
def test_devices_that_record_take_programs_with_constants(device: Any) -> None:
    program = traced(lambda x, w: burn.tensor.activation.softmax(x.matmul(w), 1), ((3, 4), "f32"), ((4, 5), "f32"))
    x, w = (device.below.from_host(draw(*shape)) for shape in ((3, 4), (4, 5)))
    (made,) = device.prepare_fixed(program, {1: w})([x])
    product = np.exp(draw(3, 4) @ draw(4, 5))
    np.testing.assert_allclose(device.below.to_host(made), product / product.sum(1, keepdims=True), rtol=1e-5)
