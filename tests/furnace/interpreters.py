"""Interpreters that have a package which this one may not have.

Heavy clients (KServe's, Ray, Schemathesis) are kept out of the dev extra. A test that needs one runs a script in this
interpreter when it has the package, else in the one that a variable names, else it is skipped with the reason.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest


def python_with(package: str) -> str:
    """The interpreter to use for a package; skips when there is none."""
    if importlib.util.find_spec(package) is not None:
        return sys.executable
    variable = f"FURNACE_TEST_PYTHON_{package.upper()}"
    named = os.environ.get(variable)
    if named is None:
        pytest.skip(f"{package} is not installed; {variable} may name an interpreter that has it")
    return named


def run_script(package: str, script: str, *arguments: str, seconds: float = 60, **environment: str) -> str:
    """What a script prints in an interpreter that has the package; it must end well."""
    command = [python_with(package), "-c", script, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=seconds, check=False, env={**os.environ, **environment}
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr[-6000:]}"
    return done.stdout
