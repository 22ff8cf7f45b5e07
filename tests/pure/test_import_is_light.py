"""`import burn` loads NumPy and nothing heavier."""

from __future__ import annotations

import json
import subprocess
import sys

ALLOWED = {"burn", "numpy", "typing_extensions"}
HEAVY = {"torch", "ml_dtypes", "msgpack", "onnx", "llvmlite", "wgpu", "cuda", "textual", "rich", "polars", "pandas"}

PROGRAM = """
import json, sys
before = set(sys.modules)
{statement}
print(json.dumps(sorted({{name.partition(".")[0] for name in set(sys.modules) - before}})))
"""


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a statement loads in a fresh interpreter."""
    program = PROGRAM.format(statement=statement)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout))


def test_import_burn_loads_numpy_and_nothing_heavier() -> None:
    loaded = loaded_by("import burn")
    assert loaded & HEAVY == set()
    assert {name for name in loaded if name not in sys.stdlib_module_names} <= ALLOWED


def test_using_a_tensor_on_ndarray_loads_no_other_framework() -> None:
    statement = "import burn; from burn.backend import NdArray; from burn.tensor import Tensor\n"
    statement += "(Tensor.ones([2], NdArray()) + 1.0).exp().to_data()"
    assert loaded_by(statement) & (HEAVY - {"ml_dtypes", "msgpack"}) == set()
