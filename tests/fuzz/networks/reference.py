"""What PyTorch computes in f64, and how far rounding may move it.

The bound follows from the computation: the same network is run again with every parameter, every input and the result
of every operation, forward and backward, moved by a few units in the last place of our type. How far results and
gradients then move says how well they are determined; a gradient that is truly zero moves by the rounding of the terms
that cancel, and a value next to a corner of a rectifier by the whole corner.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from tests.fuzz.networks import peers
from tests.fuzz.networks.network import Array, Network

UNITS = 32
"""By how many units in the last place values are moved: a sum of thousands of terms rounds at each of them."""
RUNS = 4
ELEMENTWISE, OVERALL = 6.0, 6.0
"""How many times its own movement, and that of its tensor in the root mean square, an element may be off."""


@dataclass(frozen=True)
class Bounded:
    """A tensor's true value and how far from it an element may be."""

    value: Array
    bound: Array

    def excess(self, found: Array) -> float:
        """The largest error as a share of its bound; above 1 is a failure."""
        if found.shape != self.value.shape:
            return float("inf")
        error = np.abs(found.astype(np.float64) - self.value)
        if not error.size:
            return 0.0
        if not np.isfinite(self.value).all():
            return 0.0 if np.array_equal(np.isfinite(found), np.isfinite(self.value)) else float("inf")
        share = np.where(error == 0, 0.0, error / np.maximum(self.bound, np.finfo(np.float64).tiny))
        return float("inf") if np.isnan(share).any() else float(share.max())


def reference(network: Network, training: bool) -> dict[str, Bounded]:
    """Every output, and in training every gradient and every state after it, with bounds."""
    exact = _run(network, training, None)
    unit = float(np.finfo(network.dtype).eps) / 2
    moved = [_run(network, training, np.random.default_rng(run)) for run in range(RUNS)]
    bounded = {}
    for name, value in exact.items():
        movement = np.max([np.abs(run[name] - value) for run in moved], axis=0) if value.size else np.zeros(value.shape)
        overall = float(np.sqrt(np.mean(movement**2))) if movement.size else 0.0
        bound = ELEMENTWISE * movement + OVERALL * overall + 4 * unit * np.abs(value)
        bounded[name] = Bounded(value, np.where(np.isfinite(bound), bound, np.inf))
    return bounded


def evaluate(network: Network, training: bool, values: dict[int, torch.Tensor]) -> dict[int, torch.Tensor]:
    """The values of all steps, one after the other, for whoever builds a network."""
    p, s = _leaves(network, None)
    names: dict[str, Any] = {**_names(), "p": p, "s": s, "training": training}
    names |= {f"x{number}": value for number, value in values.items()}
    with torch.no_grad():
        for step in network.steps:
            if step.out not in values:
                values[step.out] = names[f"x{step.out}"] = eval(step.spelled(step.theirs), names)
    return values


def _names() -> dict[str, Any]:
    return {"torch": torch, "F": F, "peers": peers}


def _leaves(network: Network, noise: Any) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    p = {path: _leaf(array, noise) for path, array in network.tensors("parameters").items()}
    return p, {path: torch.from_numpy(array).double() for path, array in network.tensors("states").items()}


def _leaf(array: Array, noise: Any) -> torch.Tensor:
    tensor = torch.from_numpy(array)
    if array.dtype.kind != "f":
        return tensor
    tensor = tensor.double()
    if noise is not None:
        tensor = noise(tensor)
    return tensor.clone().requires_grad_()


class _Rounding(TorchDispatchMode):
    """Every result of PyTorch's operations is moved by some units in the last place, inside of backward too."""

    def __init__(self, random: np.random.Generator, size: float) -> None:
        super().__init__()
        self.random, self.size = random, size

    def moved(self, x: torch.Tensor) -> torch.Tensor:
        return x * (1.0 + self.size * torch.from_numpy(self.random.choice((-1.0, 1.0), tuple(x.shape))))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if any(each.alias_info is not None for each in func._schema.returns):  # a view, or written in place
            return found
        results = [
            self.moved(each) if isinstance(each, torch.Tensor) and each.is_floating_point() else each
            for each in (found if isinstance(found, tuple | list) else (found,))
        ]
        return type(found)(results) if isinstance(found, tuple | list) else results[0]


def _run(network: Network, training: bool, random: np.random.Generator | None) -> dict[str, Array]:
    rounding = None
    if random is not None:
        rounding = _Rounding(random, UNITS * float(np.finfo(network.dtype).eps) / 2)
    noise = None if rounding is None else rounding.moved
    p, s = _leaves(network, noise)
    inputs = [_leaf(array, noise) for array in network.input_arrays()]
    names = _names()
    exec(network.theirs(), names)
    peers.Layers.step_by_step = rounding is not None
    try:
        with rounding or contextlib.nullcontext(), torch.set_grad_enabled(training):
            outputs = names["network"](p, s, training, *inputs)
            if training:
                _backward(network, outputs)
    finally:
        peers.Layers.step_by_step = False
    found = {f"output {number}": value.detach().numpy() for number, value in zip(network.outputs, outputs, strict=True)}
    if training:
        for number, leaf in zip(network.inputs, inputs, strict=True):
            if leaf.requires_grad:
                found[f"gradient of input {number}"] = _gradient(leaf)
        found |= {f"gradient of {path}": _gradient(leaf) for path, leaf in p.items()}
        found |= {f"state {path}": value.detach().numpy() for path, value in s.items()}
    return found


def _backward(network: Network, outputs: list[torch.Tensor]) -> None:
    total: Any = 0.0
    for number, value in zip(network.outputs, outputs, strict=True):
        total = total + (value * torch.from_numpy(output_weight(network, number, value.shape)).double()).sum()
    if isinstance(total, torch.Tensor) and total.requires_grad:
        total.backward()


def _gradient(leaf: torch.Tensor) -> Array:
    return np.zeros(tuple(leaf.shape)) if leaf.grad is None else leaf.grad.numpy()


def output_weight(network: Network, number: int, shape: Any) -> Array:
    """The gradient that an output begins with."""
    random = np.random.default_rng([network.seed, number, 77])
    return random.uniform(-1.5, 1.5, tuple(shape)).astype(network.dtype)
