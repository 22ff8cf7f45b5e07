"""Run-time numbers that escape a captured function, and ints that change with every call."""

from __future__ import annotations

import warnings

import pytest

import burn
from burn import Cpu, Tensor
from burn.capture import CaptureWarning


def ones() -> Tensor:
    return Tensor.ones([3], Cpu())


@pytest.mark.parametrize("computed", [False, True])
def test_a_number_that_is_kept_somewhere_is_a_leaked_side_effect(computed):
    kept = {}

    class Keeper:
        def keep(self, number):
            kept["rate"] = number

    keeper = Keeper()

    @burn.compile
    def scaled(x, rate):
        keeper.keep(rate * 2.0 if computed else rate)
        return x * rate

    with pytest.warns(CaptureWarning, match=r"kept\[.rate.\] is changed|kept is changed"):
        found = [scaled(ones(), rate).numpy()[0] for rate in (0.5, 0.25, 0.125)]
    assert found == [0.5, 0.25, 0.125]
    assert float(kept["rate"]) == (0.25 if computed else 0.125)


def test_numbers_that_are_results_or_used_up_are_no_leak():
    @burn.compile
    def scaled(x, rate):
        half = rate * 0.5
        return x * half, half

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rate in (1.0, 2.0, 3.0, 4.0):
            found, half = scaled(ones(), rate)
            assert half == rate * 0.5
            assert found.numpy()[0] == rate * 0.5
    assert scaled.calls == 2


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda f, x, i: f(x, i), "the int step,"),
        (lambda f, x, i: f(x, step=i), "the int step,"),
        (lambda f, x, i: f(x, {"count": [i]}), r"the int step\['count'\]\[0\],"),
    ],
)
def test_an_int_that_keeps_changing_is_named_once(call, name):
    @burn.compile
    def shifted(x, step):
        return x + 1.0

    with pytest.warns(CaptureWarning, match=name) as found:
        _ = [call(shifted, ones(), step) for step in range(30)]
    assert len(found) == 1


def test_a_counter_in_the_surroundings_is_named():
    step = 0

    @burn.compile
    def shifted(x):
        return x + float(step)

    def counted():
        nonlocal step
        step += 1
        return shifted(ones()).numpy()[0]

    with pytest.warns(CaptureWarning, match="the int step,"):
        found = [counted() for _ in range(20)]
    assert found == [2.0 + each for each in range(20)]


def test_a_few_values_of_an_int_are_worth_no_word():
    @burn.compile
    def repeated(x, times):
        for _ in range(times):
            x = x + 1.0
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for round in range(12):
            times = 1 + round % 4
            assert repeated(ones(), times).numpy()[0] == 1.0 + times
