"""Exports of PyTorch give what PyTorch gives, from both exporters, for several batch sizes and lengths.

Results are f32. They may differ by `TOLERANCE` of the largest element of an output: sums of a thousand products in
another order do that much, a wrong operator does a thousand times more.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn_import.onnx import load
from tests.onnx.exporting import CASES, EXPORTERS, Case, Tensors, as_tuple, export, on, spread

TOLERANCE = 1e-5
DEVICES = [burn.NdArray(), burn.Cpu()]


def network_of(case: Case) -> torch.nn.Module:
    torch.manual_seed(0)
    return spread(case.network()).eval()


def assert_close(actual: Any, expected: Any, tolerance: float = TOLERANCE) -> None:
    assert len(actual) == len(expected)
    for one, other in zip(actual, expected):
        wanted = other.detach().numpy()
        assert tuple(one.shape) == wanted.shape
        np.testing.assert_allclose(one.numpy(), wanted, rtol=0, atol=tolerance * float(np.abs(wanted).max()))


def results(network: torch.nn.Module, inputs: Tensors) -> tuple[torch.Tensor, ...]:
    with torch.no_grad():
        return as_tuple(network(*inputs))


@pytest.mark.parametrize("dynamo", EXPORTERS, ids=["tracing exporter", "graph exporter"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_an_export_gives_what_pytorch_gives(case: Case, dynamo: bool) -> None:
    network = network_of(case)
    data = export(case, network, dynamo=dynamo)
    for device in DEVICES:
        model = load(data, device)
        for sizes in case.sizes:
            inputs = case.inputs(*sizes)
            assert_close(as_tuple(model(*on(device, inputs))), results(network, inputs))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_source_of_an_export_runs_on_other_devices_and_under_autodiff(case: Case) -> None:
    network = network_of(case)
    data = export(case, network, dynamo=False)
    inputs = case.inputs(*case.sizes[0])
    wanted = results(network, inputs)
    for device in (burn.LibTorch(), burn.LibTorch().autodiff(), burn.NdArray().autodiff()):
        assert_close(as_tuple(load(data, device)(*on(device, inputs))), wanted)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_sizes_are_python_numbers_in_the_source(case: Case) -> None:
    """No tensor is read back to the host to find a size, and the source can be parsed on its own."""
    source = load(export(case, network_of(case), dynamo=False), burn.NdArray()).source
    tree = ast.parse(source)
    read = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not read & {"item", "into_scalar", "into_data", "to_data", "tolist", "to_list", "numpy"}
    assert max(map(len, source.splitlines())) <= 110
