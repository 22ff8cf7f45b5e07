"""Capture of functions that change things: state cells, optimizers, names bound anew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import burn
from burn import CaptureWarning, Cpu, Fusion, NdArray, Tensor
from burn.tree import flatten, map_leaves, unflatten

DEVICES = pytest.mark.parametrize("device", [Cpu(), Fusion(NdArray())], ids=repr)


class Weight(Tensor):
    """A leaf with a token: a parameter with a name."""

    __slots__ = ("name",)

    def __init__(self, tensor: Any, name: str) -> None:
        super().__init__(tensor.handle, tensor.device, tensor.dtype, tensor.shape)
        self.name = name

    @property
    def __tree_token__(self) -> str:
        return self.name

    @classmethod
    def __untree__(cls, token: str, children: Any) -> Weight:
        return cls(children[0], token)


class Cell:
    """A mutable node of one tensor."""

    def __init__(self, value: Any, label: str = "cell") -> None:
        self.value, self.label = value, label
        self.updates = 0

    def __tree__(self) -> Any:
        return [self.value], self.label

    @classmethod
    def __untree__(cls, token: str, children: Any) -> Cell:
        return cls(children[0], token)

    def __tree_update__(self, token: str, children: Any) -> None:
        self.label, self.updates = token, self.updates + 1
        (self.value,) = children


@dataclass
class Moments:
    first: Any
    second: Any
    time: float


class Adam:
    """A mutable node with a dict of states that fills at the first step, and a float clock in each."""

    def __init__(self) -> None:
        self.states: dict[str, Moments] = {}

    def __tree__(self) -> Any:
        return list(self.states.values()), tuple(self.states)

    @classmethod
    def __untree__(cls, token: Any, children: Any) -> Adam:
        made = cls()
        made.__tree_update__(token, children)
        return made

    def __tree_update__(self, token: Any, children: Any) -> None:
        self.states = dict(zip(token, children, strict=True))

    def step(self, rate: Any, model: Any, grads: Any) -> Any:
        leaves, structure = flatten(model)
        done: dict[int, Any] = {}
        for leaf in leaves:
            if id(leaf) not in done:
                done[id(leaf)] = self._one(rate, leaf, grads) if isinstance(leaf, Weight) else leaf
        return unflatten(structure, [done[id(leaf)] for leaf in leaves])

    def _one(self, rate: Any, weight: Weight, grads: Any) -> Any:
        gradient = weight.grad(grads)
        old = self.states.get(weight.name)
        first, second, time = (gradient * 0.1, gradient * gradient * 0.001, 1.0)
        if old is not None:
            first, second, time = old.first * 0.9 + first, old.second * 0.999 + second, old.time + 1.0
        self.states[weight.name] = Moments(first, second, time)
        update = first * (rate / (1.0 - 0.9**time)) / ((second / (1.0 - 0.999**time)).sqrt() + 1e-6)
        return Tensor.from_inner(weight.inner() - update).require_grad()


@dataclass
class Model:
    """Two layers with tied weights and a running mean."""

    up: Any
    down: Any
    bias: Any
    mean: Cell

    def __call__(self, x: Any) -> Any:
        hidden = x.matmul(self.up)
        now = hidden.inner().mean_dim(0)
        self.mean.value = self.mean.value * 0.9 + now * 0.1
        return (hidden + self.bias).tanh().matmul(self.down)


def fresh(device: Any) -> tuple[Model, Adam, Any]:
    generator = np.random.default_rng(0)

    def weight(name: str, *shape: int) -> Weight:
        array = generator.normal(size=shape).astype(np.float32)
        return Weight(burn.tensor(array, device=device.autodiff()).require_grad(), name)

    tied = weight("tied", 4, 4)
    mean = Cell(burn.tensor(np.zeros((1, 4), np.float32), device=device))
    x = burn.tensor(generator.normal(size=(8, 4)).astype(np.float32), device=device)
    return Model(tied, tied, weight("bias", 4), mean), Adam(), x


def contents(model: Model, optim: Adam) -> list[Any]:
    found = [model.up, model.down, model.bias, model.mean.value]
    found += [each for state in optim.states.values() for each in (state.first, state.second)]
    return [np.asarray(each).copy() for each in found] + [np.float64(s.time) for s in optim.states.values()]


def assert_equal(one: list[Any], other: list[Any]) -> None:
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        np.testing.assert_allclose(left, right, rtol=2e-5, atol=1e-6)


def train(device: Any, style: str, wrap: Any) -> tuple[Any, list[Any], list[Any]]:
    """Twenty steps: the function that took them, the losses, and what model and optimizer hold then."""
    model, optim, x = fresh(device)

    def by_arguments(model, optim, x, rate):
        loss = (model(x) - x).powf(2.0).mean()
        return optim.step(rate, model, loss.backward()), loss.inner()

    def by_closure(rate):
        nonlocal model
        loss = (model(x) - x).powf(2.0).mean()
        model = optim.step(rate, model, loss.backward())
        return loss.inner()

    class Trainer:
        def __init__(self) -> None:
            self.model, self.optim = model, optim

        def __tree__(self) -> Any:
            return [self.model, self.optim], None

        def __tree_update__(self, token: Any, children: Any) -> None:
            self.model, self.optim = children

        @wrap
        def step(self, rate):
            loss = (self.model(x) - x).powf(2.0).mean()
            self.model = self.optim.step(rate, self.model, loss.backward())
            return loss.inner()

    trainer, losses = Trainer(), []
    step = {"arguments": wrap(by_arguments), "closure": wrap(by_closure), "method": trainer.step}[style]
    for number in range(20):
        rate = 0.1 / (number + 1)
        if style == "arguments":
            model, loss = step(model, optim, x, rate)
        else:
            loss = step(rate)
        losses.append(np.float64(loss.item()))
    if style == "method":
        assert trainer.optim is optim
        model, step = trainer.model, Trainer.step
    assert model.up is model.down, "tied weights stay tied"
    assert model.up.is_require_grad()
    return step, losses, contents(model, optim)


@DEVICES
@pytest.mark.parametrize("style", ["arguments", "closure", "method"])
def test_twenty_steps_captured_are_twenty_plain_steps(device: Any, style: str) -> None:
    _, losses, held = train(device, style, lambda function: function)
    step, captured_losses, captured_held = train(device, style, burn.compile)
    assert len(step.ready) == 1
    assert step.plain == {}
    assert step.calls == 17
    assert_equal(losses, captured_losses)
    assert_equal(held, captured_held)
    assert losses[-1] < losses[0]
    assert captured_held[-1] == 20.0


@DEVICES
def test_a_model_kept_aside_is_a_true_snapshot(device: Any) -> None:
    model, optim, x = fresh(device)

    @burn.compile
    def step(model, rate):
        loss = (model(x) - x).powf(2.0).mean()
        return optim.step(rate, model, loss.backward())

    kept = []
    for _ in range(8):
        before = contents(model, optim)[:3]
        new = step(model, 0.05)
        assert new.mean is not model.mean, "the result of a step has a cell of its own"
        kept.append((model, before, np.asarray(model.mean.value).copy()))
        model = new
    assert len(step.ready) == 1
    for old, before, mean in kept:
        for now, then in zip((old.up, old.down, old.bias), before, strict=True):
            np.testing.assert_array_equal(now, then)
        np.testing.assert_array_equal(old.mean.value, mean)
    assert len({tuple(mean.ravel()) for *_, mean in kept}) == 8


@DEVICES
def test_an_exception_leaves_behind_what_it_leaves_behind_in_a_plain_call(device: Any) -> None:
    def train(capture: bool) -> tuple[list[Any], Any]:
        names, optim, x = fresh(device)
        fail = False

        def step(rate):
            nonlocal names
            loss = (names(x) - x).powf(2.0).mean()
            names = optim.step(rate, names, loss.backward())
            if fail:
                raise KeyError("inside")
            return loss.inner()

        run = burn.compile(step) if capture else step
        history = []
        for number in range(6):
            run(0.1 / (number + 1))
            fail = True
            with pytest.raises(KeyError):
                run(0.2 / (number + 1))
            fail = False
            history.append(contents(names, optim))
            assert all(type(state.time) is float for state in optim.states.values())
        return history, run

    (plain, _), (captured, run) = train(False), train(True)
    for one, other in zip(plain, captured, strict=True):
        assert_equal(other, one)
    assert run.calls >= 3


def test_a_plan_that_fails_changes_nothing() -> None:
    device = Cpu()
    cell = Cell(burn.tensor([1.0, 2.0, 3.0], device=device))

    @burn.compile
    def pick(index):
        cell.value = cell.value + 1.0
        return cell.value.select(0, index)

    good, bad = (Tensor.from_ints([each], device) for each in (1, 7))
    for _ in range(4):
        pick(good)
    assert pick.calls == 2
    with pytest.raises(IndexError):
        pick(bad).tolist()
    assert cell.value.tolist() == [5.0, 6.0, 7.0]
    assert pick(good).tolist() == [7.0]


@DEVICES
def test_cells_that_are_only_read_are_inputs(device: Any) -> None:
    cell = Cell(burn.tensor([2.0], device=device))
    captured = burn.compile(lambda x, cell: x * cell.value)
    for number in range(5):
        assert captured(burn.tensor([3.0], device=device), cell).tolist() == [6.0 + 3.0 * number]
        assert cell.updates == 0
        cell.value = cell.value + 1.0
    assert len(captured.ready) == 1


@DEVICES
def test_a_cell_found_twice_is_one_cell(device: Any) -> None:
    def swap(one, other, x):
        one.value = one.value + x
        other.value = other.value * 2.0
        return one.value

    captured = burn.compile(swap)
    x = burn.tensor([1.0], device=device)
    cell = Cell(burn.tensor([1.0], device=device))
    twice = [captured(cell, cell, x).item() for _ in range(4)]
    assert twice == [4.0, 10.0, 22.0, 46.0]
    assert cell.value.item() == 46.0
    left, right = Cell(x), Cell(x * 3.0)
    for _ in range(4):
        captured(left, right, x)
    assert (left.value.item(), right.value.item()) == (5.0, 48.0)
    assert len(captured.ready) == 2


@DEVICES
def test_a_token_that_changes_is_committed_and_is_another_key(device: Any) -> None:
    def toggle(cell, x):
        cell.label = "odd" if cell.label == "even" else "even"
        return x + 1.0

    captured = burn.compile(toggle)
    cell, x = Cell(burn.tensor([0.0], device=device), "even"), burn.tensor([1.0], device=device)
    labels = []
    for _ in range(8):
        captured(cell, x)
        labels.append(cell.label)
    assert labels == ["odd", "even"] * 4
    assert len(captured.ready) == 2
    assert captured.calls == 4


@DEVICES
def test_checking_does_not_advance_the_state_twice(device: Any) -> None:
    results = []
    for check in (0, 1):
        model, optim, x = fresh(device)

        def step(model, rate, optim=optim, x=x):
            loss = (model(x) - x).powf(2.0).mean()
            return optim.step(rate, model, loss.backward())

        captured = burn.compile(step, check=check)
        for _ in range(8):
            model = captured(model, 0.05)
        results.append(contents(model, optim))
        assert captured.calls == 5
    assert_equal(*results)
    assert results[1][-1] == 8.0


def test_checking_sees_state_that_differs() -> None:
    factor = [2.0]

    def helper() -> float:
        return factor[0]

    def step(cell):
        cell.value = cell.value * helper()

    captured = burn.compile(step, check=1, ignore=["factor"])
    cell = Cell(burn.tensor([1.0], device=Cpu()))
    for _ in range(4):
        captured(cell)
    factor[0] = 3.0
    with pytest.raises(AssertionError, match="than a plain call"):
        captured(cell)


counter = None


@DEVICES
def test_globals_bound_anew_are_results(device: Any) -> None:
    global counter
    counter = burn.tensor([0.0], device=device)

    @burn.compile
    def count(by):
        global counter
        counter = counter + by
        return counter * 10.0

    by = burn.tensor([2.0], device=device)
    assert [count(by).item() for _ in range(5)] == [20.0, 40.0, 60.0, 80.0, 100.0]
    assert counter.item() == 10.0
    assert count.calls == 3


@DEVICES
def test_numbers_in_mutable_objects_are_numbers_of_the_moment(device: Any) -> None:
    class Clock:
        def __init__(self) -> None:
            self.time, self.scale = 0.0, 2.0

        def __tree__(self) -> Any:
            return [self.time, self.scale], None

        def __tree_update__(self, token: Any, children: Any) -> None:
            self.time, self.scale = children

    clock = Clock()

    @burn.compile
    def tick(x):
        clock.time = clock.time + 1.0
        return x * clock.time * clock.scale

    x = burn.tensor([1.0], device=device)
    assert [tick(x).item() for _ in range(4)] == [2.0, 4.0, 6.0, 8.0]
    clock.scale = 10.0
    assert [tick(x).item() for _ in range(2)] == [50.0, 60.0]
    assert clock.time == 6.0
    assert type(clock.time) is float
    assert len(tick.ready) == 1


@DEVICES
def test_a_number_in_the_surroundings_guards_the_capture(device: Any) -> None:
    settings = {"scale": 2.0, "power": 2}
    captured = burn.compile(lambda x: x.powi(settings["power"]) * settings["scale"])
    x = burn.tensor([3.0], device=device)
    assert [captured(x).item() for _ in range(3)] == [18.0] * 3
    settings["scale"] = 3.0
    assert [captured(x).item() for _ in range(3)] == [27.0] * 3
    settings["power"] = 3
    assert [captured(x).item() for _ in range(3)] == [81.0] * 3


@DEVICES
def test_an_argument_changed_in_place_runs_plainly(device: Any) -> None:
    def reverse(pair, rate):
        pair["a"], pair["b"] = pair["b"], pair["a"]
        pair["rate"] = rate * 0.5
        return pair["a"] * rate

    captured = burn.compile(reverse)
    pair = {"a": burn.tensor([1.0], device=device), "b": burn.tensor([2.0], device=device), "rate": 1.0}
    with pytest.warns(CaptureWarning, match="an argument is changed in place"):
        assert captured(pair, 1.0).item() == 2.0
    assert pair["rate"] == 0.5
    assert captured(pair, 1.0).item() == 1.0
    assert captured(pair, 1.0).item() == 2.0


@DEVICES
def test_a_list_of_tensors_changed_in_place_runs_plainly(device: Any) -> None:
    pair = [burn.tensor([1.0], device=device), burn.tensor([2.0], device=device)]

    def rotate(x):
        pair.reverse()
        return pair[0] * x

    captured = burn.compile(rotate)
    x = burn.tensor([1.0], device=device)
    with pytest.warns(CaptureWarning, match="pair is changed in place"):
        captured(x)
    assert [captured(x).item() for _ in range(4)] == [1.0, 2.0, 1.0, 2.0]


@DEVICES
def test_a_captured_function_inside_another_is_part_of_it(device: Any) -> None:
    inner = burn.compile(lambda x: x * 2.0)
    outer = burn.compile(lambda x: inner(x) + 1.0)
    x = burn.tensor([1.0], device=device)
    for _ in range(3):
        assert inner(x).item() == 2.0
    assert [outer(x).item() for _ in range(4)] == [3.0] * 4
    assert len(outer.ready) == 1


def test_an_argument_with_a_graph_from_outside_runs_plainly() -> None:
    x = burn.tensor([1.0], device=Cpu().autodiff()).require_grad()
    captured = burn.compile(lambda y: (y * 3.0).backward())
    with pytest.warns(CaptureWarning, match="an argument carries a graph"):
        grads = captured(x * 2.0)
    assert x.grad(grads).item() == 6.0


def test_a_tensor_of_another_device_runs_plainly() -> None:
    captured = burn.compile(lambda x, y: (x * 2.0, y * 2.0))
    one, other = burn.tensor([1.0], device=Cpu()), burn.tensor([2.0], device=NdArray())
    with pytest.warns(CaptureWarning, match=r"a tensor lives on NdArray\(\), the others on Cpu\(\)"):
        assert [each.item() for each in captured(one, other)] == [2.0, 4.0]


@DEVICES
def test_results_may_be_inputs_in_other_clothes(device: Any) -> None:
    def dress(x):
        return x.inner(), Tensor.from_inner(x.inner()).require_grad()

    captured = burn.compile(dress)
    for number in range(4):
        x = burn.tensor([float(number)], device=device.autodiff()).require_grad()
        plain, tracked = captured(x)
        assert plain.item() == tracked.item() == number
        assert plain.device is device
        assert tracked.is_require_grad()
        assert tracked.handle.node is not x.handle.node
    assert captured.calls == 2


# Trees


def test_leaves_with_tokens_are_nodes_of_one_leaf() -> None:
    one = Weight(burn.tensor([1.0], device=NdArray()), "one")
    leaves, structure = flatten([one, one])
    assert leaves[0] is leaves[1] is one
    assert structure.children[0].kind is Weight
    assert structure.children[0].token == "one"
    same = unflatten(structure, leaves)
    assert same[0] is same[1] is one
    plain = burn.tensor([2.0], device=NdArray())
    tied = unflatten(structure, [plain, plain])
    assert tied[0] is tied[1]
    assert (type(tied[0]), tied[0].name, tied[0].item()) == (Weight, "one", 2.0)
    apart = unflatten(structure, [plain, burn.tensor([2.0], device=NdArray())])
    assert apart[0] is not apart[1]
    other = flatten([Weight(plain, "one"), Weight(plain, "two")])
    assert structure != other[1]


def test_mutable_nodes_found_twice_are_one_in_the_copy() -> None:
    cell = Cell(1.0)
    leaves, structure = flatten({"a": cell, "b": [cell, Cell(2.0)]})
    assert leaves == [1.0, 2.0]
    made = unflatten(structure, [3.0, 4.0])
    assert made["a"] is made["b"][0] is not cell
    assert (made["a"].value, made["b"][1].value, cell.value) == (3.0, 4.0, 1.0)
    assert flatten({"a": cell, "b": [Cell(1.0), Cell(2.0)]})[1] != structure


def test_mapping_keeps_what_is_tied_together() -> None:
    one = Weight(burn.tensor([1.0], device=NdArray()), "one")
    made = map_leaves(lambda leaf: leaf * 2.0, {"a": one, "b": [one]})
    assert made["a"] is made["b"][0]
    assert made["a"].item() == 2.0


def test_a_class_may_answer_from_a_cache() -> None:
    class Layer:
        def __init__(self, *values: float) -> None:
            self.values, self.flat, self.asked = list(values), None, 0

        def __tree__(self) -> Any:
            self.asked += 1
            return self.values, None

        @classmethod
        def __untree__(cls, token: Any, children: Any) -> Layer:
            return cls(*children)

        def __flat__(self) -> Any:
            return self.flat

    layer = Layer(1.0, 2.0)
    layer.flat = flatten(layer)
    leaves, structure = flatten([0.5, layer])
    assert leaves == [0.5, 1.0, 2.0]
    assert layer.asked == 1
    assert unflatten(structure, leaves)[1].values == [1.0, 2.0]
