"""Imported models run from their programs' data: every program that one records is read back before it is prepared."""

from __future__ import annotations

import os
from typing import Any

import pytest

from burn.backend import Cpu
from burn_import.onnx import load
from tests.onnx.backend_suite import cases, known, run_case
from tests.onnx.example_models import MODELS
from tests.onnx.exporting import CASES, Case, export, spread
from tests.onnx.programs import models
from tests.onnx.running import assert_same, runtime
from tests.onnx.test_examples import FEEDS
from tests.program.through_data import stored

EVERY = bool(os.environ.get("BURN_TEST_ALL"))
CALLS = 3  # two are recorded; the third replays what was captured
HOST_ALONE = {"strings", "sequence"}  # models that compute nothing on a device


def assert_runs_from_data(data: bytes, feeds: list[dict[str, Any]], name: str = "") -> None:
    """A model gives what ONNX Runtime gives, plain and captured, with every program read back from its data."""
    model = load(data, Cpu())
    with stored() as found:
        for feed in feeds:
            expected = runtime(data, feed)
            for _ in range(CALLS):
                for actual, wanted in zip(model.run(feed).values(), expected, strict=True):
                    assert_same(actual, wanted, rtol=1e-3, atol=1e-4)
    assert found or name in HOST_ALONE


@pytest.mark.parametrize("name", MODELS)
def test_the_examples_of_the_documentation(name: str) -> None:
    assert_runs_from_data(MODELS[name]().SerializeToString(), FEEDS[name])


def test_models_with_control_flow_and_open_sizes() -> None:
    for name, (data, feeds) in models().items():
        assert_runs_from_data(data, feeds, name)


@pytest.mark.parametrize("case", CASES if EVERY else CASES[::3], ids=str)
def test_exported_networks(case: Case) -> None:
    data = export(case, spread(case.network()).eval(), dynamo=False)
    feeds = [
        {name: value.numpy() for name, value in zip(case.names, case.inputs(*sizes), strict=True)}
        for sizes in case.sizes[: len(case.sizes) if EVERY else 1]
    ]
    assert_runs_from_data(data, feeds)


def test_cases_of_the_standard() -> None:
    device = Cpu()
    every = [
        case
        for case in cases("node", *(("simple", "pytorch-converted") if EVERY else ()))
        if case.name not in known(device)
    ]
    failed = []
    with stored() as found:
        for case in every if EVERY else every[::40]:
            outcome = run_case(case, device)
            if outcome.status != "pass":
                failed.append((case.name, outcome.status, outcome.reason))
    assert failed == []
    assert len(found) > 20
