"""The source that is written: how it reads, what it may not contain, and that it stands alone."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper

import burn
from burn_import.onnx import ModelGen, load
from burn_import.onnx.importing import import_model
from tests.onnx.backend_suite import cases
from tests.onnx.networks import Convolutional, Perceptron, Transformer, exported, perturbed
from tests.onnx.running import runtime

PERCEPTRON = '''\
class Model(Module):
    """The graph main_graph."""

    hidden: nn.Linear
    output: nn.Linear

    def __init__(self, device: Device) -> None:
        self.hidden = nn.LinearConfig(4, 8).init(device)
        self.output = nn.LinearConfig(8, 3).init(device)

    def forward(
        self,
        x: Tensor,  # f32 (batch, 4)
    ) -> Tensor:
        """Gives result f32 (batch, 3)."""
        result: Tensor = self.output(self.hidden(x).relu()).softmax(1)  # (batch, 3)
        return result
'''


def perceptron() -> bytes:
    return exported(perturbed(Perceptron()).eval(), [torch.randn(2, 4)], ["x"], {"x": {0: "batch"}})


def transformer() -> bytes:
    inputs = [torch.zeros(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64)]
    sizes = {name: {0: "batch", 1: "length"} for name in ("tokens", "mask")}
    return exported(perturbed(Transformer()).eval(), inputs, ["tokens", "mask"], sizes)


def test_a_perceptron_reads_as_a_person_would_write_it() -> None:
    source = import_model(perceptron()).write().source
    assert PERCEPTRON in source
    assert "(opset 20, producer: pytorch" in source.splitlines()[1]


def classes(source: str) -> list[str]:
    return [each.name for each in ast.parse(source).body if isinstance(each, ast.ClassDef)]


def nameless(data: bytes) -> onnx.ModelProto:
    """The same model with names that say nothing, as optimisers leave them."""
    proto = onnx.load_from_string(data)
    kept = {value.name for value in (*proto.graph.input, *proto.graph.output)}
    names: dict[str, str] = {}

    def renamed(name: str) -> str:
        return name if name in kept or not name else names.setdefault(name, f"{len(names)}")

    for node in proto.graph.node:
        node.name = ""
        node.input[:] = [renamed(name) for name in node.input]
        node.output[:] = [renamed(name) for name in node.output]
    for constant in proto.graph.initializer:
        constant.name = renamed(constant.name)
    del proto.graph.value_info[:]
    return proto


def test_repeated_blocks_become_one_class() -> None:
    source = import_model(transformer()).write().source
    assert classes(source) == ["Layer", "Model"]
    assert '"""Used 3 times: layers_0, layers_1, layers_2."""' in source
    assert "self.layers_1 = Layer(device)" in source
    assert "layers_1 = self.layers_1(layers_0, " in source


def test_blocks_are_found_by_their_structure_where_nothing_is_named() -> None:
    data = transformer()
    model = load(nameless(data), burn.NdArray())
    assert classes(model.source) == ["Attention", "FeedForward", "Layer", "Model"]
    assert "self.layer_2 = Layer(device)" in model.source
    tokens = np.arange(14, dtype=np.int64).reshape(2, 7)
    feed = {"tokens": tokens, "mask": np.ones((2, 7), np.int64)}
    np.testing.assert_allclose(model.run(feed)["result"], runtime(data, feed)[0], rtol=1e-3, atol=1e-4)


class Narrowing(torch.nn.Module):
    """Residual blocks of three widths, with a number each that is learnt."""

    def __init__(self) -> None:
        super().__init__()
        widths = [(4, 4), (4, 8), (8, 8), (8, 16), (16, 16)]
        self.first = torch.nn.ModuleList(torch.nn.Conv2d(i, o, 3, padding=1) for i, o in widths)
        self.second = torch.nn.ModuleList(torch.nn.Conv2d(o, o, 1) for _, o in widths)
        self.third = torch.nn.ModuleList(torch.nn.Conv2d(i, o, 1) for i, o in widths)
        self.scale = torch.nn.ParameterList(torch.tensor([0.1 + i]) for i in range(5))
        self.relu = torch.nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for first, second, third, scale in zip(self.first, self.second, self.third, self.scale):
            x = self.relu(second(torch.relu(first(x)).abs().exp().neg().tanh()) * scale + third(x))
        return x


def test_blocks_that_differ_in_sizes_are_one_class_with_arguments() -> None:
    network, x = Narrowing().eval(), torch.randn(2, 4, 6, 6)
    model = load(nameless(exported(network, [x], ["x"], {"x": {0: "batch"}})), burn.NdArray())
    assert classes(model.source) == ["Residual", "Model"]
    assert "def __init__(self, channels_in: int, channels_out: int, device: Device) -> None:" in model.source
    assert "self.residual_3 = Residual(channels_in=8, channels_out=16, device=device)" in model.source
    assert "x: Tensor,  # f32 (batch, channels_in, 6, 6)" in model.source
    assert "scale: Param  # f32 (1,)" in model.source
    with torch.no_grad():
        np.testing.assert_allclose(model.run({"x": x.numpy()})["result"], network(x).numpy(), rtol=1e-3, atol=1e-4)


def test_weights_that_several_blocks_share_stay_shared() -> None:
    """A block that is called again with the same weights is one field that is called twice."""
    network = perturbed(Transformer(1)).eval()
    network.layers = torch.nn.ModuleList([network.layers[0]] * 3)
    inputs = [torch.zeros(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64)]
    sizes = {name: {0: "batch", 1: "length"} for name in ("tokens", "mask")}
    model = load(exported(network, inputs, ["tokens", "mask"], sizes), burn.NdArray())
    assert model.source.count("= self.layer_0(") == 3
    assert model.num_params() == sum(each.numel() for each in network.parameters())
    tokens = torch.arange(14).reshape(2, 7)
    with torch.no_grad():
        wanted = network(tokens, inputs[1]).numpy()
    found = model.run({"tokens": tokens.numpy(), "mask": inputs[1].numpy()})["result"]
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


def test_the_scopes_that_the_newer_exporter_notes_name_fields_and_classes() -> None:
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="node_1")
    for key, value in {
        "pkg.torch.onnx.name_scopes": "['', 'layers.0', 'layers.0.query', 'linear']",
        "pkg.torch.onnx.class_hierarchy": "['Net', 'net.Block', 'torch.nn.modules.linear.Linear', 'aten.linear']",
    }.items():
        node.metadata_props.add(key=key, value=value)
    values = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["n", 2]) for name in "xy"]
    weight = numpy_helper.from_array(np.eye(2, dtype=np.float32), "w")
    graph = helper.make_graph([node], "g", values[:1], values[1:], [weight])
    model = import_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10))
    (made,) = model.model.graph
    assert made.scope == ("layers.0", "query")
    assert made.kinds == ("Block", "Linear")
    assert "layers_0_query: nn.Linear" in model.write().source


@pytest.mark.parametrize("data", [perceptron(), transformer()], ids=["perceptron", "transformer"])
def test_a_formatter_finds_nothing_to_do(data: bytes, tmp_path: Path) -> None:
    for name, each in (("named", data), ("nameless", nameless(data))):
        path = tmp_path / f"{name}.py"
        path.write_text(import_model(each).write().source)
        command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length", "110", "--diff", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("data", [perceptron(), transformer()], ids=["perceptron", "transformer"])
def test_the_source_is_deterministic_narrow_and_imports_burn_alone(data: bytes) -> None:
    source = import_model(data).write().source
    assert source == import_model(data).write().source
    assert max(map(len, source.splitlines())) <= 110
    assert not any(line.endswith(" ") for line in source.splitlines())
    imported = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported.update(each.name.partition(".")[0] for each in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported <= {"__future__", "pathlib", "burn"}


HOSTILE = [
    "import", "x\ny = 1", '"""\nraise SystemExit\n"""', "x'); __import__('os').abort(); ('", "self", "\\", "\u202e",
    "1", "{0}", "class Model:", "", "x x", "None", "relu", "burn", "device",
]  # fmt: skip


def hostile() -> onnx.ModelProto:
    names = [name or f"v{index}" for index, name in enumerate(HOSTILE)]
    weight = numpy_helper.from_array(np.arange(6, dtype=np.float32).reshape(2, 3), "weight\n); raise SystemExit #")
    nodes, last = [], names[0]
    for name in names[1:]:
        nodes.append(helper.make_node("Abs", [last], [name], name=f"/{name}/Abs"))
        last = name
    nodes.append(helper.make_node("MatMul", [last, weight.name], ['out"""'], name="'''"))
    value = [
        helper.make_tensor_value_info(names[0], onnx.TensorProto.FLOAT, ["batch\n: int", 2]),
        helper.make_tensor_value_info('out"""', onnx.TensorProto.FLOAT, ["batch\n: int", 3]),
    ]
    graph = helper.make_graph(nodes, 'g"""\nraise SystemExit', value[:1], value[1:], [weight])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    made.producer_name, made.producer_version = "bad\nraise SystemExit", '"""'
    return made


