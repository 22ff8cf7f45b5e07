"""A failing network made small: fewer outputs, and values replaced by inputs or by their own operands."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from tests.fuzz.networks.network import Drawn, Network
from tests.fuzz.networks.reference import evaluate

PATIENCE = 60.0
"""Seconds after which the smallest network so far is good enough."""


def shrunk(network: Network, fails: Callable[[Network], bool]) -> Network:
    """A network that still fails and of which no part can be left out."""
    until = time.monotonic() + PATIENCE
    best = network
    changed = True
    while changed and time.monotonic() < until:
        changed = False
        for smaller in _smaller(best):
            if time.monotonic() > until:
                break
            if fails(smaller):
                best, changed = smaller, True
                break
    return best


def _smaller(network: Network) -> Iterator[Network]:
    """Networks with less, the largest cuts first."""
    shapes = _shapes(network)
    for output in network.outputs if len(network.outputs) > 1 else ():
        yield replace(network, outputs=(output,)).pruned()
    for step in network.steps[:-1]:  # the network ends here
        if shapes[step.out] is not None and step.out not in network.outputs:
            yield replace(network, outputs=(step.out,)).pruned()
    for step in reversed(network.steps):  # the network begins here
        shape = shapes[step.out]
        if shape is not None and step.out not in network.outputs:
            rest = tuple(each for each in network.steps if each is not step)
            yield replace(network, inputs={**network.inputs, step.out: Drawn(shape)}, steps=rest).pruned()
    for step in network.steps:  # without this step
        for operand in step.operands:
            if shapes[operand] == shapes[step.out] is not None:
                smaller = _without(network, step.out, operand)
                if smaller.outputs:
                    yield smaller
                break


def _without(network: Network, value: int, instead: int) -> Network:
    steps = tuple(
        replace(step, operands=tuple(instead if n == value else n for n in step.operands))
        for step in network.steps
        if step.out != value
    )
    outputs = tuple(instead if n == value else n for n in network.outputs)
    made = {step.out for step in steps}
    return replace(network, steps=steps, outputs=tuple(dict.fromkeys(n for n in outputs if n in made))).pruned()


def _shapes(network: Network) -> dict[int, tuple[int, ...] | None]:
    """The shapes of float values; None for others."""
    arrays = zip(network.inputs, network.input_arrays(), strict=True)
    values = {number: torch.from_numpy(array) for number, array in arrays}
    values = {number: value.double() if value.is_floating_point() else value for number, value in values.items()}
    found = evaluate(network, True, values)
    return {number: tuple(value.shape) if value.is_floating_point() else None for number, value in found.items()}
