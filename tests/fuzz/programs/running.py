"""A program on our devices: fused, one operation at a time, over NumPy, captured; and its gradients."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

import burn
from burn import Cpu, Fusion, NdArray, Tensor
from tests.fuzz.programs.program import FORGET, NAMES, READ, Array, Program
from tests.fuzz.programs.reference import Bounded, bounded, bounded_gradients, evaluate, gradients

STACKS = {"fused": Cpu(), "one operation at a time": Cpu(fusion=False), "fused over NumPy": Fusion(NdArray())}

MADE_INSIDE = ("places(", "rows(", "kernel(")
"""Tensors of constants that a program makes itself: calls of such a function run plainly."""


def run(program: Program, device: Any) -> list[tuple[int, Array]]:
    """Every value that is read, in the order of reading, with its number."""
    values: dict[int, Any] = {n: Tensor.from_data(array, device) for n, array in program.arrays().items()}
    found = []
    for step in program.steps:
        number = step.operands[0]
        if step.code == READ:
            found.append((number, np.array(values[number])))
        elif step.code == FORGET:
            del values[number]
        else:
            values[step.out] = evaluate(step, values)
    return found + [(number, np.array(values[number])) for number in program.outputs]


def captured(program: Program, device: Any) -> list[tuple[int, Array]]:
    """The outputs of a capture's replay, after two calls with other numbers."""
    lines = [f"def call({', '.join(f'x{number}' for number in program.inputs)}):"]
    lines += [f"    x{step.out} = {step.spelled()}" for step in program.steps if step.makes]
    names = dict(NAMES)
    exec("\n".join([*lines, f"    return [{', '.join(f'x{number}' for number in program.outputs)}]"]), names)
    function = burn.compile(names["call"])
    results: list[Any] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", burn.CaptureWarning)
        for variant in (1, 1, 0):
            results = function(*(Tensor.from_data(array, device) for array in program.arrays(variant).values()))
    told = str(function.explain())
    if not told.startswith("captured") and not any(name in step.code for step in program.steps for name in MADE_INSIDE):
        raise AssertionError(f"not captured: {told.splitlines()[0]}")
    return [(number, np.array(value)) for number, value in zip(program.outputs, results, strict=True)]


def faults(program: Program, stacks: Mapping[str, Any] = STACKS) -> list[str]:
    """What is wrong on some devices, a line each. The first of them also captures some programs."""
    if program.gradients:
        return _gradient_faults(program, stacks)
    expected, bounds = bounded(program)
    exact = program.exact()
    found = []
    ways = {name: lambda device=device: run(program, device) for name, device in stacks.items()}
    if program.seed % 3 == 0:
        ways["captured"] = lambda: captured(program, next(iter(stacks.values())))
    for way, values in ways.items():
        for number, ours in values():
            theirs = np.asarray(expected[number])
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                found.append(f"{way}: x{number} is {ours.dtype}{ours.shape}, not {theirs.dtype}{theirs.shape}")
            elif exact[number]:
                if not np.array_equal(ours, theirs, equal_nan=theirs.dtype.kind == "f"):
                    found.append(f"{way}: x{number} differs: {_first(ours, theirs)}")
            elif (excess := bounds[number].excess(ours)) > 1.0:
                found.append(f"{way}: x{number} is off by {excess:.3g} times its bound: {_worst(ours, bounds[number])}")
    return found


def _gradient_faults(program: Program, stacks: Mapping[str, Any]) -> list[str]:
    expected = bounded_gradients(program)
    found = []
    for way, device in [*stacks.items()][:2]:
        for position, (ours, theirs) in enumerate(zip(gradients(program, device.autodiff()), expected, strict=True)):
            if np.isfinite(theirs.value).all() and np.abs(theirs.value).max(initial=0.0) < 1e12:
                excess = theirs.excess(ours)
                if not excess <= 1.0:
                    found.append(f"{way}: gradient of input {position} is off by {excess:.3g} times its bound: "
                                 f"{_worst(ours, theirs)}")  # fmt: skip
    return found


def _first(ours: Array, theirs: Array) -> str:
    different = np.argwhere(~((ours == theirs) | ((ours != ours) & (theirs != theirs))))
    place = tuple(int(n) for n in different[0])
    return f"{len(different)} of {ours.size} elements, at {list(place)} {ours[place]!r} instead of {theirs[place]!r}"


def _worst(ours: Array, bounded: Bounded) -> str:
    error = np.abs(ours.astype(np.float64) - bounded.value) / np.maximum(bounded.bound, 1e-300)
    place = np.unravel_index(int(np.argmax(np.nan_to_num(error, nan=np.inf))), ours.shape)
    return f"{ours[place]!r} instead of {bounded.value[place]!r} at {[int(n) for n in place]} of {list(ours.shape)}"
