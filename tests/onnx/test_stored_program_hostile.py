"""Programs that nobody should trust: each is a model or one error, and nothing of it is ever executed."""

from __future__ import annotations

import ast
import copy
import json
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import burn
from burn_import.onnx import OnnxError, RecordType, load, open_program
from burn_import.onnx.stored.guard import guard
from tests.onnx.programs import generated, models
from tests.onnx.running import text_model

MODELS = models()
MARK = "BURN_HOSTILE"
ATTACK = f"x\"'\"\"\"\n    import os; os.environ['{MARK}'] = '1'\n#\\"
HOSTILE: list[Any] = [
    ATTACK, f"__import__('os').environ.update({MARK}='1')", "", "\x00", "\ud800", "self", "class", "a" * 70_000,
    None, True, False, 0, -1, 1 << 40, 1 << 70, 1e308, -0.0, [], {}, [[]], [None], {"sum": [[1, ATTACK]]},
    {"sum": [[1, {"//": ["n", 0]}]]}, ["tensor", "f32", [1 << 60, 1 << 60]], ["tensor", "f32", [ATTACK]],
    ["string", ATTACK], ["ints", [1, 2, 3, 4]], ["float", "nan"], ["int", -5], ["graph", {}], {ATTACK: 1},
]  # fmt: skip
IMPORTED = {"__future__", "pathlib", "burn", "numpy"}
FORBIDDEN = {
    "exec",
    "eval",
    "compile",
    "__import__",
    "open",
    "getattr",
    "globals",
    "os",
    "sys",
    "environ",
    "breakpoint",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[dict[str, Any], Path]]:
    found = {}
    for name in ("if", "loop", "sequence", "shapes", "strings", "picked", "transformer"):
        made = generated(MODELS[name][0], tmp_path_factory.mktemp("program") / name)
        assert made.weights is not None
        found[name] = (json.loads(made.metadata.read_text()), made.weights)
    return found


def attempt(described: Any, record: Any) -> bool:
    """Whether a program opens and is a module; its source may hold nothing but what the writer writes."""
    try:
        source = open_program(described, record, burn.NdArray()).source
    except OnnxError:
        opens = False
    else:
        assert_harmless(source)
        opens = True
    assert MARK not in os.environ
    return opens


def assert_harmless(source: str) -> None:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            assert {each.name for each in node.names} <= IMPORTED
        elif isinstance(node, ast.ImportFrom):
            if node.module != "typing" or [each.name for each in node.names] != ["Any"]:
                known = node.module == "burn_import.functions"
                assert known or str(node.module).split(".")[0] in IMPORTED | {"io", "base64"}
        elif isinstance(node, ast.Name):
            assert node.id not in FORBIDDEN
        elif isinstance(node, ast.Attribute):
            assert node.attr not in FORBIDDEN
            assert not node.attr.startswith("__")


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a tree."""
    for key in list(tree) if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from places(tree[key])


@pytest.mark.parametrize("name", ["if", "loop", "sequence", "shapes", "strings", "picked", "transformer"])
def test_whatever_is_put_anywhere_gives_a_model_or_one_error(
    name: str, files: dict[str, tuple[dict[str, Any], Path]]
) -> None:
    described, record = files[name]
    generator = random.Random(name)
    opened = 0
    for _ in range(120):
        changed = copy.deepcopy(described)
        everywhere = list(places(changed["program"]))
        for _ in range(generator.choice((1, 1, 1, 3))):
            container, key = generator.choice(everywhere)
            if isinstance(container, dict) and generator.random() < 0.2:
                container[generator.choice((ATTACK, "op", "data", "packed"))] = generator.choice(HOSTILE)
            elif generator.random() < 0.15 and isinstance(container, list) and key < len(container):
                del container[key]
            elif not isinstance(container, list) or key < len(container):
                container[key] = copy.deepcopy(generator.choice(HOSTILE))
        opened += attempt(changed, record)
    assert opened < 120


def test_every_name_may_be_an_attack_and_stays_a_name(files: dict[str, tuple[dict[str, Any], Path]]) -> None:
    for name in ("loop", "shapes", "if"):
        described, record = files[name]
        renamed: dict[str, str] = {}

        def attack(text: str) -> str:
            return renamed.setdefault(text, f"{ATTACK}{len(renamed)}")  # noqa: B023

        def rename(graph: dict[str, Any]) -> None:
            graph["name"] = ATTACK
            graph["inputs"] = [[attack(value), type_] for value, type_ in graph["inputs"]]
            for entry in graph["constants"]:
                entry["name"] = attack(entry["name"])
            for node in graph["nodes"]:
                node["name"] = ATTACK
                node["inputs"] = [None if each is None else attack(each) for each in node["inputs"]]
                for kind, value in node.get("attributes", {}).values():
                    if kind == "graph":
                        rename(value)
                node["outputs"] = [[attack(each[0]), *each[1:]] for each in node["outputs"]]
            graph["outputs"] = [[attack(value), ATTACK + output] for value, output in graph["outputs"]]

        changed = copy.deepcopy(described)
        rename(changed["program"]["graph"])
        changed["source"] = changed["producer"] = changed["graph"] = ATTACK
        model = open_program(changed, record, burn.NdArray())
        assert_harmless(model.source)
        _, feeds = MODELS[name]
        feed = {renamed[each]: value for each, value in feeds[0].items()}
        assert list(model.run(feed)) == [ATTACK + output for _, output in described["program"]["graph"]["outputs"]]
        assert MARK not in os.environ


def test_sizes_of_a_sequence_are_no_way_into_the_source() -> None:
    proto = text_model("g (float[n] x) => (seq(float[n]) s) { s = SequenceConstruct (x) }")
    size = f'"""; __import__("os").putenv("{MARK}", "1") #'
    for place in (proto.graph.output[0].type.sequence_type.elem_type, proto.graph.input[0].type):
        place.tensor_type.shape.dim[0].dim_param = size
    assert_harmless(load(proto, burn.NdArray()).source)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda graph: graph["nodes"][0].update(op="System"), "operator 'System' is not known"),
        (lambda graph: graph["nodes"][0].update(version=1), "version 1; version"),
        (lambda graph: graph["nodes"][0].update(extra=1), "unknown key 'extra'"),
        (lambda graph: graph["nodes"][0].setdefault("attributes", {}).update(cmd=["int", 1]), "no attribute 'cmd'"),
        (lambda graph: graph["nodes"][0]["inputs"].__setitem__(0, graph["nodes"][-1]["outputs"][0][0]), "not defined"),
        (lambda graph: graph["nodes"][0]["inputs"].__setitem__(0, graph["nodes"][0]["outputs"][0][0]), "not defined"),
        (lambda graph: graph["nodes"][0]["outputs"].append(graph["nodes"][0]["outputs"][0]), "is taken"),
        (lambda graph: graph["constants"][0].update(shape=[1 << 50]), "too small for the"),
        (lambda graph: graph["constants"][0].update(shape=[1 << 90]), "is no shape|no size"),
        (lambda graph: graph["constants"][0].update(packed="eJz7z8AA"), "packed elements"),
        (lambda graph: graph["nodes"].clear(), "not defined"),
    ],
)  # fmt: skip
def test_a_fault_is_named(change: Any, message: str, files: dict[str, tuple[dict[str, Any], Path]]) -> None:
    described, record = files["transformer"]
    changed = copy.deepcopy(described)
    change(changed["program"]["graph"])
    with pytest.raises(OnnxError, match=message):
        open_program(changed, record, burn.NdArray())