def test_no_name_or_text_of_a_model_ends_up_in_the_source_unescaped() -> None:
    model = load(hostile(), burn.NdArray())
    tree = ast.parse(model.source)
    calls = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    assert not any("__import__" in each or "SystemExit" in each for each in calls)
    assert not any(isinstance(node, ast.Raise) and "SystemExit" in ast.unparse(node) for node in ast.walk(tree))
    result = model.run({"import": -np.ones((4, 2), np.float32)})
    assert result['out"""'].tolist() == [[3.0, 5.0, 7.0]] * 4


ALONE = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("onnx", "onnxruntime", "burn_import"):
            raise ImportError(name)

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, sys.argv[1])
import numpy as np
import burn
from net import Model

x = np.load(sys.argv[1] + "/x.npy")
wanted = np.load(sys.argv[1] + "/y.npy")
for device in (burn.NdArray(), burn.Cpu(), burn.LibTorch()):
    for each in (device, device.autodiff()):
        model = Model.from_file(sys.argv[1] + "/net.mpk", each)
        if each.is_autodiff:
            model = model.mode("infer")
        result = model(burn.tensor(x, device=each))
        assert np.allclose(result.numpy(), wanted, 1e-3, 1e-4), each
model = Model.default()
assert np.allclose(model(burn.tensor(x)).numpy(), wanted, 1e-3, 1e-4)
data = open(sys.argv[1] + "/net.mpk", "rb").read()
assert Model.from_bytes(data, burn.NdArray()).num_params() == model.num_params()
fresh = Model(burn.NdArray())
assert fresh(burn.tensor(x, device=burn.NdArray())).shape == wanted.shape
try:
    Model.from_embedded(burn.NdArray())
