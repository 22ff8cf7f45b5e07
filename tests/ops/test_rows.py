"""Every row of the op table on every device stack, against its NumPy reference and against PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn_import.rows
import tests.ops.samples  # noqa: F401
from burn.backend import NdArray
from burn.device import Device
from burn.dtype import from_numpy
from burn.ops.op import TABLE, Op
from burn.tensor import Tensor
from tests.ops.check import assert_close, function_of, on_device, results, to_torch_value, torch_gradients
from tests.ops.sample import ORACLES, REFUSED, SAMPLES, Sample
from tests.stacks import GRADIENT_STACKS, STACKS

OWN = [
    op
    for op in TABLE.values()
    if op.function.__module__.startswith(("burn.", burn_import.rows.__name__)) and op.kind != "region"  # tests/control
]
ROWS = [pytest.param(op, id=op.name) for op in OWN]
DIFFERENTIABLE = [pytest.param(op, id=op.name) for op in OWN if op.vjp or (op.kind == "composite" and op.operand_count)]
CREATIONS = ("creation", "random")


def each(op: Op) -> list[Sample]:
    assert op.name in SAMPLES, f"{op.name} has no samples: add some in tests/ops/samples/{op.family}.py"
    return list(SAMPLES[op.name]())


@pytest.mark.parametrize("op", ROWS)
def test_every_row_says_what_it_does(op: Op) -> None:
    assert op.doc.strip().split("\n\n")[0].endswith("."), f"{op.name} needs a docstring that is a sentence"


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("op", ROWS)
def test_every_row_matches_its_reference(op: Op, stack: str) -> None:
    if op.reference is None:
        assert op.kind == "composite"
        assert op.name in ORACLES, f"{op.name} has neither a reference nor an oracle"
        return
    device = STACKS[stack]
    for sample in each(op):
        for width in ("f32", "f64"):
            ours = results(function_of(op, device)(*on_device(device, sample, width), **sample.kwargs))
            theirs = reference_results(op, sample, width, device)
            assert_close(ours, theirs, sample, f"{op.name} on {device!r}", dtypes=op.kind != "composite")


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("op", [row for row in ROWS if row.values[0].name in ORACLES])
def test_every_row_matches_pytorch(op: Op, stack: str) -> None:
    device = STACKS[stack]
    oracle = ORACLES[op.name]
    for sample in each(op):
        if not sample.oracle:
            continue
        for width in ("f32", "f64"):
            ours = results(function_of(op, device)(*on_device(device, sample, width), **sample.kwargs))
            expected = oracle(*[to_torch_value(a, width) for a in sample.args], **sample.kwargs)
            theirs = [np.asarray(a) for a in (expected if isinstance(expected, tuple | list) else [expected])]
            assert_close(ours, theirs, sample, f"{op.name} on {device!r} against PyTorch", dtypes=False)


@pytest.mark.parametrize("stack", ["ndarray", "libtorch"])
@pytest.mark.parametrize("half", ["f16", "bf16"])
@pytest.mark.parametrize("op", ROWS)
def test_every_row_takes_half_precision(op: Op, half: str, stack: str) -> None:
    device = STACKS[stack]
    if op.family in CREATIONS:
        return
    for sample in each(op)[:3]:
        floats = [a for a in sample.args if isinstance(a, np.ndarray) and a.dtype == np.float64]
        if not sample.half or not floats:
            continue
        ours = results(function_of(op, device)(*on_device(device, sample, half), **sample.kwargs))
        exact = results(function_of(op, device)(*on_device(device, sample, half, through=True), **sample.kwargs))
        for mine, wide in zip(ours, exact, strict=True):
            assert mine.shape == wide.shape
            if from_numpy(mine.dtype).is_float:
                step = 2e-2 if half == "bf16" else 3e-3
                close = np.isclose(mine.astype(np.float64), wide.astype(np.float64), rtol=step * 2, atol=step * 4)
                assert close.all(), f"{op.name} in {half} on {device!r}: {mine} is not {wide}"


@pytest.mark.parametrize("stack", GRADIENT_STACKS)
@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_every_gradient_matches_pytorch(op: Op, stack: str) -> None:
    if op.name not in ORACLES:
        assert op.vjp is not None
        return
    device = GRADIENT_STACKS[stack]
    for sample in each(op):
        if not sample.grad or not sample.oracle:
            continue
        theirs = torch_gradients(ORACLES[op.name], sample)
        if theirs is None:
            continue
        ours = our_gradients(op, device, sample)
        for position, (mine, expected) in enumerate(zip(ours, theirs, strict=True)):
            if expected is None:
                continue
            mine = np.zeros_like(expected) if mine is None else mine
            assert mine.shape == expected.shape
            np.testing.assert_allclose(
                mine, expected, rtol=sample.tolerance or 1e-7, atol=sample.tolerance or 1e-9,
                err_msg=f"gradient {position} of {op.name} on {device!r}",
            )  # fmt: skip


@pytest.mark.parametrize("op", DIFFERENTIABLE)
def test_every_gradient_matches_differences(op: Op) -> None:
    device = GRADIENT_STACKS["autodiff-ndarray"]
    plain = NdArray()
    for sample in each(op)[:6]:
        if not sample.grad:
            continue
        ours = our_gradients(op, device, sample, weighted=True)
        arrays = float_arrays(sample)
        if not arrays or sum(a.size for a in arrays) > 400:
            continue

        def value(changed: list[Any], sample: Sample = sample) -> float:
            iterator = iter(changed)
            args = [replaced(a, iterator) for a in sample.args]
            out = function_of(op, plain)(*on_device(plain, Sample(tuple(args), sample.kwargs), "f64"), **sample.kwargs)
            return sum(float((a * weights(a.shape)).sum()) for a in results(out) if a.dtype == np.float64)

        for mine, array_index in zip(ours, range(len(arrays)), strict=True):
            if mine is None:
                mine = np.zeros_like(arrays[array_index])
            for flat in range(min(arrays[array_index].size, 5)):
                step = 1e-6
                moved = [[a.copy() for a in arrays] for _ in range(2)]
                moved[0][array_index].reshape(-1)[flat] += step
                moved[1][array_index].reshape(-1)[flat] -= step
                estimate = (value(moved[0]) - value(moved[1])) / (2 * step)
                np.testing.assert_allclose(
                    mine.reshape(-1)[flat], estimate, rtol=1e-4, atol=max(1e-5, 10 * (sample.tolerance or 0)),
                    err_msg=f"{op.name}: gradient of argument {array_index}, element {flat}",
                )  # fmt: skip


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("op", [pytest.param(TABLE[name], id=name) for name in REFUSED])
def test_every_bad_call_is_refused_with_a_reason(op: Op, stack: str) -> None:
    device = STACKS[stack]
    for refusal in REFUSED[op.name]:
        with pytest.raises(refusal.error, match=refusal.match) as caught:
            results(function_of(op, device)(*on_device(device, Sample(refusal.args), "f32"), **refusal.kwargs))
        assert str(caught.value).startswith(f"{op.name}:") or op.kind == "composite" or op.name == "cast"


def weights(shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return np.random.default_rng([7, *shape]).uniform(0.5, 1.5, shape)


def float_arrays(sample: Sample) -> list[np.ndarray[Any, Any]]:
    found = []
    for a in sample.args:
        for part in a if isinstance(a, list) else [a]:
            if isinstance(part, np.ndarray) and part.dtype == np.float64:
                found.append(np.array(part, order="C"))
    return found


def replaced(a: Any, iterator: Any) -> Any:
    if isinstance(a, list):
        return [replaced(part, iterator) for part in a]
    return next(iterator) if isinstance(a, np.ndarray) and a.dtype == np.float64 else a


def our_gradients(op: Op, device: Device, sample: Sample, weighted: bool = False) -> list[Any]:
    leaves: list[Tensor[Any]] = []
    args = on_device(device, sample, "f64", leaves=leaves)
    out = function_of(op, device)(*args, **sample.kwargs)
    total: Any = None
    for a in out if isinstance(out, tuple | list) else [out]:
        if (a.dtype.name == "f64" if weighted else a.dtype.is_float) and a.handle.node is not None:
            weight = Tensor.from_data(weights(tuple(a.shape)), device, dtype=a.dtype) if weighted else 1.0
            part = (a * weight).sum()
            total = part if total is None else total + part
    if total is None:
        return [None] * len(leaves)
    grads = total.backward()
    found = [leaf.grad(grads) for leaf in leaves]
    return [None if g is None else np.asarray(g) for g in found]


def reference_results(op: Op, sample: Sample, width: str, device: Device) -> list[Any]:
    args = on_device(NdArray(), sample, width)
    arrays = [
        [np.asarray(part) for part in a] if isinstance(a, list) else np.asarray(a) if isinstance(a, Tensor) else a
        for a in args
    ]
    with np.errstate(all="ignore"):
        if op.kind == "composite":
            operands, attributes = op.bind(tuple(arrays), sample.kwargs)
            out = op.reference(*operands, *attributes)  # type: ignore[misc]
        else:
            out = op.reference(*normal_arguments(op, args, sample, device))  # type: ignore[misc]
    return [np.asarray(a) for a in (out if isinstance(out, tuple | list) else [out])]


def normal_arguments(op: Op, args: list[Any], sample: Sample, device: Device) -> list[Any]:
    """What a kernel receives: operands promoted as the dispatcher does, attributes in normal form."""
    seen: list[Any] = []
    base = NdArray()
    kernel = base.kernels[op]
    base.kernels[op] = lambda *given: (seen.append(given), kernel(*given))[1]  # type: ignore[misc]
    try:
        function_of(op, base)(*args, **sample.kwargs)
    finally:
        base.kernels[op] = kernel
    return list(seen[0])
