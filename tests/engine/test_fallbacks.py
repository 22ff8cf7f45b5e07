"""The engine on lesser machines: older processors, no cache. The same results everywhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from burn.backend.cpu.features import named, runnable

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import numpy as np
import burn
from burn import Cpu, NdArray, Tensor
from burn.tensor import activation

def network(device):
    generator = np.random.default_rng(0)
    put = lambda *shape: burn.tensor(generator.normal(size=shape).astype(np.float32), device=device)
    x, weight, bias, scale = put(33, 17), put(17, 19), put(19), put(33, 1)
    hidden = activation.gelu(x.matmul(weight) + bias) * scale
    images = put(2, 3, 9, 9)
    kernel = put(4, 3, 3, 3)
    from burn.tensor import module
    convolved = module.conv2d(images, kernel, None)
    return [
        hidden, activation.softmax(hidden, 1), hidden.sum_dim(0), hidden.max(), (hidden > 0.0).int().sum(),
        hidden.transpose().exp().log1p(), convolved.relu(), convolved.mean_dims([2, 3]), hidden.cast("f16") * 2.0,
        hidden.cast("bf16").sum_dim(1), hidden.sin() + hidden.cos().erf() + hidden.abs().powf_scalar(1.7),
    ]

def gradients(device):
    generator = np.random.default_rng(1)
    x = burn.tensor(generator.normal(size=(5, 7)).astype(np.float32), device=device.autodiff()).require_grad()
    grads = activation.log_softmax(x.matmul(x.transpose()), 1).sum().backward()
    return [x.grad(grads)]

for function in (network, gradients):
    for mine, expected in zip(function(Cpu()), function(NdArray()), strict=True):
        rough = 2e-2 if mine.dtype.bits == 16 else 2e-4
        mine, expected = (np.asarray(each, dtype=np.float64) for each in (mine, expected))
        np.testing.assert_allclose(mine, expected, rtol=rough, atol=2e-4)
from burn.backend.cpu.pool import pool
from burn.backend.cpu.settings import settings
print(settings().target.level, pool().kind)
"""


def run(tmp_path: Path, **environment: str) -> list[str]:
    settings = {**os.environ, "BURN_CACHE": str(tmp_path / "kernels"), "PYTHONPATH": str(ROOT / "src"), **environment}
    found = subprocess.run([sys.executable, "-c", PROGRAM], env=settings, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr[-2000:]
    return found.stdout.split()


@pytest.mark.parametrize("features", runnable())
def test_every_instruction_set_gives_the_same_results(tmp_path, features):
    assert run(tmp_path, BURN_FEATURES=features)[0] == named(features).level


def test_one_thread_and_several_give_the_same_results(tmp_path):
    for count in ("1", "2", "3"):
        run(tmp_path, OMP_NUM_THREADS=count)


def test_without_a_writable_cache_everything_works(tmp_path):
    run(tmp_path, BURN_CACHE="off")
