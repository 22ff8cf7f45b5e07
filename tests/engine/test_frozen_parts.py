"""What frozen plans are made of: functions of sizes, rooms, forms as data; and what happens when memory runs out."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from burn import Cpu
from burn.backend.cpu.frozen.encoding import decode, encode
from burn.backend.cpu.frozen.expressions import function_of, of_form
from burn.backend.cpu.frozen.form import ROOM, WORD, Check, Described, Form, Found, Slot, Step
from burn.backend.cpu.frozen.rooms import Life, arrange, largest
from burn.backend.cpu.frozen.sums import PIECE, sums
from burn.dim import Dim, Linear, TooComplex, floor, floor_divide, maximum, minimum
from burn.errors import OutOfMemory
from burn.symbolic import Assumptions
from tests.engine.recorded import traced

NAMES = ("s0", "?found", "lengt\u00e9", "s3")


def expression(chooser: random.Random, depth: int = 4) -> Linear:
    """Something over the named sizes."""
    if depth == 0 or chooser.random() < 0.2:
        return Dim(chooser.choice(NAMES)) if chooser.random() < 0.7 else chooser.randrange(-9, 50)
    left, right = expression(chooser, depth - 1), expression(chooser, depth - 1)
    way = chooser.randrange(7)
    try:
        if way == 0:
            return left + right
        if way == 1:
            return left - right
        if way == 2:
            return left * right
        if way == 3:
            return floor_divide(left, chooser.randrange(1, 9))
        if way == 4:
            return maximum(left, right)
        if way == 5:
            return minimum(left, right)
        return floor(left * Fraction(1, 2) + right * Fraction(2, 3)) if isinstance(left, Dim) else left
    except TooComplex:
        return left


def form_of(expressions: list[Linear], assumptions: tuple[tuple[str, Dim], ...] = ()) -> Form:
    return Form(
        kernels=("kernel",),
        steps=(Step(0, 0, 1, 1, "a step"),),
        slots=tuple(Slot(WORD, 0, each) for each in expressions),
        given=(Described(tuple(map(Dim, NAMES)), "f32"), Described((3, Dim("s0") * 2), "i64")),
        results=(Described((Dim("s0"), 4), "f32"),),
        outputs=(2,),
        constants=(),
        rooms=((Dim("s0") * 8, Dim("s3") * 3), (100,)),
        checks=(Check("select", 1, Dim("s3")),),
        sizes=tuple(Found(name, 0, dim) for dim, name in enumerate(NAMES)),
        assumptions=assumptions,
    )


@pytest.mark.parametrize("seed", range(20))
def test_functions_compute_what_expressions_mean(seed: int) -> None:
    chooser = random.Random(seed)
    form = form_of([expression(chooser) for _ in range(30)])
    assert decode(encode(form)) == form
    dims = of_form(form)
    function = function_of(form, dims)
    for _ in range(10):
        sizes = {name: chooser.randrange(1, 60) for name in NAMES}
        shapes = (tuple(sizes.values()), (3, 2 * sizes["s0"]))
        found = function(shapes)
        assert found is not None
        values, rooms, results, checks = found
        assert list(values) == [dim.substitute(sizes) for dim in dims]
        assert rooms == (max(8 * sizes["s0"], 3 * sizes["s3"]), 100)
        assert results == ((sizes["s0"], 4),)
        assert checks == (sizes["s3"],)


def test_functions_tell_what_does_not_fit() -> None:
    s0, s3 = Dim("s0"), Dim("s3")
    given = ((">=", s0 - s3), ("!=", s0 - 7), ("==", s0 - floor_divide(s0, 2) * 2 - 1))
    function = function_of(form_of([], given), [])  # type: ignore[arg-type]
    assert function(((5, 0, 1, 5), (3, 10))) is not None
    for sizes in ((5, 0, 1, 6), (7, 0, 1, 5), (6, 0, 1, 5), (0, 0, 1, 0), (5, 0, 0, 5), (-1, 0, 1, -1)):
        assert function((sizes, (3, 2 * sizes[0]))) is None
    assert function(((5, 0, 1, 5), (3, 11))) is None
    assert function(((5, 0, 1, 5), (4, 10))) is None
    for shapes in (((5, 0, 1, 5),), ((5, 0, 1), (3, 10)), ((5, 0, 1, 5), (3, 10, 1))):
        with pytest.raises(ValueError, match="unpack"):
            function(shapes)


def test_names_are_no_source() -> None:
    name = "exit() or open"
    size = Dim.__new__(Dim)
    size._set((((name,), 1),))
    form = Form(
        (), (), (Slot(WORD, 0, size * 2),), (Described((size,), "f32"),), (), (), (), (), (), (Found(name, 0, 0),)
    )
    function = function_of(form, of_form(form))
    assert function(((4,),)) == ((8,), (), (), ())


@pytest.mark.parametrize("seed", range(10))
def test_values_that_are_alive_together_have_rooms_of_their_own(seed: int) -> None:
    chooser = random.Random(seed)
    sizes = {"a": 13, "b": 40}
    lives = []
    for number in range(30):
        first = chooser.randrange(20)
        size = Dim("a") * chooser.randrange(1, 100) + Dim("b") * chooser.randrange(3) + chooser.randrange(50)
        assert isinstance(size, Dim)
        lives.append(Life(number, size, int(size.substitute(sizes)), first, first + chooser.randrange(6)))  # type: ignore[call-overload]
    rooms, where = arrange(lives)
    assert 1 < len(rooms) < len(lives)
    for other in ({"a": 1, "b": 1}, sizes, {"a": 1, "b": 9000}, {"a": 7000, "b": 2}):
        bytes_of = [max(each if isinstance(each, int) else each.substitute(other) for each in room) for room in rooms]
        for one in lives:
            room, offset = where[one.number]
            assert offset == 0
            assert one.bytes.substitute(other) <= bytes_of[room]  # type: ignore[union-attr]
            for two in lives:
                if one.number < two.number and one.first <= two.last and two.first <= one.last:
                    assert where[two.number][0] != room


def test_rooms_of_known_sizes_are_one_arena() -> None:
    lives = [Life(0, 100, 100, 0, 2), Life(1, 64, 64, 1, 3), Life(2, 100, 100, 3, 4)]
    rooms, where = arrange(lives)
    assert rooms == ((192,),)
    assert {room for room, _ in where.values()} == {0}
    assert where[0][1] == where[2][1] != where[1][1]
    assert arrange([]) == ((), {})


def test_only_sizes_that_may_be_the_largest_count() -> None:
    n, m = Dim("n"), Dim("m")
    assert largest([n, n * 2, n + n, 1]) == (n * 2,)
    assert largest([n * 2, m * 3, n]) == (n * 2, m * 3)
    assert largest([100, n]) == (100, n)


def test_sums_are_the_same_for_parts_and_for_what_they_fill() -> None:
    data = np.arange(3 * PIECE + 5, dtype=np.uint8)
    padded = [-(-data.size // 64) * 64, 64, 64]
    whole = memoryview(data.tobytes() + bytes(padded[0] - data.size))
    short = memoryview(b"abc")
    first = sums([memoryview(data), short, memoryview(b"")], padded)
    assert first == sums([whole, memoryview(b"abc" + bytes(61)), memoryview(bytes(64))], padded)
    assert len(first) == 32 * 6
    assert first != sums([whole, memoryview(b"abd"), memoryview(b"")], padded)
    assert sums([], []) == b""


def test_memory_that_cannot_be_had_ends_one_run_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    device: Any = Cpu(kept_memory=1 << 18)
    engine = device.below
    rows = Assumptions().symbol(40)
    fixed = engine.prepare_fixed(traced(lambda x: (x.exp(), x.sum_dim(1)), ((rows, 500), "f32")), {})
    x = np.ones((50, 500), np.float32)
    wanted = fixed([x])

    def refuse(*_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(engine._memory, "array", refuse)
        with pytest.raises(OutOfMemory, match=r"plan: shape \(50, 500\) of f32 needs 100,000 bytes"):
            fixed([x])
    for mine, other in zip(fixed([x]), wanted, strict=True):
        np.testing.assert_array_equal(mine, other)


def test_slots_of_rooms_are_counted_from_their_beginning() -> None:
    n = Dim("n")
    slots, given = (Slot(ROOM, 0, n * 4), Slot(ROOM, 1, 0)), (Described((n,), "f32"),)
    rooms, sizes = ((n * 5,), (7,)), (Found("n", 0, 0),)
    form = Form(("kernel",), (Step(0, 0, 1, 1, ""),), slots, given, (), (), (), rooms, sizes=sizes)
    assert decode(encode(form)) == form
    assert form.is_symbolic
    assert not form.is_shared
