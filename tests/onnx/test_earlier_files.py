"""Files that were generated when functions of exchange formats stood in `burn.tensor` keep working."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import burn
import burn.tensor
from burn.backend import Cpu, NdArray
from burn.ops.exchange import MOVED
from burn_import.functions import MODULES
from burn_import.onnx.importing import import_model
from tests.onnx.running import assert_same, runtime

EARLIER = Path(__file__).with_name("earlier_model.py")
GRAPH = """<ir_version: 10, opset_import: ["": 23, "ai.onnx.ml": 3]>
earlier (float[2, 3, 4] x, string[3] words) => (float[2, 3, 4] y, float[6, 1] scores, string[3] marked) {
  n = MeanVarianceNormalization<axes = [0, 2]>(x)
  q, scale, zero = DynamicQuantizeLinear(n)
  back = DequantizeLinear(q, scale, zero)
  a = Attention<q_num_heads = 2, kv_num_heads = 2>(back, back, x)
  y = Identity(a)
  flat_shape = Constant<value_ints = [6, 4]>()
  flat = Reshape(back, flat_shape)
  scores = ai.onnx.ml.TreeEnsembleRegressor<n_targets = 1, nodes_treeids = [0, 0, 0], nodes_nodeids = [0, 1, 2],
    nodes_featureids = [1, 0, 0], nodes_values = [0.5, 0.0, 0.0], nodes_modes = ["BRANCH_LEQ", "LEAF", "LEAF"],
    nodes_truenodeids = [1, 0, 0], nodes_falsenodeids = [2, 0, 0], target_treeids = [0, 0], target_nodeids = [1, 2],
    target_ids = [0, 0], target_weights = [-1.5, 2.25]>(flat)
  end = Constant<value_strings = ["!"]>()
  marked = StringConcat(words, end)
}"""
"""What `earlier_model.py` was written from, before the functions moved."""
WITHOUT = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "burn_import":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""


@pytest.mark.parametrize("device", [NdArray(), Cpu()], ids=repr)
def test_a_file_that_imports_from_the_earlier_place_gives_what_onnx_runtime_gives(device: burn.Device) -> None:
    x = np.random.default_rng(5).standard_normal((2, 3, 4)).astype(np.float32)
    words = np.array(["a", "b", "c"], dtype=object)
    model = runpy.run_path(str(EARLIER))["Model"](device)
    y, scores, marked = model(burn.tensor(x, device=device), words)
    theirs = runtime(onnx.parser.parse_model(GRAPH).SerializeToString(), {"x": x, "words": words})
    assert_same(y.numpy(), theirs[0], 1e-5, 1e-5)
    assert_same(scores.numpy(), theirs[1], 0, 0)
    assert marked.tolist() == theirs[2].tolist() == ["a!", "b!", "c!"]


def test_a_file_that_is_written_today_differs_in_the_place_alone() -> None:
    now = import_model(onnx.parser.parse_model(GRAPH)).write().source
    earlier = EARLIER.read_text(encoding="utf-8")
    assert "from burn.tensor import normalization" in earlier
    moved = earlier.replace("from burn.tensor import normalization", "from burn_import.functions import normalization")
    assert now.strip() == moved.strip()


def test_every_module_that_moved_is_found_under_both_names() -> None:
    assert MOVED <= MODULES
    for name in MOVED:
        assert getattr(burn.tensor, name) is sys.modules[f"burn_import.functions.{name}"]
    with pytest.raises(AttributeError, match="module 'burn.tensor' has no attribute 'classicall'"):
        burn.tensor.classicall  # noqa: B018


def _run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


def test_nothing_is_imported_before_somebody_asks() -> None:
    program = "import sys, burn, burn.tensor; assert not hasattr(burn.tensor, 'x')\n"
    program += "print([name for name in sys.modules if name.startswith('burn_import')])\n"
    done = _run(program)
    assert done.stdout.strip() == "[]", done.stderr


def test_without_the_importer_the_error_says_what_to_install() -> None:
    done = _run(WITHOUT + "import burn.tensor\nfrom burn.tensor import quantized\n")
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: burn.tensor.quantized is burn_import.functions.quantized now, and burn_import")


def test_a_stored_program_finds_the_rows_of_exchange_formats_by_itself() -> None:
    write = """
from burn import NdArray
from burn.dtype import f32
from burn.program import ProgramBuilder
from burn_import.rows.trees import couple_probabilities

builder = ProgramBuilder(NdArray())
x = builder.input((2, 3, 3), f32)
print(builder.finish(builder.apply(couple_probabilities.op, (x,))).to_json())
"""
    written = _run(write)
    assert written.returncode == 0, written.stderr
    read = f"""
from burn.program import Program

print(Program.from_data({written.stdout.strip()!r}).nodes[0].op.name)
"""
    done = _run(read)
    assert done.stdout.strip() == "couple_probabilities", done.stderr
    refused = _run(WITHOUT + read)
    assert "there is no row 'couple_probabilities'" in refused.stderr
