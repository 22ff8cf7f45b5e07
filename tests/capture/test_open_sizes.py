"""Functions that are called with many sizes: one recording with open sizes serves them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import burn
from burn import Tensor, nn
from burn.errors import ArgumentError
from tests.fuzz import sizes

DEVICE = burn.Cpu()


def words(batch, length, width=16, device=DEVICE):
    made = np.random.default_rng(length).standard_normal((batch, length, width)).astype(np.float32)
    return burn.tensor(made, device=device)


def equal(one, other):
    return np.array_equal(one.numpy(), other.numpy(), equal_nan=True)


class Block(burn.Module):
    hidden: nn.Linear
    norm: nn.LayerNorm

    def __init__(self):
        self.hidden = nn.LinearConfig(16, 16).init(DEVICE)
        self.norm = nn.LayerNormConfig(16).init(DEVICE)

    def forward(self, x):
        batch, length, width = x.shape
        q = self.hidden(x).reshape([batch, length, 4, width // 4]).permute([0, 2, 1, 3])
        found = (q.matmul(q.swap_dims(2, 3)) * 0.5).softmax(-1).matmul(q)
        return self.norm(x + found.permute([0, 2, 1, 3]).reshape([batch, length, width]))


def test_two_hundred_lengths_share_plans_and_are_equal_to_eager_calls():
    model, calls = Block(), []

    def run(model, x):
        calls.append(x.shape[1])
        return model(x)

    captured = burn.compile(run, ignore=["calls"], notice=pytest.fail)
    for length in range(5, 205):
        x = words(1, length)
        assert equal(captured(model, x), model(x)), length
    assert len(calls) <= 16  # twice for each class of lengths
    assert captured.open_captures() <= 6
    assert len(captured.ready) <= 64


def test_batches_and_lengths_open_at_once():
    model = Block()
    captured = burn.compile(lambda model, x: model(x), notice=pytest.fail)
    for batch, length in ((2, 20), (3, 30), (4, 31), (9, 77), (2, 20), (16, 200), (1, 20), (3, 1)):
        x = words(batch, length)
        assert equal(captured(model, x), model(x)), (batch, length)


def test_a_branch_on_a_size_goes_both_ways():
    def run(x):
        return x * 2.0 if x.shape[1] > 32 else x - 1.0

    captured = burn.compile(run, notice=pytest.fail)
    for length in (8, 9, 10, 40, 41, 10, 33, 32):
        x = words(1, length)
        assert equal(captured(x), run(x)), length


def test_a_loop_over_a_size_is_recorded_for_each():
    def run(x):
        total = x[:, 0]
        for step in range(1, x.shape[1]):
            total = total * 0.5 + x[:, step]
        return total

    captured = burn.compile(run, notice=pytest.fail)
    for length in (2, 3, 4, 3, 2, 6, 4):
        x = words(1, length)
        assert equal(captured(x), run(x)), length


def test_sizes_that_were_equal_may_part():
    def run(x, y):
        return x * y if x.shape[0] == y.shape[0] else x.sum() + y.sum()

    captured = burn.compile(run, notice=pytest.fail)
    for one, other in ((3, 3), (4, 4), (5, 5), (6, 7), (8, 9), (9, 9), (2, 5)):
        x, y = Tensor.ones([one], DEVICE), Tensor.ones([other], DEVICE) * 2.0
        assert equal(captured(x, y), run(x, y)), (one, other)


def test_other_sizes_stay_what_they_are():
    captured = burn.compile(lambda x: x * 2.0, notice=pytest.fail)
    for shape in ((2, 5), (2, 6), (2, 7), (3, 7), (3, 8), (4, 9)):
        assert captured(Tensor.ones(shape, DEVICE)).shape == shape


def test_a_shape_as_a_result():
    captured = burn.compile(lambda x: (x.sum(), x.shape[0], tuple(x.shape)), notice=lambda reason: None)
    for size in (3, 4, 5, 6):
        total, first, shape = captured(Tensor.ones([size, 2], DEVICE))
        assert (total.item(), first, shape) == (2.0 * size, size, (size, 2))
        assert type(first) is int


def test_training_steps_of_other_batches():
    device = DEVICE.autodiff()

    def trained(compiled):
        DEVICE.seed(3)
        model = nn.LinearConfig(4, 3).init(device)
        adam = burn.optim.AdamConfig().init()

        def step(model, x):
            loss = (model(x).square() * 0.5).mean()
            return loss, adam.step(0.01, model, loss.backward())

        run = burn.compile(step, notice=pytest.fail) if compiled else step
        losses = []
        for batch in (8, 8, 8, 5, 8, 6, 7, 5, 8):
            x = burn.tensor(np.random.default_rng(batch).standard_normal((batch, 4)).astype(np.float32), device=device)
            loss, model = run(model, x)
            losses.append(loss.item())
        return losses

    assert trained(True) == pytest.approx(trained(False), rel=1e-6)


def test_dropout_goes_on_in_its_stream():
    def run(x):
        return nn.Dropout(0.5)(x)

    def draws(function):
        DEVICE.seed(11)
        device = DEVICE.autodiff()
        return [function(Tensor.ones([size, 3], device)).numpy() for size in (4, 4, 5, 6, 7, 6)]

    for mine, plain in zip(draws(burn.compile(run, notice=pytest.fail)), draws(run), strict=True):
        assert np.array_equal(mine, plain)


def test_what_is_said_up_front():
    ran = []

    def run(x, y):
        ran.append(1)
        return x.matmul(y)

    def recordings(dynamic):
        ran.clear()
        captured = burn.compile(run, ignore=["ran"], dynamic=dynamic)
        for size in (8, 9, 10, 11):
            x, y = Tensor.ones([size, 4], DEVICE), Tensor.ones([4, 5], DEVICE)
            assert equal(captured(x, y), x.matmul(y))
        return len(ran), captured.open_captures()

    assert recordings(True) == (3, 1)
    assert recordings({"x": 0}) == (3, 1)
    assert recordings({0: [0]}) == (3, 1)
    assert recordings(False) == (4, 0)


@pytest.mark.parametrize("dynamic", ["yes", 3, {"x": "first"}, {"x": None}])
def test_what_is_not_understood_is_refused(dynamic):
    with pytest.raises(ArgumentError, match="write True, False"):
        burn.compile(lambda x: x, dynamic=dynamic)


def test_explain_names_the_line_that_needs_a_number():
    captured = burn.compile(lambda x: x * float(x.shape[0]), notice=pytest.fail)
    for size in (4, 5):
        captured(Tensor.ones([size], DEVICE))
    assert "test_open_sizes.py" in captured.explain()
    assert "needs the number" in captured.explain()


def test_a_function_that_cannot_be_captured_stays_plain():
    def run(x):
        return x * 2.0 if x.sum().item() > 0 else x

    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        captured = burn.compile(run)
        for size in (3, 4, 5, 6):
            x = Tensor.ones([size], DEVICE)
            assert equal(captured(x), run(x))
    assert any("a value is read" in str(each.message) for each in found)


@pytest.mark.parametrize("seed", range(24))
def test_random_functions(seed):
    assert sizes.check(seed) is None


def ones(size):
    return Tensor.ones([size, 3], DEVICE)


LOOK_UPS = [
    lambda x: x * 2.0 if x.shape[0] in {8, 16} else x,
    lambda x: x * {8: 2.0}.get(x.shape[0], 1.0),
    lambda x: x * {(8, 3): 2.0}.get(tuple(x.shape), 1.0),
    lambda x: x * 2.0 if x.shape[0] == 8.0 else x,
    lambda x: x * 2.0 if x.shape[0] / 2 == x.shape[0] // 2 else x,
    lambda x: x * 2.0 if x.shape[0] == np.int64(8) else x,
    lambda x: x * 2.0 if isinstance(x.shape[0], int) else x,
    lambda x: x * 2.0 if type(x.shape[0]) is int else x,
    lambda x: x * 2.0 if len({x.shape[0], 8}) == 1 else x,
    lambda x: x * float(hash(x.shape[0]) % 7),
    lambda x: x.pow(x.shape[0]) * -1.5,
    lambda x: (x * -3.3) ** x.shape[0],
]


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("number", range(len(LOOK_UPS)))
def test_what_python_does_with_a_size_it_does_with_a_number(number, dynamic):
    run = LOOK_UPS[number]
    captured = burn.compile(run, notice=lambda reason: None, dynamic=dynamic)
    for size in (5, 6, 7, 8, 8, 16, 5, 9, 6, 3):
        assert equal(captured(ones(size)), run(ones(size))), size


def test_a_size_as_a_value_has_the_dtype_of_an_int():
    captured = burn.compile(lambda x: Tensor.full([3], x.shape[0], DEVICE), notice=pytest.fail)
    for size in (5, 6, 7):
        assert captured(ones(size)).dtype is Tensor.full([3], size, DEVICE).dtype
        assert captured(ones(size)).tolist() == [size] * 3


@pytest.mark.parametrize("dynamic", [None, True])
def test_functions_with_effects_run_once_a_call(dynamic):
    numbers, seen = iter(range(100)), []

    def counted(x):
        seen.append(x.shape[0])
        return x * 0.0 + float(next(numbers))

    captured = burn.compile(counted, notice=lambda reason: None, dynamic=dynamic)
    found = [captured(ones(size)).numpy()[0, 0] for size in (5, 6, 7, 8, 9, 5, 6)]
    assert found == [0, 1, 2, 3, 4, 5, 6]
    assert [type(each) for each in seen] == [int] * 7


@pytest.mark.parametrize("dynamic", [None, True])
def test_tables_that_grow_in_a_cache_stay_good(dynamic):
    class Cache:
        mask = None

    def causal(x):
        length = x.shape[0]
        if Cache.mask is None or Cache.mask.shape[0] < length:
            Cache.mask = Tensor.ones([length, length], DEVICE).tril()
        return Cache.mask[:length, :length].matmul(x)

    captured = burn.compile(causal, notice=lambda reason: None, dynamic=dynamic)
    for size in (5, 6, 6, 7, 7, 4, 9):
        expected = np.tril(np.ones((size, size), np.float32)) @ np.ones((size, 3), np.float32)
        assert np.array_equal(captured(ones(size)).numpy(), expected), size
        assert np.array_equal(causal(ones(size)).numpy(), expected), size
    assert all(type(each) is int for each in Cache.mask.shape)


@pytest.mark.parametrize("dynamic", [{"nope": 0}, {"x": 5}, {3: 0}])
def test_names_and_dims_that_are_not_there_are_refused(dynamic):
    captured = burn.compile(lambda x: x * 2.0, dynamic=dynamic)
    with pytest.raises(ArgumentError, match="dynamic names"):
        [captured(ones(size)) for size in (3, 4, 5)]
