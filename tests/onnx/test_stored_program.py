"""The program in the `.json`: what it gives is what `load` gives, with neither source nor the `onnx` package."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import burn
from burn.dim import floor_divide, maximum
from burn.record import BinFileRecorder, NamedMpkFileRecorder, SafetensorsRecorder
from burn_import.onnx import OnnxError, RecordType, load, open_program
from burn_import.onnx.ir import Dim, TensorType
from burn_import.onnx.ir.types import ElementType, MapType, OptionalType, SequenceType
from burn_import.onnx.modules import open_files
from burn_import.onnx.stored.elements import FEW
from burn_import.onnx.stored.types import decode_type, encode_type
from tests.onnx.networks import Convolutional, exported, perturbed
from tests.onnx.programs import generated, models, opened
from tests.onnx.running import assert_same
from tools import onnx_report as report

MODELS = models()
ALWAYS = ("_if_", "loop", "scan", "sequence", "optional", "string", "tree", "label_encoder", "range_")
RANDOM = ("bernoulli", "random", "dropout", "multinomial")


def same(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert list(one) == list(other)
    for name in one:
        assert_same(one[name], other[name], 0, 0)


@pytest.mark.parametrize("name", MODELS)
def test_the_program_gives_what_load_gives(name: str, tmp_path: Path) -> None:
    data, feeds = MODELS[name]
    expected, model = load(data, burn.NdArray()), opened(data, tmp_path)
    assert model.input_names == expected.input_names
    assert model.output_names == expected.output_names
    assert model.metadata == expected.metadata
    for feed in feeds:
        same(model.run(feed), expected.run(feed))
        place = {
            each: feed[each] if feed[each].dtype == object else burn.tensor(feed[each], device=burn.NdArray())
            for each in feed
        }
        same({"": _host(model(**place))}, {"": _host(expected(*place.values()))})


def _host(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_host(each) for each in value]
    return value.numpy() if isinstance(value, burn.Tensor) else value


def test_the_standards_own_cases_give_the_same_through_the_program(tmp_path: Path) -> None:
    every = report.cases("node", "simple", "pytorch-operator")
    chosen = [case for index, case in enumerate(every) if index % 24 == 0 or any(word in case.name for word in ALWAYS)]
    compared = 0
    for case in chosen:
        model, data_sets = report.opened(case)
        try:
            expected = load(model, burn.NdArray())
        except OnnxError:
            continue
        actual = opened(model.SerializeToString(), tmp_path)
        if any(word in case.name for word in RANDOM):
            continue
        for inputs, _ in data_sets:
            given = {value.name: report._value(each) for value, each in zip(model.graph.input, inputs)}
            feed = {name: given.get(name) for name in expected.input_names}
            same(actual.run(feed), expected.run(feed))
            compared += 1
    assert compared >= 120


@pytest.mark.parametrize(
    "options",
    [dict(record_type=each) for each in RecordType]
    + [dict(record_type=RecordType.Bincode, embed_states=True), dict(half_precision=True)],
    ids=str,
)
def test_every_format_of_weights_serves(options: dict[str, Any], tmp_path: Path) -> None:
    data, feeds = MODELS["convolutional"]
    made = generated(data, tmp_path, **options)
    expected = load(data, burn.NdArray()).run(feeds[0])
    atol = 2e-3 if options.get("half_precision") else 0
    beside = open_program(made.metadata, None, burn.NdArray())
    assert_same(beside.run(feeds[0])["result"], expected["result"], 0, atol)
    if made.weights is None:
        assert_same(
            open_program(made.metadata, made.source, burn.NdArray()).run(feeds[0])["result"], expected["result"], 0, 0
        )
        return
    for record in (made.weights, str(made.weights), made.weights.read_bytes()):
        model = open_program(json.loads(made.metadata.read_text()), record, burn.NdArray())
        assert_same(model.run(feeds[0])["result"], expected["result"], 0, atol)


def test_the_fused_device_serves_it_too(tmp_path: Path) -> None:
    data, feeds = MODELS["convolutional"]
    made = generated(data, tmp_path)
    model = open_program(made.metadata, made.weights, burn.Cpu())
    expected = load(data, burn.NdArray())
    for feed in [*feeds, *feeds]:
        assert_same(model.run(feed)["result"], expected.run(feed)["result"], 1e-4, 1e-5)


def test_the_source_beside_the_program_is_the_source_of_the_program(tmp_path: Path) -> None:
    for name, (data, _) in MODELS.items():
        made = generated(data, tmp_path / name)
        written = made.source.read_text().split("    @classmethod")[0]
        assert open_program(made.metadata, None, burn.NdArray()).source.split("    @classmethod")[0] == written


def test_large_weights_are_references_and_nothing_long_stands_in_the_file(tmp_path: Path) -> None:
    made = generated(MODELS["transformer"][0], tmp_path)
    program = json.loads(made.metadata.read_text())["program"]
    paths: list[str] = []
    for entry in program["graph"]["constants"]:
        assert "packed" not in entry
        assert len(entry.get("data", [])) <= FEW
        paths += entry.get("record", [])
        if entry["dtype"] == "f32" and int(np.prod(entry["shape"])) > 1:
            assert "data" not in entry
    assert set(paths) <= set(program["parameters"])
    assert "layers_0.query.weight" in paths or any("query" in path for path in paths)
    assert made.metadata.stat().st_size < 200_000


def test_what_the_source_depends_on_is_packed(tmp_path: Path) -> None:
    entries = json.loads(generated(MODELS["picked"][0], tmp_path).metadata.read_text())["program"]["graph"]["constants"]
    assert [sorted(each) for each in entries] in (
        [["dtype", "name", "packed", "record", "shape"]], [["dtype", "name", "packed", "shape"]],
        [["dtype", "name", "record", "shape"]],
    )  # fmt: skip


@pytest.mark.parametrize("recorder", [NamedMpkFileRecorder(), BinFileRecorder(), SafetensorsRecorder()], ids=str)
def test_a_record_that_was_trained_further_serves_through_the_same_program(recorder: Any, tmp_path: Path) -> None:
    data, feeds = MODELS["convolutional"]
    made = generated(data, tmp_path)
    model = load(data, burn.NdArray())
    model = model._with(lambda leaf: leaf.with_value(leaf.val() * 1.25), lambda leaf: leaf)
    file = tmp_path / f"tuned.{recorder.file_extension()}"
    model.save_file(file, recorder)
    same(open_program(made.metadata, file, burn.NdArray()).run(feeds[0]), model.run(feeds[0]))


def test_a_program_runs_where_neither_onnx_nor_the_source_can_be_had(tmp_path: Path) -> None:
    data, feeds = MODELS["convolutional"]
    made = generated(data, tmp_path)
    np.save(tmp_path / "x.npy", feeds[0]["x"])
    (tmp_path / "net.onnx").unlink()
    made.source.unlink()
    code = (
        "import sys\n"
        "for name in ('onnx', 'onnxruntime', 'google.protobuf', 'torch'): sys.modules[name] = None\n"
        "import numpy as np, burn\n"
        "from burn_import.onnx import open_program\n"
        "model = open_program('net.json', 'net.mpk', burn.NdArray())\n"
        "np.save('y.npy', model.run({'x': np.load('x.npy')})['result'])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert_same(np.load(tmp_path / "y.npy"), load(data, burn.NdArray()).run(feeds[0])["result"], 0, 0)


def test_metadata_has_names_dtypes_and_open_sizes(tmp_path: Path) -> None:
    model = opened(MODELS["transformer"][0], tmp_path)
    assert [each["name"] for each in model.metadata["inputs"]] == ["tokens", "mask"]
    assert model.metadata["inputs"][0]["dtype"] == "i64"
    assert model.metadata["outputs"][0]["shape"] == ["batch", "length", 50]


def test_a_trained_program_is_an_ordinary_module(tmp_path: Path) -> None:
    network = perturbed(Convolutional()).eval()
    made = generated(exported(network, [torch.randn(2, 3, 16, 16)], ["x"], {"x": {0: "batch"}}), tmp_path)
    device = burn.NdArray().autodiff()
    model = open_program(made.metadata, made.weights, device)
    gradients = model(burn.tensor(np.ones((2, 3, 16, 16), np.float32), device=device)).sum().backward()
    assert gradients[model.classifier.bias] is not None


@pytest.mark.parametrize("change", ["format_version", "version", "program", "parameters"])
def test_another_version_names_the_command_that_writes_it_again(change: str, tmp_path: Path) -> None:
    made = generated(MODELS["convolutional"][0], tmp_path, record_type=RecordType.Bincode, half_precision=True)
    described = json.loads(made.metadata.read_text())
    if change == "format_version":
        described["format_version"] = 99
    elif change == "program":
        described["program"] = None
    elif change == "version":
        described["program"]["version"] = 99
    else:
        described["program"]["parameters"][0] = "conv1.kernel"
    with pytest.raises(OnnxError, match="burn-import --input net.onnx --output net --record-type Bincode --half"):
        open_program(described, made.weights, burn.NdArray())


def test_source_of_another_format_is_not_loaded_either(tmp_path: Path) -> None:
    made = generated(MODELS["convolutional"][0], tmp_path)
    described = json.loads(made.metadata.read_text())
    assert f"burn-import {described['import_version']}" in made.source.read_text().splitlines()[0]
    assert open_files(made.source, made.weights, described, burn.NdArray()).input_names == ("x",)
    with pytest.raises(OnnxError, match="burn-import --input net.onnx --output net"):
        open_files(made.source, made.weights, {**described, "format_version": 99}, burn.NdArray())


def test_types_and_sizes_survive_the_way_there_and_back() -> None:
    height, width = Dim("height"), Dim("a 'name' + 1")
    sizes = (3, None, height, height * 2 + width * height - 4, floor_divide(height + 1, 2), maximum(height, width))
    every = [
        None, TensorType(None), TensorType(ElementType.f32, sizes), SequenceType(None),
        OptionalType(SequenceType(TensorType(ElementType.string, (height,)))),
        MapType(ElementType.i64, TensorType(ElementType.f16, ())),
    ]  # fmt: skip
    for type_ in every:
        assert decode_type(json.loads(json.dumps(encode_type(type_)))) == type_
