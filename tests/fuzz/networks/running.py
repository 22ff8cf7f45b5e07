"""A network on our engine: eager, captured, in training and for inference, each compared with the reference."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

import burn
import burn.nn.loss
from burn import Cpu, Tensor, nn
from burn.module import State
from burn.nn import conv, pool
from burn.tensor import activation, module
from tests.fuzz.networks.network import Array, Network
from tests.fuzz.networks.reference import Bounded, output_weight, reference

REPLAYED = 3
"""Calls until a capture replays: two that record, one that is compared."""

READS = "CTCLoss"
"""The one layer that looks at numbers (the lengths) and so is never captured."""


@dataclass(frozen=True)
class Difference:
    """What was wrong, in which way of running, and by how many times its bound."""

    way: str
    what: str
    excess: float

    def __str__(self) -> str:
        return f"{self.way}: {self.what}" + (f" is off by {self.excess:.3g} times its bound" if self.excess else "")


def build(network: Network, device: Any) -> Any:
    """Our module with the network's numbers."""
    names: dict[str, Any] = {
        "burn": burn, "nn": nn, "conv": conv, "pool": pool, "module": module, "activation": activation, "Tensor": Tensor
    }  # fmt: skip
    exec(network.ours(), names)
    made = names["Network"](device)
    values = network.tensors("parameters")
    paths = {param.id: path for path, param in made.named_parameters()}
    if set(paths.values()) != set(values):
        raise AssertionError(f"parameters differ: ours {sorted(paths.values())}, theirs {sorted(values)}")
    made = made.map(lambda param: Tensor.from_data(values[paths[param.id]], param.device))
    states = network.tensors("states")
    for path, leaf in made.leaves():
        if isinstance(leaf, State):
            leaf.update(Tensor.from_data(states[path], leaf.value.device))
    return made


def train(network: Network, model: Any, inputs: list[Any], weights: list[Any]) -> tuple[list[Any], list[Any]]:
    """The outputs, and the gradients of float inputs and of parameters."""
    leaves = [x.require_grad() if x.dtype.is_float else x for x in inputs]
    outputs = model.forward(*leaves)
    total = None
    for output, weight in zip(outputs, weights, strict=True):
        part = (output * weight).sum()
        total = part if total is None else total + part
    grads = total.backward()  # type: ignore[union-attr]
    wanted = [x for x in leaves if x.dtype.is_float] + list(model.parameters())
    found = [leaf.grad(grads) for leaf in wanted]
    return [output.inner() for output in outputs], [
        Tensor.zeros(leaf.shape, leaf.device.inner(), leaf.dtype) if g is None else g
        for leaf, g in zip(wanted, found, strict=True)
    ]


def numbers(tensor: Any) -> Array:
    """A tensor's values on the host."""
    return np.array((tensor.value if isinstance(tensor, State) else tensor).no_grad().numpy())


def _named(network: Network, model: Any, outputs: list[Any], gradients: list[Any]) -> dict[str, Array]:
    found = {f"output {number}": numbers(value) for number, value in zip(network.outputs, outputs, strict=True)}
    names = [f"gradient of input {number}" for number, drawn in network.inputs.items() if drawn.is_float]
    names += [f"gradient of {path}" for path, _ in model.named_parameters()]
    found |= {name: numbers(value) for name, value in zip(names, gradients, strict=True)}
    return found | {f"state {path}": numbers(leaf) for path, leaf in model.leaves() if isinstance(leaf, State)}


def _tensors(arrays: list[Array], device: Any) -> list[Any]:
    return [Tensor.from_data(array, device) for array in arrays]


def differences(network: Network, limit: float = 1.0) -> list[Difference]:
    """Every way in which we differ from the reference by more than its bound."""
    return [each for each in measured(network) if not each.excess <= limit]


def measured(network: Network) -> list[Difference]:
    """The excess of every tensor in every way of running."""
    plain = Cpu(float=burn.f64 if network.dtype == "float64" else burn.f32)
    device = plain.autodiff()
    expected = reference(network, True)
    model = build(network, device)
    arrays, other = network.input_arrays(), network.input_arrays(1)
    weights = [output_weight(network, number, expected[f"output {number}"].value.shape) for number in network.outputs]
    ours = _tensors(weights, device)

    fresh = model.map(lambda param: param)
    found = _compared(
        "eager training", expected, _named(network, fresh, *train(network, fresh, _tensors(arrays, device), ours))
    )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", burn.CaptureWarning)
        captured = burn.compile(lambda model, inputs, weights: train(network, model, inputs, weights))
        results = []
        for values in [other] * (REPLAYED - 1) + [arrays] * 2:
            fresh = model.map(lambda param: param)
            results.append(_named(network, fresh, *captured(fresh, _tensors(values, device), ours)))
        found += _compared("captured training", expected, results[-2]) + _is_captured("training", network, captured)
        found += _equal("captured training, replayed again", results[-2], results[-1])

        expected = reference(network, False)
        model = model.valid()
        outputs = model.forward(*_tensors(arrays, plain))
        found += _compared("eager inference", expected, _outputs(network, outputs))
        captured = burn.compile(lambda model, inputs: model.forward(*inputs))
        results = [
            _outputs(network, captured(model, _tensors(values, plain)))
            for values in [other] * (REPLAYED - 1) + [arrays] * 2
        ]
    found += _compared("captured inference", expected, results[-2]) + _is_captured("inference", network, captured)
    return found + _equal("captured inference, replayed again", results[-2], results[-1])


def _is_captured(way: str, network: Network, function: Any) -> list[Difference]:
    told = str(function.explain())
    reads = any(READS in step.config for step in network.steps)
    return (
        []
        if reads or told.startswith("captured")
        else [Difference(f"captured {way}", told.splitlines()[0], float("inf"))]
    )


def _outputs(network: Network, outputs: list[Any]) -> dict[str, Array]:
    return {f"output {number}": numbers(value) for number, value in zip(network.outputs, outputs, strict=True)}


def _compared(way: str, expected: dict[str, Bounded], found: dict[str, Array]) -> list[Difference]:
    return [Difference(way, name, bounded.excess(found[name])) for name, bounded in expected.items()]


def _equal(way: str, first: dict[str, Array], second: dict[str, Array]) -> list[Difference]:
    return [
        Difference(way, f"{name} differs between two replays", float("inf"))
        for name in first
        if not np.array_equal(first[name], second[name], equal_nan=True)
    ]
