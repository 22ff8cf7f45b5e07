"""`burn-import` and `ModelGen`: files, exit codes, and edits that are never lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch

import burn
from burn_import.onnx import ModelGen, OnnxError, RecordType, load
from burn_import.onnx.command import main
from tests.onnx.networks import Convolutional, Perceptron, exported, perturbed
from tests.onnx.running import assert_same, runtime, text_model


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
    assert described["source"] == "net.onnx"
    assert [node["op"] for node in described["program"]["graph"]["nodes"]][:2] == ["Conv", "Relu"]


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


def test_weights_that_were_trained_are_kept_unless_force_is_given(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", str(file), "--output", str(file.parent / "out")]
    assert main(arguments) == 0
    weights = file.parent / "out.mpk"
    weights.write_bytes(weights.read_bytes() + b"more")
    assert main(arguments) == 0
    assert main([*arguments, "--half"]) == 4
    assert "out.mpk was edited" in capsys.readouterr().err
    assert weights.read_bytes().endswith(b"more")
    assert main([*arguments, "--half", "--force"]) == 0
    assert not weights.read_bytes().endswith(b"more")


def test_a_description_of_somebody_else_is_kept(file: Path) -> None:
    (file.parent / "out.json").write_text("{}")
    assert main(["--input", str(file), "--output", str(file.parent / "out")]) == 4
    assert sorted(each.name for each in file.parent.iterdir()) == ["net.onnx", "out.json"]
    assert (file.parent / "out.json").read_text() == "{}"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("taken", "taken.mpk is a folder"),
        ("net.onnx/out", "cannot be written to"),
        ("/proc/out", "cannot be written to"),
    ],
)
def test_a_target_that_cannot_be_written_leaves_nothing(
    file: Path, output: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (file.parent / "taken.mpk").mkdir()
    before = sorted(file.parent.rglob("*"))
    assert main(["--input", str(file), "--output", str(file.parent / output)]) == 1
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert sorted(file.parent.rglob("*")) == before


@pytest.mark.parametrize("limit", [100, 2_000, 4_500])
def test_a_full_disk_leaves_nothing(file: Path, limit: int) -> None:
    code = (
        f"import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "from burn_import.onnx.command import main\n"
        "raise SystemExit(main(['--input', 'net.onnx', '--output', 'out']))\n"
    )
    pytest.importorskip("resource", reason="sizes of files are limited on POSIX only")
    done = subprocess.run(
        [sys.executable, "-B", "-c", code], cwd=file.parent, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("burn-import: ")
    assert done.stderr.count("\n") == 1
    assert [each.name for each in file.parent.iterdir()] == ["net.onnx"]


def test_opset_writes_the_file_in_another_operator_set(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = file.parent / "other.onnx"
    assert main(["--input", str(file), "--output", str(target), "--opset", "21"]) == 0
    assert str(target) in capsys.readouterr().out
    made = onnx.load(str(target))
    assert made.opset_import[0].version == 21
    assert made.graph.value_info, "shapes were not inferred"
    assert main(["--input", str(file), "--output", str(target), "--opset", "999"]) == 1
    assert "there is no operator set 999" in capsys.readouterr().err
    assert main(["--input", str(file), "--output", str(file.parent), "--opset", "21"]) == 1
    assert "is a folder" in capsys.readouterr().err
    assert sorted(each.name for each in file.parent.iterdir()) == ["net.onnx", "other.onnx"]


def test_the_upgrade_script_writes_upgraded_model_in_opset_16(tmp_path: Path) -> None:
    old = text_model("g (float[n, 4] x) => (float[n, 4] y) { y = Softmax <axis = 1> (x) }", opset=9, ir_version=4)
    (tmp_path / "old.onnx").write_bytes(old.SerializeToString())
    script = Path(__file__).resolve().parents[2] / "tools" / "onnx_opset_upgrade.py"
    done = subprocess.run(
        [sys.executable, str(script), "old.onnx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    made = onnx.load(str(tmp_path / "upgraded_model.onnx"))
    assert made.opset_import[0].version == 16
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    assert_same(load(made, burn.NdArray()).run({"x": x})["y"], runtime(old, {"x": x})[0])
    missing = subprocess.run(
        [sys.executable, str(script), "none.onnx"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert missing.returncode == 1
    assert "there is no such file" in missing.stderr


def test_a_plugin_brings_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    proto = text_model(
        "g (float[n, 4] x) => (float[n, 4] y) { h = Relu (x)  y = example.ScaledSoftplus <scale = 2.5> (h) }",
        extra=', "example" : 1',
    )
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    plugin = Path(__file__).resolve().parents[2] / "examples" / "onnx_conversion" / "plugin.py"
    code = (
        "import sys\nfrom burn_import.onnx.command import main\n"
        "raise SystemExit(main(['--input', 'net.onnx', '--output', 'out', *sys.argv[1:]]))\n"
    )

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], cwd=tmp_path, capture_output=True, text=True, timeout=120,
            check=False,
        )  # fmt: skip

    without = run()
    assert without.returncode == 1
    assert "operator example.ScaledSoftplus is not supported" in without.stderr
    done = run("--plugin", str(plugin))
    assert done.returncode == 0, done.stderr
    scope: dict[str, object] = {"__name__": "out", "__file__": str(tmp_path / "out.py")}
    exec(compile((tmp_path / "out.py").read_text(), "out.py", "exec"), scope)
    x = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    y = scope["Model"](burn.NdArray())(burn.tensor(x, device=burn.NdArray())).numpy()  # type: ignore[operator]
    assert_same(y, 2.5 * np.log1p(np.exp(np.maximum(x, 0))))
    (tmp_path / "bad.py").write_text("1 / 0\n")
    bad = run("--plugin", "bad.py")
    assert bad.returncode == 1
    assert "--plugin bad.py: ZeroDivisionError" in bad.stderr


def test_inputs_that_cannot_be_read_are_one_sentence(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--input", str(file), "--output", str(file.parent / "out"), "--check", "--inputs"]
    assert main([*arguments, str(file)]) == 1
    assert main([*arguments, str(file.parent / "none.npz")]) == 1
    printed = capsys.readouterr().err
    assert "it is no .npz file" in printed
    assert "none.npz: No such file" in printed


def test_inputs_of_one_name_are_refused_before_anything_is_written(file: Path) -> None:
    other = file.parent / "other" / "net.onnx"
    other.parent.mkdir()
    other.write_bytes(file.read_bytes())
    with pytest.raises(OnnxError, match="2 inputs would be written as net"):
        ModelGen().input(file).input(other).out_dir(file.parent / "out").run_from_cli()
    assert not (file.parent / "out").exists()
