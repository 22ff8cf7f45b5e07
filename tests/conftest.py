"""Fixtures that every folder of tests may use."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# A busy machine is not a failure: property tests have no deadline.
hypothesis.settings.register_profile("burn", deadline=None)
hypothesis.settings.load_profile("burn")

# What was measured on this machine must not change which kernels are tested.
os.environ.setdefault("BURN_TUNE", "off")

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of reference data beside the checkout; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("needs the folder of reference data beside the checkout, which is not here")
    return folder
