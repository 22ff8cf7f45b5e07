"""Models that servers of these tests serve."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("httptools", reason="the serve extra is not installed")
pytest.importorskip("orjson", reason="the serve extra is not installed")

import burn
import furnace
from burn import Module, NdArray, Tensor
from burn.nn import Linear, LinearConfig
from furnace.models.serving import serve_module
from furnace.signature import Signature, TensorSpec


class Doubler(Module):
    """Rows times two, through a layer so that there is a parameter."""

    linear: Linear

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


def doubler(device=None, **options):
    """A model of rows of four, which gives each row twice as large."""
    device = device or NdArray()
    module = Doubler(LinearConfig(4, 4, bias=False).init(device))
    weight = np.eye(4, dtype=np.float32) * 2
    module = module.map(_Set(burn.tensor(weight, device=device)))
    signature = Signature(
        (TensorSpec("x", "FP32", ("batch", 4)),),
        (TensorSpec("y", "FP32", ("batch", 4)),),
    )
    return serve_module(module, device, signature, name="doubler", **options)


class _Set(burn.module.ModuleMapper):
    def __init__(self, value):
        self.value = value

    def map_float(self, id, tensor):
        return self.value


@pytest.fixture(scope="module")
def server():
    with furnace.TestServer(doubler()) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client() as made:
        yield made
