"""Loops and branches that are recorded, against loops and branches of PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn import Tensor
from burn.backend import Autodiff, Cpu, Fusion, LibTorch, NdArray
from burn.control import cond, scan, while_loop
from burn.errors import ArgumentError, BurnError, DTypeError, ShapeError
from burn.program import Program, to_text, verify
from burn.tensor.activation import softmax
from tests.program.through_data import FORMS, came_back

DEVICES = {"ndarray": NdArray(), "fusion": Fusion(NdArray()), "cpu": Cpu(), "torch": LibTorch()}
RECORDING = ("fusion", "cpu")
GRADIENTS = {name: Autodiff(DEVICES[name]) for name in ("ndarray", "fusion", "cpu")}

RANDOM = np.random.default_rng(3)
WEIGHT = RANDOM.normal(size=(4, 4)).astype(np.float32) * 0.5
INPUTS = RANDOM.normal(size=(6, 3, 4)).astype(np.float32)
STATE = RANDOM.normal(size=(3, 4)).astype(np.float32)


def recorded(device: Any) -> list[Any]:
    """The nodes of control flow that wait in the stream of a device."""
    return [entry for entry in device.stream.entries if entry[0].kind == "region"]


def recurrent(weight: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
    def step(state: Any, x: Any) -> tuple[Any, Any]:
        state = (state.matmul(weight) + x * 0.5).tanh()
        return state, (state * state).sum_dim(-1).squeeze_dim(-1)

    return step


def torch_recurrent(reverse: bool, steps: int = 6) -> dict[str, Any]:
    weight, inputs, first = (torch.tensor(each, requires_grad=True) for each in (WEIGHT, INPUTS[:steps], STATE))
    state, results = first, [None] * steps
    for step in range(steps - 1, -1, -1) if reverse else range(steps):
        state = torch.tanh(state @ weight + inputs[step] * 0.5)
        results[step] = (state * state).sum(-1)
    out = torch.stack(results)  # type: ignore[arg-type]
    (out.sin().sum() + (state**3).sum()).backward()
    found = dict(state=state, out=out, weight=weight.grad, inputs=inputs.grad, first=first.grad)
    return {name: each.detach().numpy() for name, each in found.items()}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", DEVICES)
def test_a_scan_is_the_loop(name: str, reverse: bool) -> None:
    device = DEVICES[name]
    weight, inputs, first = (burn.tensor(each, device=device) for each in (WEIGHT, INPUTS, STATE))
    state, out = scan(recurrent(weight), first, inputs, reverse=reverse)
    if name in RECORDING:
        assert len(recorded(device)) == 1
    expected = torch_recurrent(reverse)
    np.testing.assert_allclose(np.asarray(state), expected["state"], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(np.asarray(out), expected["out"], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("steps", [1, 6])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_the_gradient_of_a_scan_reaches_state_inputs_and_weights(name: str, reverse: bool, steps: int) -> None:
    device = GRADIENTS[name]
    arrays = (WEIGHT, INPUTS[:steps], STATE)
    weight, inputs, first = (burn.tensor(each, device=device).require_grad() for each in arrays)
    state, out = scan(recurrent(weight), first, inputs, reverse=reverse)
    gradients = (out.sin().sum() + (state * state * state).sum()).backward()
    if name in RECORDING:
        assert len(recorded(device.below)) == 2  # forward and backward
    expected = torch_recurrent(reverse, steps)
    for tensor, key in ((weight, "weight"), (inputs, "inputs"), (first, "first")):
        np.testing.assert_allclose(np.asarray(tensor.grad(gradients)), expected[key], rtol=1e-4, atol=1e-5, err_msg=key)


@pytest.mark.parametrize("name", GRADIENTS)
def test_only_what_is_tracked_gets_a_gradient(name: str) -> None:
    device = GRADIENTS[name]
    weight = burn.tensor(WEIGHT, device=device).require_grad()
    inputs, first = (burn.tensor(each, device=device.inner()) for each in (INPUTS, STATE))
    state, out = scan(recurrent(weight), first, inputs)  # plain tensors, and a function around a tracked one
    gradients = (out.sin().sum() + (state * state * state).sum()).backward()
    np.testing.assert_allclose(
        np.asarray(weight.grad(gradients)), torch_recurrent(False)["weight"], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("name", DEVICES)
def test_trees_are_carried_with_counters(name: str) -> None:
    device = DEVICES[name]
    values = burn.tensor(np.arange(5, dtype=np.float32), device=device)
    init = {"total": burn.tensor(0.0, device=device), "count": burn.tensor(0, device=device)}

    def step(carry: Any, x: Any) -> Any:
        total = carry["total"] + x
        return {"total": total, "count": carry["count"] + 1}, (total, carry["count"])

    last, (totals, counts) = scan(step, init, values)
    assert float(np.asarray(last["total"])) == 10.0
    assert int(np.asarray(last["count"])) == 5
    assert np.asarray(totals).tolist() == [0.0, 1.0, 3.0, 6.0, 10.0]
    assert np.asarray(counts).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("name", DEVICES)
def test_a_scan_without_inputs_has_a_length(name: str) -> None:
    one = burn.tensor([1.0, 1.0], device=DEVICES[name])
    last, powers = scan(lambda x, _: (x * 2.0, x), one, length=4)
    assert np.asarray(last).tolist() == [16.0, 16.0]
    assert np.asarray(powers).tolist() == [[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [8.0, 8.0]]


@pytest.mark.parametrize("name", RECORDING)
def test_a_scan_of_no_steps_hands_the_state_through(name: str) -> None:
    first = burn.tensor([1.0, 2.0], device=DEVICES[name])
    last, out = scan(lambda x, y: (x + y, x), first, burn.tensor(np.zeros((0, 2), np.float32), device=DEVICES[name]))
    assert np.asarray(last).tolist() == [1.0, 2.0]
    assert np.asarray(out).shape == (0, 2)


@pytest.mark.parametrize("name", DEVICES)
def test_cond_takes_one_side(name: str) -> None:
    device = DEVICES[name]
    x, around = burn.tensor([1.0, 2.0], device=device), burn.tensor([10.0, 20.0], device=device)
    for number, expected in ((3.0, [11.0, 22.0]), (-3.0, [-1.0, -2.0])):
        found = cond(burn.tensor(number, device=device).greater(0.0), lambda a: a + around, lambda a: a * -1.0, x)
        if name in RECORDING:
            assert len(recorded(device)) == 1
        assert np.asarray(found).tolist() == expected


@pytest.mark.parametrize("name", GRADIENTS)
def test_a_gradient_flows_through_the_side_that_was_taken(name: str) -> None:
    x = burn.tensor([1.0, 2.0], device=GRADIENTS[name]).require_grad()
    out = cond(x.sum().greater(0.0), lambda a: a * a, lambda a: a, x)
    assert np.asarray(x.grad(out.sum().backward())).tolist() == [2.0, 4.0]


@pytest.mark.parametrize("name", DEVICES)
def test_while_goes_on_as_long_as_its_condition_holds(name: str) -> None:
    device = DEVICES[name]
    limit, factor = burn.tensor(100.0, device=device), burn.tensor(3.0, device=device)
    init = (burn.tensor(1.0, device=device), burn.tensor(0, device=device))

    def step(carry: Any) -> Any:
        value, count = carry
        return value * factor, count + 1

    value, count = while_loop(lambda carry: carry[0].lower(limit), step, init)
    if name in RECORDING:
        assert len(recorded(device)) == 1
    assert (float(np.asarray(value)), int(np.asarray(count))) == (243.0, 5)
    still, none = while_loop(lambda carry: carry[0].greater(limit), step, init)
    assert (float(np.asarray(still)), int(np.asarray(none))) == (1.0, 0)


def test_loops_stand_inside_of_loops() -> None:
    for device in (NdArray(), Cpu()):
        rows = burn.tensor(np.arange(6, dtype=np.float32).reshape(2, 3), device=device)
        zero = burn.tensor(0.0, device=device)

        def outer(total: Any, row: Any) -> Any:
            inner, _ = scan(lambda a, b: (a + b * b, None), total, row)
            return inner, inner

        last, each = scan(outer, zero, rows)
        assert float(np.asarray(last)) == 55.0
        assert np.asarray(each).tolist() == [5.0, 55.0]


def test_a_captured_function_replays_its_scan() -> None:
    device = Cpu()
    weight = burn.tensor(WEIGHT, device=device)

    @burn.compile
    def run(state: Any, inputs: Any) -> Any:
        return scan(recurrent(weight), state, inputs)

    expected = torch_recurrent(False)
    for _ in range(4):
        state, out = run(burn.tensor(STATE, device=device), burn.tensor(INPUTS, device=device))
        np.testing.assert_allclose(np.asarray(state), expected["state"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(np.asarray(out), expected["out"], rtol=1e-5, atol=1e-6)
    assert "scan" in to_text(run.programs()[0])


def test_a_captured_step_differentiates_its_scan() -> None:
    device = Autodiff(Cpu())

    @burn.compile
    def gradient(array: Any, state: Any, inputs: Any) -> Any:
        weight = array.require_grad()
        last, out = scan(recurrent(weight), state, inputs)
        return weight.grad((out.sin().sum() + (last * last * last).sum()).backward())

    expected = torch_recurrent(False)["weight"]
    for _ in range(4):
        found = gradient(*(burn.tensor(each, device=device) for each in (WEIGHT, STATE, INPUTS)))
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-4, atol=1e-5)
    assert "scan" in to_text(gradient.programs()[0])


def test_programs_with_regions_are_lawful_printed_and_stored() -> None:
    device = Fusion(NdArray())
    x = burn.tensor([1.0, 2.0], device=device)
    kept = [
        scan(lambda a, b: (a * b, a), x, x.reshape((2, 1)))[1],
        cond(x.sum().greater(0.0), lambda a: a + 1.0, lambda a: a, x),
        while_loop(lambda a: a.sum().lower(50.0), lambda a: a * 2.0, x),
    ]
    stream = device.stream
    program = stream.program(tuple(each.handle.number for each in kept))
    verify(program, rows=True)
    text = to_text(program)
    for part in ("scan(", "cond(", "while_loop(", "  body:", "  condition:", "  then:", "  otherwise:"):
        assert part in text
    for form in FORMS:
        came_back(program, form)
    assert np.asarray(kept[2]).tolist() == [32.0, 64.0]


def test_a_program_of_a_region_that_does_not_fit_is_refused() -> None:
    device = Fusion(NdArray())
    x = burn.tensor([1.0, 2.0], device=device)
    last, _ = scan(lambda a, _: (a * 2.0, None), x, length=3)
    data = device.stream.program((last.handle.number,)).to_data()
    node = data["nodes"][0]
    node["attributes"]["body"]["program"]["inputs"][0]["shape"] = [3]
    with pytest.raises(BurnError, match="body"):
        Program.from_data(data)
    node["attributes"]["body"] = 7
    with pytest.raises(BurnError, match="must be a program"):
        Program.from_data(data)
    device.sync()


@pytest.mark.parametrize("name", RECORDING)
def test_what_cannot_be_recorded_is_refused_with_the_reason(name: str) -> None:
    device = DEVICES[name]
    x = burn.tensor([1.0, 2.0], device=device)
    with pytest.raises(ArgumentError, match="reads a value"):
        scan(lambda a, b: (a * float(a.sum().item()), None), x, x)
    with pytest.raises(ArgumentError, match="draws random numbers"):
        scan(lambda a, b: (a + Tensor.random((2,), device=device), None), x, x)
    with pytest.raises(ShapeError, match="stay the same"):
        scan(lambda a, b: (a.reshape((2, 1)), None), x, x)
    with pytest.raises(DTypeError, match="cast one of them"):
        scan(lambda a, b: (a.int(), None), x, x)
    with pytest.raises(ArgumentError, match="two things"):
        scan(lambda a, b: a, x, x)
    with pytest.raises(ShapeError, match="number of steps"):
        scan(lambda a, b: (a, None), x, x, length=5)
    with pytest.raises(ArgumentError, match="give xs, or the length"):
        scan(lambda a, b: (a, None), x)
    with pytest.raises(DTypeError, match="one bool"):
        cond(x.greater(0.0), lambda a: a, lambda a: a, x)
    with pytest.raises(ShapeError, match="both sides"):
        cond(x.sum().greater(0.0), lambda a: a, lambda a: a.sum(), x)
    assert np.asarray(x + 1.0).tolist() == [2.0, 3.0]  # the stream is as it was


@pytest.mark.parametrize("device", [*DEVICES.values(), *GRADIENTS.values()], ids=repr)
def test_what_decides_is_one_bool_everywhere(device: Any) -> None:
    x = burn.tensor([1.0, 2.0], device=device)
    told = r"must be one bool, got {}; reduce it with \.all\(\) or \.any\(\)"
    for wrong, got in ((x.sum(), r"f32\[1\]"), (x.greater(0.0), r"bool\[2\]"), (x.sum().int(), r"i\d+\[1\]")):
        with pytest.raises(DTypeError, match="while_loop: the condition " + told.format(got)):
            while_loop(lambda a, wrong=wrong: wrong, lambda a: a - 1.0, x)  # type: ignore[misc]
        with pytest.raises(DTypeError, match="cond: the predicate " + told.format(got)):
            cond(wrong, lambda a: a, lambda a: a, x)
    others: list[Any] = [False, True, 1.0, None, [], (x.sum().greater(0.0),), np.True_]
    for other in others:
        found = f"must be a tensor of one bool, got a {type(other).__name__};"
        with pytest.raises(ArgumentError, match=f"while_loop: the condition {found}"):
            while_loop(lambda a, other=other: other, lambda a: a, x)  # type: ignore[misc]
        with pytest.raises(ArgumentError, match=f"cond: the predicate {found}"):
            cond(other, lambda a: a, lambda a: a, x)
    one = x.narrow(0, 0, 1).greater(0.0)  # one bool with a dim
    assert np.asarray(cond(one, lambda a: a, lambda a: a * 2.0, x)).tolist() == [1.0, 2.0]
    with pytest.raises(ArgumentError, match="cond: the result has a float"):
        cond(one, lambda a: 1.0, lambda a: 2.0, x)


@pytest.mark.parametrize("device", [*DEVICES.values(), *GRADIENTS.values()], ids=repr)
@pytest.mark.parametrize("length", [-1, True, False, 2.0, 1 << 63, 1 << 100])
def test_a_length_is_a_number_of_steps(device: Any, length: Any) -> None:
    x = burn.tensor([1.0, 2.0], device=device)
    with pytest.raises(ArgumentError, match="scan: length must be an int from 0 to"):
        scan(lambda a, _: (a, None), x, length=length)


def test_bodies_use_composites_and_what_is_not_computed_yet() -> None:
    for device in (NdArray(), Cpu()):
        weight = burn.tensor(WEIGHT, device=device) * 2.0  # waits in the stream

        def step(state: Any, x: Any, weight: Any = weight) -> Any:
            return softmax(state.matmul(weight) + x, 1), None

        last, _ = scan(step, *(burn.tensor(each, device=device) for each in (STATE, INPUTS)))
        state = torch.tensor(STATE)
        for x in torch.tensor(INPUTS):
            state = torch.softmax(state @ torch.tensor(WEIGHT * 2.0) + x, 1)
        np.testing.assert_allclose(np.asarray(last), state.numpy(), rtol=1e-5, atol=1e-6)


def test_a_fault_inside_of_a_step_is_told_and_other_values_stay() -> None:
    device = Cpu()
    table = burn.tensor(np.arange(12.0, dtype=np.float32).reshape(4, 3), device=device)
    places = burn.tensor(np.array([[0], [9]]), device=device)
    total, _ = scan(lambda sum_, at: (sum_ + table.select(0, at).sum(), None), table.sum(), places)
    other = table + 1.0
    with pytest.raises(BurnError, match="select: index 9 is out of range"):
        total.to_data()
    assert float(np.asarray(other)[0, 0]) == 1.0


def test_carried_values_may_change_places() -> None:
    for device in DEVICES.values():
        one, two = burn.tensor([1.0], device=device), burn.tensor([2.0], device=device)
        (first, second), _ = scan(lambda pair, _: ((pair[1], pair[0]), None), (one, two), length=3)
        same, _ = scan(lambda x, _: (x, None), one, length=2)
        assert [np.asarray(each).tolist() for each in (first, second, same, one)] == [[2.0], [1.0], [1.0], [1.0]]


def test_numbers_of_a_captured_loop_are_those_of_the_call() -> None:
    @burn.compile
    def grown(x: Any, rate: float) -> Any:
        return scan(lambda carry, _: (carry * rate, None), x, length=3)[0]

    for rate in (2.0, 2.0, 3.0, 4.0, 2.0):
        assert np.asarray(grown(burn.tensor([1.0], device=Cpu()), rate)).tolist() == [rate**3]


@pytest.mark.parametrize("name", ["ndarray", "cpu"])
def test_second_order_goes_through_a_scan(name: str) -> None:
    below = burn.tensor(1.5, device=Autodiff(DEVICES[name])).require_grad()
    x = below.to(Autodiff(below.device)).require_grad()
    cube, _ = scan(lambda carry, _: (carry * x, None), x.ones_like(), length=3)
    first = x.grad(cube.backward())
    assert float(np.asarray(first)) == pytest.approx(6.75)
    assert float(np.asarray(below.grad(first.backward()))) == pytest.approx(9.0)


VIEWS = {
    "transpose": lambda x: x.transpose(),
    "flip": lambda x: x.flip([0]),
    "flip of both": lambda x: x.flip([0, 1]),
    "slice": lambda x: x.slice([slice(1, 3), slice(0, 2)]),
    "column": lambda x: x.narrow(1, 1, 1),
    "expand": lambda x: x.narrow(0, 0, 1).expand([4, 3]),
    "steps": lambda x: x.slice([slice(0, 3, 2), slice(0, 3)]),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("device", [Cpu(), Cpu().autodiff(), Fusion(NdArray()), NdArray()], ids=str)
def test_regions_read_views_as_what_they_are(device: Any, view: str) -> None:
    """Operands and what the functions catch may lie in memory in any order."""
    array = np.arange(9.0, dtype=np.float32).reshape(3, 3)
    seen = VIEWS[view](Tensor.from_data(array, device))
    expected = np.asarray(VIEWS[view](Tensor.from_data(array, NdArray())))
    true = Tensor.from_data(np.array(True), device)
    made = cond(true, lambda y: y + 1.0, lambda y: y, seen)
    assert np.array_equal(np.asarray(made), expected + 1.0)
    caught = cond(true, lambda y: y * seen, lambda y: y, Tensor.ones(seen.shape, device))
    assert np.array_equal(np.asarray(caught), expected)
    last, all_of_them = scan(lambda c, row: (c + row, c * row), Tensor.zeros(seen.shape[1:], device), seen)
    before = np.concatenate([np.zeros_like(expected[:1]), np.cumsum(expected, axis=0)[:-1]])
    assert np.array_equal(np.asarray(last), expected.sum(axis=0))
    assert np.array_equal(np.asarray(all_of_them), before * expected)
    grown = while_loop(lambda c: c.sum().lower(1000.0), lambda c: c * 2.0 + 1.0, seen)
    again = expected
    while again.sum() < 1000.0:
        again = again * 2.0 + 1.0
    assert np.array_equal(np.asarray(grown), again)
