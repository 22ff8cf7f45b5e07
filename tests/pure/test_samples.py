"""Samples of tests, and the settings under which they run, are the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from burn.backend.cpu.features import host_features, named
from tests.instruction_sets import FOLDERS, environment, lesser

ROOT = Path(__file__).resolve().parents[2]


def collected(features: str, every: int) -> set[str]:
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider", "--sample", str(every)]
    settings = {**os.environ, "BURN_FEATURES": features}
    told = subprocess.run(
        [*command, "tests/pure/test_element.py", "tests/pure/test_tolerance.py"],
        env=settings, capture_output=True, text=True, cwd=ROOT, timeout=120,
    )  # fmt: skip
    return {line for line in told.stdout.splitlines() if "::" in line}


def test_a_sample_follows_from_names_and_instruction_sets() -> None:
    one, again, other = (collected(*each) for each in (("avx2", 3), ("avx2", 3), ("baseline", 3)))
    assert one == again
    assert one
    assert other
    assert one != other


def test_every_lesser_set_runs_here_and_folders_are_there() -> None:
    assert all(not named(name).lacking and named(name).level != host_features().level for name in lesser())
    assert all((ROOT / "tests" / folder).is_dir() for folder in FOLDERS)


@pytest.mark.parametrize("name", lesser())
def test_libraries_take_the_settings_without_a_word(name: str) -> None:
    program = "import numpy; numpy.ones((9, 9)) @ numpy.ones((9, 9))"
    settings = {**os.environ, **environment(name)}
    told = subprocess.run([sys.executable, "-W", "error", "-c", program], env=settings, capture_output=True, text=True)
    assert (told.returncode, told.stderr) == (0, "")