except RuntimeError as error:
    assert "--embed" in str(error)
else:
    raise AssertionError("from_embedded found weights")
print("alone")
"""


def test_generated_files_run_where_the_importer_cannot_be_imported(tmp_path: Path) -> None:
    network = perturbed(Convolutional()).eval()
    x = torch.randn(2, 3, 16, 16)
    (tmp_path / "net.onnx").write_bytes(exported(network, [x], ["x"], {"x": {0: "batch"}}))
    ModelGen(tmp_path / "net.onnx", tmp_path).run_from_cli()
    np.save(tmp_path / "x.npy", x.numpy())
    with torch.no_grad():
        np.save(tmp_path / "y.npy", network(x).numpy())
    done = subprocess.run([sys.executable, "-c", ALONE, str(tmp_path)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "alone"


# Cases whose source is of a kind of its own: optional results, loops that begin with parameters, bounds of the run.
FORMS = {
    "test_attention_4d_with_qk_matmul", "test_linear_attention_linear_expanded", "test_bernoulli_seed", "test_slice",
    "test_flexattention_relative_positional", "test_sequence_map_add_1_sequence_1_tensor", "test_slice_default_steps",
}  # fmt: skip


def _many(folder: Path, step: int) -> list[str]:
    """Sources of networks and of some of the standard's cases, written into a folder; of all for `make test-all`."""
    step = 1 if os.environ.get("BURN_TEST_ALL") else step
    image = [torch.randn(2, 3, 16, 16)]
    models: dict[str, Any] = {
        "perceptron": perceptron(),
        "transformer": transformer(),
        "convolutional": exported(perturbed(Convolutional()).eval(), image, ["x"], {"x": {0: "batch"}}),
    }
    every = cases("node")
    models |= {case.name: case.model for case in (*every[::step], *(case for case in every if case.name in FORMS))}
    assert len(FORMS & set(models)) == len(FORMS)
    for name, model in models.items():
        (folder / f"{name}.py").write_text(import_model(model).write().source, encoding="utf-8")
    return [str(path) for path in sorted(folder.glob("*.py"))]


def test_generated_source_has_no_unused_names(tmp_path: Path) -> None:
    paths = _many(tmp_path, 20)
    command = [sys.executable, "-m", "ruff", "check", "--isolated", "--preview", "--select", "F,RUF059"]
    done = subprocess.run([*command, "--output-format", "concise", *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
def test_generated_source_has_types_that_a_strict_checker_accepts(tmp_path: Path) -> None:
    (tmp_path / "sources").mkdir()
    paths = _many(tmp_path / "sources", 40)
    (tmp_path / "mypy.ini").write_text("[mypy]\nstrict = True\n", encoding="utf-8")
    package = Path(burn.__file__).parents[1]
    command = [sys.executable, "-m", "mypy", "--config-file", str(tmp_path / "mypy.ini")]
    command += ["--cache-dir", str(tmp_path / "cache")]
    environment = {**os.environ, "MYPYPATH": str(package)}
    done = subprocess.run([*command, *paths], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout
