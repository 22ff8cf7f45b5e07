"""Composites are one node of a program, and stand for what their bodies would have recorded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import burn
import tests.ops.samples  # noqa: F401
from burn.backend import Autodiff, Cpu, Fusion, NdArray
from burn.backend.fusion import device as recording
from burn.backend.fusion.handle import Storage
from burn.backend.reference import Reference
from burn.errors import BurnError
from burn.ops.op import TABLE, Op
from burn.program import Program, to_text, verify
from burn.program.composites import (
    NotExpandable,
    expand_composites,
    expansion,
    is_node,
    slot_values,
    with_numbers,
)
from burn.program.interpreter import interpreted
from burn.program.node import Constant, Node, Scalar, Value
from burn.program.verifier import ProgramError
from burn.shape import Shape
from burn.tensor import Tensor, activation
from burn.tensor.module import attention
from tests.ops.check import function_of, on_device, results
from tests.ops.sample import SAMPLES, Sample
from tests.program.through_data import FORMS, came_back

DEVICE = Fusion(NdArray())
COMPOSITES = [
    op
    for op in TABLE.values()
    if op.kind == "composite" and is_node(op) and op.function.__module__.startswith("burn.") and op.name in SAMPLES
]


def recorded(op: Op, sample: Sample, width: str) -> tuple[Program, list[Any], list[Any], Any]:
    """The program of a call, its numbers and inputs, and what it gives."""
    args = on_device(DEVICE, sample, width)
    stream = DEVICE.stream
    stream.flush()
    made = function_of(op, DEVICE)(*args, **sample.kwargs)
    tensors = made if isinstance(made, tuple | list) else [made]
    wanted = [each.handle.number for each in tensors if each.handle.stream is stream]
    program, numbers, inputs = stream.program(tuple(wanted)), stream.numbers(), list(stream.inputs)
    return program, numbers, inputs, results(made)


@contextmanager
def bodies() -> Iterator[None]:
    """The bodies of composites are recorded, not they themselves."""
    before = recording.is_node
    recording.is_node = lambda op: op.kind != "composite"  # type: ignore[assignment]
    DEVICE.kernels.clear()
    try:
        yield
    finally:
        recording.is_node = before
        DEVICE.kernels.clear()


def in_order_of_reading(program: Program) -> Program:
    """The program with its inputs in the order in which nodes read them, and without those that nobody reads."""
    reads = [number for node in program.nodes for number in node.reads()]
    inputs = [number for number in dict.fromkeys((*reads, *program.outputs)) if number < program.inputs]
    made = range(program.inputs, len(program.values))
    numbers = {number: position for position, number in enumerate((*inputs, *made))}

    def operand(each: Any) -> Any:
        if isinstance(each, int):
            return numbers[each]
        return tuple(numbers[number] for number in each) if isinstance(each, tuple) else each

    nodes = tuple(
        Node(node.op, tuple(map(operand, node.operands)), node.attributes, operand(node.results))
        for node in program.nodes
    )
    values = tuple(program.values[number] for number in (*inputs, *made))
    return Program(values, len(inputs), program.scalars, nodes, operand(program.outputs))


def nothing(op: Op) -> bool:
    return False


@pytest.mark.parametrize("op", [pytest.param(op, id=op.name) for op in COMPOSITES])
def test_a_composite_stands_for_what_its_body_records(op: Op) -> None:
    for sample in SAMPLES[op.name]():
        for width in ("f32", "f64"):
            program, numbers, inputs, ours = recorded(op, sample, width)
            with bodies():
                plain, plain_numbers, _, theirs = recorded(op, sample, width)
            if not program.outputs:  # it is longer than a stream may be, and has run at once
                continue
            expanded, slots = expand_composites(program, nothing)
            assert in_order_of_reading(expanded) == in_order_of_reading(plain)
            assert np.array_equal(slot_values(slots, numbers), plain_numbers, equal_nan=True)
            verify(program, rows=True)
            for form in FORMS:
                came_back(program, form)
            for mine, other, run in zip(ours, theirs, interpreted(program, NdArray())(inputs, numbers), strict=False):
                assert np.array_equal(mine, other, equal_nan=True)
                assert np.array_equal(np.asarray(run), other, equal_nan=True)


def test_every_composite_with_a_rule_is_a_node_unless_it_cannot_be() -> None:
    found = {op.name for op in COMPOSITES if any(op in _operations(op, sample) for sample in SAMPLES[op.name]())}
    reads_values = {"mask_select", "compress", "lu_decomposition"}
    takes_a_number = {"pad", "pad_or_crop", "slice_fill"}  # given at run time, while bodies compute with it
    assert {op.name for op in COMPOSITES} - found == reads_values | takes_a_number


def _operations(op: Op, sample: Sample) -> set[Op]:
    return {node.op for node in recorded(op, sample, "f32")[0].nodes}


def test_a_program_keeps_the_composites_that_its_target_keeps() -> None:
    op, size = TABLE["attention"], Value(Shape((2, 3, 4)), burn.f32)
    program = Program((size,) * 4, 3, 0, (Node(op, (0, 1, 2, None, None), (0.5, None, True), (3,)),), (3,))
    verify(program, rows=True)
    assert expand_composites(program, lambda each: each is op) == (program, ())
    kept, numbers = expand_composites(program, lambda each: each is TABLE["softmax"])
    names = [node.op.name for node in kept.nodes]
    assert names.count("softmax") == 1
    assert "exp" not in names
    assert 0.5 in numbers
    whole, _ = expand_composites(program, nothing)
    assert all(node.op.kind != "composite" for node in whole.nodes)
    for each in (kept, whole):
        verify(each, rows=True)
    arrays = [np.random.default_rng(number).normal(size=(2, 3, 4)).astype(np.float32) for number in range(3)]
    outputs = [
        interpreted(each, NdArray())([Storage(array) for array in arrays], slot_values(slots, []))[0]
        for each, slots in ((program, ()), (kept, numbers), expand_composites(program, nothing))
    ]
    assert np.array_equal(outputs[0], outputs[1])
    assert np.array_equal(outputs[0], outputs[2])


@pytest.mark.parametrize("device", [Cpu(), DEVICE, Fusion(Reference())], ids=str)
def test_a_device_prepares_programs_whose_composites_nobody_has_taken_apart(device: Fusion[Any]) -> None:
    size = Value(Shape((2, 3)), burn.f32)
    nodes = (
        Node(TABLE["gelu"], (0,), (), (1,)),  # names numbers of its own
        Node(TABLE["mul"], (1, Scalar(0)), (), (2,)),
        Node(TABLE["roll"], (2,), ((0,), (1,)), (3,)),  # its body gives its operand: no program
        Node(TABLE["softmax"], (3,), (1,), (4,)),
    )
    program = Program((size,) * 5, 1, 1, nodes, (3, 4))
    verify(program, rows=True)
    x = np.linspace(-2, 2, 6, dtype=np.float32).reshape(2, 3)
    plan = device.prepare(program, (False,))
    for number in (0.0, 3.0):
        expected = interpreted(program, NdArray())([Storage(x)], [number])
        given = Storage(device.below.from_host(x))
        for got, wanted in zip(plan([given], [number]), expected, strict=True):
            np.testing.assert_allclose(device.below.to_host(got), wanted, rtol=1e-6, atol=1e-7)


def test_a_number_of_a_body_is_taken_for_no_number_of_the_program() -> None:
    size = Value(Shape((2,)), burn.f32)
    program = Program((size, size), 1, 1, (Node(TABLE["add"], (0, Scalar(0)), (), (1,)),), (1,))
    assert with_numbers(program, (0,), 1) is program
    (node,) = with_numbers(program, (0.0,), 1).nodes
    assert node.operands == (0, Constant(0.0))


def test_a_composite_node_is_checked_by_the_rule_of_its_row() -> None:
    size = Value(Shape((2, 3)), burn.f32)
    wrong = Node(TABLE["softmax"], (0,), (5,), (1,))
    with pytest.raises(ProgramError, match="softmax"):
        verify(Program((size, size), 1, 0, (wrong,), (1,)), rows=True)


def test_numbers_that_are_equal_and_not_the_same_stay_apart() -> None:
    device = Fusion(NdArray())
    x = burn.tensor([-1.0, 2.0], device=device)
    for slope in (0.0, -0.0, 0.0):
        found = np.asarray(activation.leaky_relu(x, slope))
        assert np.array_equal(np.signbit(found), np.signbit(np.array([-1.0 * slope, 2.0])))
    assert np.isnan(np.asarray(activation.leaky_relu(x, float("nan")))[0])


def test_a_body_that_is_no_program_is_named() -> None:
    with pytest.raises(NotExpandable, match="mask_select"):
        expansion(TABLE["mask_select"], [Value(Shape((3,)), burn.f32), Value(Shape((3,)), burn.bool_)], ())


def test_a_wrong_call_is_refused_where_it_is_made() -> None:
    for device in (Cpu(), Autodiff(Cpu()), DEVICE):
        query, key = (Tensor.zeros((2, size), device) for size in (3, 4))
        with pytest.raises(BurnError, match="attention: query"):
            attention(query, key, key)


def test_kernels_registered_later_are_used_inside_of_composites() -> None:
    class Own(NdArray):
        """A device of its own, whose kernels are nobody else's."""

    device = Fusion(Own())
    x = burn.tensor([1.0, 2.0], device=device)
    before = np.asarray(activation.softmax(x, 0))
    op, calls = TABLE["exp"], []
    try:
        op.register_kernel(Own, lambda self, x: calls.append(1) or np.exp(x))
        assert np.allclose(np.asarray(activation.softmax(x, 0)), before)
        assert calls
    finally:
        del op._kernels[Own]
        op._forget()


def test_a_composite_and_its_constants_are_printed() -> None:
    size = Value(Shape((2, 3)), burn.f32)
    node = Node(TABLE["softmax"], (0,), (1,), (1,))
    assert "%1: f32[2, 3] = softmax(%0, dim=1)" in to_text(Program((size, size), 1, 0, (node,), (1,)))
    assert Constant(0.0) != Constant(-0.0)
