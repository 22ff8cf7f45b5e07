"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import hypothesis
import pytest

# A busy machine is not a failure: property tests have no deadline.
hypothesis.settings.register_profile("burn", deadline=None)
hypothesis.settings.load_profile("burn")

# PyTorch's bf16 kernels for matrix tiles (AMX) have crashed on virtual machines that advertise them.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# After every pass, every node is asked whether it is what its row says.
os.environ.setdefault("BURN_VERIFY", "1")

# What was measured on this machine must not change which kernels are tested.
os.environ.setdefault("BURN_TUNE", "off")

ROOT = Path(__file__).resolve().parent.parent


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--sample", type=int, default=1, metavar="N", help="run one in N tests; others for other instruction sets"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep a sample that follows from the names of tests and of the instruction sets, and from nothing else."""
    every = config.getoption("--sample")
    if every > 1:
        turn = zlib.crc32(os.environ.get("BURN_FEATURES", "").encode())
        chosen = {each for each in items if (zlib.crc32(each.nodeid.encode()) ^ turn) % every == 0}
        config.hook.pytest_deselected(items=[each for each in items if each not in chosen])
        items[:] = [each for each in items if each in chosen]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder of reference data beside the checkout, which is not here")
    return folder
