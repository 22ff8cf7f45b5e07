"""`burn-import` and `ModelGen`: files, exit codes, and edits that are never lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

import burn
from burn_import.onnx import ModelGen, OnnxError, RecordType
from burn_import.onnx.command import main
from tests.onnx.networks import Convolutional, Perceptron, exported, perturbed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    network = perturbed(Convolutional()).eval()
    path.write_bytes(exported(network, [torch.randn(2, 3, 16, 16)], ["x"], {"x": {0: "batch"}}))
    return path


def test_the_command_writes_source_weights_and_metadata(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--input", str(file), "--output", str(file.parent / "net_burn")]) == 0
    assert "wrote" in capsys.readouterr().out
    assert {each.name for each in file.parent.iterdir()} == {"net.onnx", "net_burn.py", "net_burn.mpk", "net_burn.json"}
    described = json.loads((file.parent / "net_burn.json").read_text())
    assert described["opset"] == {"": 20}
    assert described["producer"] == "pytorch"
    assert described["inputs"] == [{"name": "x", "dtype": "f32", "shape": ["batch", 3, 16, 16], "argument": "x"}]
    assert described["outputs"] == [{"name": "result", "dtype": "f32", "shape": ["batch", 10]}]
    assert described["import_version"] == burn.__version__
    assert set(described["checksums"]) == {"input", "code", "weights"}
    assert described["program"] is None


@pytest.mark.parametrize(
    "options",
    [[], ["--half"], ["--record-type", "NamedMpkGz"], ["--record-type", "PrettyJson"], ["--record-type", "Bincode"],
     ["--record-type", "Bincode", "--half"], ["--record-type", "Bincode", "--embed"], ["--device", "cpu"]],
    ids=" ".join,
)  # fmt: skip
def test_every_format_of_weights_is_close_to_onnx_runtime(
    file: Path, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--input", str(file), "--output", str(file.parent / "out"), "--check", *options]) == 0
    printed = capsys.readouterr().out
    assert "close" in printed
    assert "DIFFERENT" not in printed


def test_a_difference_found_by_the_check_is_exit_code_3(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = file.parent / "out"
    assert main(["--input", str(file), "--output", str(output)]) == 0
    other = perturbed(Convolutional(), seed=5).eval()
    changed = file.parent / "other.onnx"
    changed.write_bytes(exported(other, [torch.randn(2, 3, 16, 16)], ["x"], {"x": {0: "batch"}}))
    assert main(["--input", str(changed), "--output", str(file.parent / "second")]) == 0
    (file.parent / "out.mpk").write_bytes((file.parent / "second.mpk").read_bytes())
    assert main(["--input", str(file), "--output", str(output), "--check"]) == 3
    assert "DIFFERENT" in capsys.readouterr().out


def test_an_edited_source_is_kept_unless_force_is_given(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--input", str(file), "--output", str(file.parent / "out")]
    code = file.parent / "out.py"
    assert main(arguments) == 0
    assert main(arguments) == 0
    assert "up to date" in capsys.readouterr().out
    code.write_text(code.read_text() + "\n# my own line\n")
    assert main(arguments) == 4
    assert "was edited" in capsys.readouterr().err
    assert "# my own line" in code.read_text()
    assert main([*arguments, "--force"]) == 0
    assert "# my own line" not in code.read_text()


def test_a_file_of_somebody_else_is_not_replaced(file: Path) -> None:
    (file.parent / "out.py").write_text("print('mine')\n")
    assert main(["--input", str(file), "--output", str(file.parent / "out")]) == 4
    assert (file.parent / "out.py").read_text() == "print('mine')\n"


def test_list_ops_prints_what_a_model_needs_and_writes_nothing(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--input", str(file), "--list-ops"]) == 0
    printed = capsys.readouterr().out
    assert "Conv" in printed
    assert "opset 20" in printed
    assert [each.name for each in file.parent.iterdir()] == ["net.onnx"]


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [(None, [], "there is no such file"), (b"not a model", [], "import"), (b"", [], ""),
     ("good", ["--embed"], "--embed needs --record-type Bincode"), ("good", ["--output", "{folder}"], "is a folder")],
)  # fmt: skip
def test_what_cannot_be_imported_is_one_sentence_and_exit_code_1(
    file: Path, content: object, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = file.parent / "folder"
    folder.mkdir()
    path = file
    if content != "good":
        path = file.parent / "bad.onnx"
        if isinstance(content, bytes):
            path.write_bytes(content)
    before = sorted(each.name for each in file.parent.iterdir())
    given = [each.format(folder=folder) for each in arguments]
    if "--output" not in given:
        given += ["--output", str(file.parent / "out")]
    assert main(["--input", str(path), *given]) == 1
    assert message in capsys.readouterr().err
    assert sorted(each.name for each in file.parent.iterdir()) == before


def test_model_gen_writes_beside_the_script_that_runs_it(file: Path) -> None:
    script = file.parent / "build.py"
    script.write_text(
        "from burn_import.onnx import ModelGen, RecordType\n"
        "made = ModelGen().input('net.onnx').out_dir('model').record_type(RecordType.NamedMpk)"
        ".half_precision(False).embed_states(False).run_from_script()\n"
        "from model.net import Model\n"
        "print(made[0].changed, Model.default().num_params())\n"
    )
    for changed in (True, False):
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, cwd="/", timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[0] == str(changed)
    assert sorted(each.name for each in (file.parent / "model").iterdir() if each.is_file()) == [
        "net.json", "net.mpk", "net.py",
    ]  # fmt: skip


def test_model_gen_takes_several_inputs_and_lists_all_faults(file: Path) -> None:
    other = file.parent / "other.onnx"
    other.write_bytes(exported(Perceptron().eval(), [torch.randn(2, 4)], ["x"]))
    made = ModelGen().input(file).input(other).out_dir(file.parent / "out").run_from_cli()
    assert [each.source.name for each in made] == ["net.py", "other.py"]
    with pytest.raises(OnnxError) as error:
        ModelGen("missing.onnx").embed_states(True).run_from_cli()
    assert "missing.onnx: there is no such file" in str(error.value)
    assert "embed_states needs Bincode; add .record_type(RecordType.Bincode)" in str(error.value)


def test_development_writes_the_canonical_graph(file: Path) -> None:
    ModelGen(file, file.parent / "out").development(True).run_from_cli()
    assert "Conv" in (file.parent / "out" / "net.graph.txt").read_text()


def test_weights_of_f64_models_keep_every_bit(tmp_path: Path) -> None:
    network = perturbed(Perceptron()).double().eval()
    (tmp_path / "net.onnx").write_bytes(exported(network, [torch.randn(2, 4).double()], ["x"]))
    made = ModelGen(tmp_path / "net.onnx", tmp_path, RecordType.NamedMpk).run_from_cli()[0]
    scope: dict[str, object] = {"__name__": "net", "__file__": str(made.source)}
    exec(compile(made.source.read_text(), str(made.source), "exec"), scope)
    model = scope["Model"].default()  # type: ignore[attr-defined]
    assert np.array_equal(model.hidden.weight.val().numpy(), network.hidden.weight.detach().numpy().T)
