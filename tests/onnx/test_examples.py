"""The sources in docs/onnx-examples are what the importer writes, and they compute what ONNX Runtime computes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import burn
from burn_import.onnx import load
from tests.onnx.example_models import FOLDER, MODELS, source_of
from tests.onnx.running import assert_same, runtime


def noise(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


FEEDS: dict[str, list[dict[str, Any]]] = {
    "mnist": [{"image": noise(3, 1, 28, 28)}],
    "residual": [{"pixels": noise(2, 3, 32, 32)}],
    "voice": [
        {"samples": noise(2, 512), "rate": np.array(rate), "h": noise(1, 2, 16), "c": noise(1, 2, 16)}
        for rate in (16000, 8000)
    ],
}


@pytest.mark.parametrize("name", MODELS)
def test_the_examples_of_the_documentation_are_up_to_date(name: str) -> None:
    stored = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    assert stored == source_of(name), "run python -m tests.onnx.example_models, and read what it writes"


@pytest.mark.parametrize("name", MODELS)
def test_the_examples_give_the_results_of_onnx_runtime(name: str) -> None:
    proto = MODELS[name]()
    model = load(proto, burn.NdArray())
    for feed in FEEDS[name]:
        for actual, expected in zip(model.run(feed).values(), runtime(proto, feed)):
            assert_same(actual, expected, rtol=1e-3, atol=1e-4)
