"""Windows, transforms and joined weights inside a captured function."""

from __future__ import annotations

import numpy as np
import pytest

import burn
from burn.nn import LstmConfig
from burn.tensor import signal


@pytest.mark.parametrize("window", [signal.hann_window, signal.hamming_window, signal.blackman_window])
def test_a_window_is_part_of_the_program(window: object) -> None:
    rng = np.random.default_rng(0)
    captured = burn.compile(lambda x: x * window(16, device=x.device))  # type: ignore[operator]
    for _ in range(3):
        x = rng.standard_normal((2, 16)).astype(np.float32)
        made = captured(burn.tensor(x, device=burn.Cpu())).numpy()
        np.testing.assert_allclose(made, x * window(16, device=burn.NdArray()).numpy(), rtol=1e-6)  # type: ignore[operator]
    assert len(captured.ready) == 1


def test_a_transform_runs_inside_of_a_captured_function() -> None:
    rng = np.random.default_rng(0)
    captured = burn.compile(lambda x: signal.dft(x * 2.0, None, 1).exp())
    for _ in range(4):
        x = (rng.standard_normal((2, 12, 1)) * 0.1).astype(np.float32)
        made = captured(burn.tensor(x, device=burn.Cpu())).numpy()
        spectrum = np.fft.fft(x[..., 0] * 2.0, axis=1)
        expected = np.exp(np.stack([spectrum.real, spectrum.imag], -1))
        np.testing.assert_allclose(made, expected, rtol=1e-4, atol=1e-5)
    assert len(captured.ready) == 1


def test_joined_weights_are_not_copied_again_while_they_are_the_same() -> None:
    model = LstmConfig(192, 192, True).init(burn.Cpu())
    captured = burn.compile(lambda x: model(x, None)[0])
    rng = np.random.default_rng(0)
    for _ in range(5):
        x = burn.tensor(rng.standard_normal((2, 3, 192)).astype(np.float32), device=burn.Cpu())
        made = captured(x)
        np.testing.assert_allclose(made.numpy(), model(x, None)[0].numpy(), rtol=1e-5, atol=1e-6)
    (replay,) = captured._current
    labels = replay.bound.plan.describe().splitlines()
    skipped = [labels[position] for position in replay.bound._chosen[0]]
    assert sum("cat of 4" in label for label in skipped) == 4
