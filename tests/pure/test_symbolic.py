"""Sizes that may be any: what they are asked is answered, and written down."""

from __future__ import annotations

import math
import numbers
import operator
import random
from pathlib import Path

import numpy as np
import pytest

from burn import symbolic
from burn.symbolic import Assumptions, Sizes, Symbolic, bound, index, largest, likely, number, room, typical, value_of

OURS = str(Path(symbolic.__file__).parent / "anywhere.py")
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def test_arithmetic_is_an_expression_and_asks_nothing():
    found = Assumptions()
    n, m = found.symbol(24), found.symbol(3)
    for value, expected in (
        (n + 1, 25), (1 + n, 25), (n - m, 21), (30 - n, 6), (n * m, 72), (2 * n, 48), (-(-n // 7), 4), (n % 7, 3),
        (math.prod((2, n, m)), 144), (sum((n, m)), 27), (divmod(n, 7)[1], 3),
    ):  # fmt: skip
        assert isinstance(value, Symbolic)
        assert value_of(value) == expected
    assert n - n == 0
    assert (n * 64) // 64 == n
    assert (n * 4) % 4 == 0
    assert len(found) == 0


def test_a_comparison_is_an_assumption_with_the_line_that_asked():
    found = Assumptions()
    n = found.symbol(24)
    assert n > 16
    holds = found.function()
    assert [size for size in (1, 16, 17, 24, 300) if holds(size)] == [17, 24, 300]
    assert n == 24
    assert not found.function()(25)
    ((_, place),) = found.fixed().items()
    assert "test_symbolic.py" in place


def test_what_is_certain_is_no_assumption():
    found = Assumptions()
    n = found.symbol(5)
    assert n >= 1
    assert n + 1 > n
    assert n != 0
    assert not n * 2 < 2
    assert len(found) == 0


@pytest.mark.parametrize(
    "use",
    [int, float, str, repr, range, "{:d}".format, lambda n: np.zeros(n), lambda n: [0][n - 7], lambda n: n / 2,
     lambda n: n * 0.5, lambda n: n**2, lambda n: 1 << n, lambda n: np.array([n], np.int64), operator.index],
)  # fmt: skip
def test_whatever_needs_the_number_fixes_it(use):
    found = Assumptions()
    use(found.symbol(7))
    assert not found.function()(8)
    assert found.function()(7)


def test_sizes_of_two_recordings_are_never_one():
    one, other = Assumptions(), Assumptions()
    n, m = one.symbol(4), other.symbol(4)
    ours: dict[object, object] = {}
    exec(compile("known = {(n, 2): 'one'}; found = (m, 2) in known, (4, 2) in known, known[n, 2]", OURS, "exec"),
         {"n": n, "m": m}, ours)  # fmt: skip
    assert ours["found"] == (False, False, "one")
    assert len(one) == len(other) == 0


def test_sets_and_dicts_of_others_find_the_number():
    found = Assumptions()
    n = found.symbol(8)
    assert n in {8, 16}
    assert {8: "eight"}[n] == "eight"
    assert {(8, 3): "both"}[n, 3] == "both"
    assert not found.function()(9)


@pytest.mark.parametrize("other", [8.0, np.int64(8), np.float32(8), np.array(8)])
def test_numbers_of_other_kinds_are_compared_with_the_number(other):
    found = Assumptions()
    n = found.symbol(8)
    assert n == other
    assert other == n
    assert not found.function()(9)
    assert n != other + 1
    assert n != 8.5
    assert n != None  # noqa: E711
    assert n != "8"


def test_it_is_an_int_to_whoever_asks():
    n = Assumptions().symbol(8)
    assert isinstance(n, int)
    assert isinstance(n, numbers.Integral)
    match n:
        case int():
            kind = "int"
        case _:
            kind = "other"
    assert kind == "int"


def test_classes_and_bounds():
    found = Assumptions()
    n = found.symbol(24)
    assert typical(n) == 24
    assert [size for size in (1, 2, 256, 257) if found.function()(size)] == [2, 256]
    for function, limit in ((lambda n: bound(n, 64), 64), (lambda n: room(n, 8), 32)):
        found = Assumptions()
        assert function(found.symbol(24)) == limit
        assert found.function()(limit)
        assert not found.function()(limit + 1)
    found = Assumptions()
    n = found.symbol(3)
    assert (likely(n), value_of(largest(n, 5)), typical(7), bound(65, 64), room(9, 4)) == (64, 5, 7, 128, 16)
    assert len(found) == 0


def test_indices_pass_and_numbers_are_ints():
    found = Assumptions()
    n = found.symbol(3)
    assert index(n) is n
    assert index(np.int64(4)) == 4
    assert len(found) == 0
    assert number(n) == 3
    assert len(found.fixed()) == 1
    with pytest.raises(TypeError):
        index("3")


def test_sizes_are_put_in_place():
    found = Assumptions()
    n, m = found.symbol(4), found.symbol(5)
    sizes = Sizes(found.names, [6, 7])
    nest = {"a": [n * m, (n, "text", 2)], "b": -(-n // 4)}
    assert sizes.all(nest) == {"a": [42, (6, "text", 2)], "b": 2}
    untouched = (1, (2, "x"))
    assert sizes.all(untouched) is untouched


def _expression(chooser: random.Random, leaves: list[int], depth: int = 0) -> str:
    if depth > 3 or chooser.random() < 0.25:
        return chooser.choice([f"x{each}" for each in leaves] + [str(chooser.randrange(1, 9))])
    left, right = (_expression(chooser, leaves, depth + 1) for _ in range(2))
    match chooser.randrange(7):
        case 0:
            return f"({left} + {right})"
        case 1:
            return f"({left} - {right})"
        case 2:
            return f"({left} * {right})"
        case 3:
            return f"({left} // {chooser.randrange(1, 9)})"
        case 4:
            return f"({left} % {chooser.randrange(1, 9)})"
        case 5:
            return f"max({left}, {right})"
        case _:
            return f"-(-{left} // {chooser.randrange(1, 9)})"


@pytest.mark.parametrize("seed", range(200))
def test_expressions_and_assumptions_agree_with_python(seed):
    """Where the assumptions hold, the same code gives the same answers with other numbers."""
    chooser = random.Random(seed)
    texts = [_expression(chooser, [0, 1]) for _ in range(4)]
    questions = [(chooser.choice(COMPARISONS), *chooser.sample(range(4), 2)) for _ in range(3)]

    def run(x0, x1):
        values = [eval(text, {"x0": x0, "x1": x1, "max": max}) for text in texts]
        return values, [bool(asked(values[one], values[other])) for asked, one, other in questions]

    found = Assumptions()
    given = [chooser.randrange(1, 40) for _ in range(2)]
    values, answers = run(*(found.symbol(each) for each in given))
    assert ([value_of(each) for each in values], answers) == run(*given)
    holds = found.function()
    assert holds(*given)
    for _ in range(60):
        others = [chooser.randrange(1, 60) for _ in range(2)]
        if holds(*others):
            sizes = Sizes(found.names, others)
            assert (sizes.all(values), answers) == run(*others)