def test_all_faults_are_listed_at_once(files: dict[str, tuple[dict[str, Any], Path]]) -> None:
    described, record = files["transformer"]
    changed = copy.deepcopy(described)
    for node in changed["program"]["graph"]["nodes"][:3]:
        node["op"] = "System"
    changed["program"]["graph"]["inputs"][0][1] = ["tensor", "f99", None]
    with pytest.raises(OnnxError) as error:
        open_program(changed, record, burn.NdArray())
    assert len(error.value.faults) >= 4


def test_bodies_cannot_be_nested_without_end(files: dict[str, tuple[dict[str, Any], Path]]) -> None:
    described, record = files["if"]
    for depth in (40, 3000):
        changed = copy.deepcopy(described)
        graph: dict[str, Any] = {"name": "", "inputs": [], "constants": [], "nodes": [], "outputs": []}
        for _ in range(depth):
            body = {"then_branch": ["graph", graph]}
            node = {"op": "If", "version": 25, "inputs": ["flag"], "outputs": [], "attributes": body}
            graph = {**graph, "nodes": [node]}
        changed["program"]["graph"]["nodes"].append(graph["nodes"][0])
        assert not attempt(changed, record)


@pytest.mark.parametrize(
    "text",
    ["", "nothing", "[1]", "{}", '{"format": "burn-import"}', '{"a": 1, "a": 2}', '{"a": NaN}', "[" * 100_000,
     '{"a": ' + "9" * 10_000 + "}", "\x00\xff"],
)  # fmt: skip
def test_a_file_that_is_no_program_is_one_sentence(text: str, tmp_path: Path) -> None:
    file = tmp_path / "net.json"
    file.write_text(text)
    with pytest.raises(OnnxError, match="open_program"):
        open_program(file, b"", burn.NdArray())


def test_weights_that_are_missing_or_of_another_model_are_named(files: dict[str, tuple[dict[str, Any], Path]]) -> None:
    described, record = files["transformer"]
    with pytest.raises(OnnxError, match="there is no such record"):
        open_program(described, record.with_name("other.mpk"), burn.NdArray())
    with pytest.raises(OnnxError, match="needs a record"):
        open_program(described, None, burn.NdArray())
    with pytest.raises(OnnxError, match="records end in"):
        open_program(described, record.with_name("net.onnx"), burn.NdArray())
    data = record.read_bytes()
    for wrong in (b"", data[:2000], data[: len(data) // 2], b"\x00" * len(data)):
        with pytest.raises(OnnxError, match="open_program"):
            open_program(described, wrong, burn.NdArray())
    with pytest.raises(OnnxError, match="does not fit|too small"):
        open_program(described, files["picked"][1], burn.NdArray())


@pytest.mark.parametrize(
    "line",
    ["import os", "from os import path", "print(1)", "class A(Module):\n    x = __import__('os')", "x = 1",
     "class A(Module):\n    def forward(self):\n        return ().__class__", "class A(dict): pass", "def f(): pass",
     "class A(Module):\n    def forward(self):\n        return open('x')", "'"],
)  # fmt: skip
def test_source_that_does_more_than_compute_is_not_run(line: str) -> None:
    guard("import burn\nfrom burn import Module\n\n\nclass Model(Module):\n    pass\n")
    with pytest.raises(OnnxError, match="open_program"):
        guard(f"import burn\n{line}\n")


def test_the_source_beside_a_program_is_never_run(tmp_path: Path) -> None:
    made = generated(MODELS["transformer"][0], tmp_path, record_type=RecordType.Bincode, embed_states=True)
    attack = f"import os\nos.environ['{MARK}'] = '1'\n"
    made.source.write_text(attack + made.source.read_text())
    assert open_program(made.metadata, None, burn.NdArray()).input_names == ("tokens", "mask")
    assert MARK not in os.environ
    made.source.write_text(attack)
    with pytest.raises(OnnxError, match="no weights are in it"):
        open_program(made.metadata, None, burn.NdArray())
