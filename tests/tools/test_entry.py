"""Commands end quietly when their reader is gone, when a stream is closed, and when a package is missing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODEL = str(ROOT / "examples" / "onnx_inference" / "mnist.onnx")
COMMANDS = [
    ["burn.tools.cli", "env"],
    ["burn.tools.bench", "list"],
    ["burn_import.onnx.command", "--input", MODEL, "--list-ops"],
    ["burn.tools.train.cli"],
    ["furnace.command", "--help"],
    ["burn.serve.__main__", "--version"],
]
PROGRAM = "import sys, importlib; name = sys.argv.pop(1); sys.exit(importlib.import_module(name).main())"


def started(arguments: list[str], **streams: object) -> subprocess.Popen[bytes]:
    environment = dict(os.environ, PYTHONUNBUFFERED="1") if streams.pop("unbuffered", False) else None
    program = PROGRAM if arguments[0] != "burn.serve.__main__" else PROGRAM.replace(".main()", "")
    return subprocess.Popen([sys.executable, "-c", program, *arguments], env=environment, **streams)  # type: ignore[call-overload,no-any-return]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda each: " ".join(Path(word).name for word in each))
def test_a_reader_that_went_away_ends_a_command_without_a_word(arguments: list[str]) -> None:
    unbuffered = "list" in " ".join(arguments)  # where each line is written, and not all of them at the end
    reading, writing = os.pipe()
    os.close(reading)
    process = started(arguments, stdout=writing, stderr=subprocess.PIPE, unbuffered=unbuffered)
    os.close(writing)
    _, said = process.communicate(timeout=60)
    assert said == b""
    assert process.returncode in (141, 0, 2), "argparse itself swallows the error of its help"


def test_both_streams_may_be_a_pipe_without_a_reader() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = started(["burn.tools.cli", "nonsense"], stdout=writing, stderr=writing)
    os.close(writing)
    assert process.wait(60) in (141, 2)


def test_closed_streams_are_as_good_as_none(tmp_path: Path) -> None:
    output = tmp_path / "model"
    words = [sys.executable, "-c", PROGRAM, "burn_import.onnx.command", "--input", MODEL, "--output", str(output)]
    done = subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *words], check=False, timeout=60)
    assert done.returncode == 0
    written = subprocess.run([sys.executable, "-c", PROGRAM, *words[3:5], MODEL, "--output", str(tmp_path / "again")],
                             check=True, capture_output=True, timeout=60)  # fmt: skip
    assert b"wrote" in written.stdout
    assert output.with_suffix(".py").read_bytes() == (tmp_path / "again.py").read_bytes().replace(b"again", b"model")
    assert output.with_suffix(".mpk").stat().st_size == (tmp_path / "again.mpk").stat().st_size


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_line_and_a_fault() -> None:
    with open("/dev/full", "wb") as full:
        process = started(["burn.tools.cli", "env"], stdout=full, stderr=subprocess.PIPE)
    _, said = process.communicate(timeout=60)
    assert said.decode().splitlines() == ["burn env: cannot write its output: No space left on device"]
    assert process.returncode == 1


@pytest.mark.parametrize(
    "arguments, hidden, line",
    [
        (["furnace.command", "--model-path", MODEL], "orjson",
         "furnace: needs orjson, which is not installed; write pip install 'burn-dl[serve]'"),
        (["furnace.command", "--model-path", MODEL], "httptools",
         "furnace: needs httptools, which is not installed; write pip install 'burn-dl[serve]'"),
        (["burn_import.onnx.command", "--input", MODEL, "--opset", "16"], "onnx",
         "burn-import: upgrade: needs onnx, which is not installed; write pip install 'burn-dl[onnx]'"),
        (["burn_import.onnx.command", "--input", MODEL, "--check"], "onnxruntime",
         "burn-import: --check: needs onnxruntime, which is not installed; write pip install 'burn-dl[onnx]'"),
    ],
    ids=["serve", "serve again", "onnx", "check"],
)  # fmt: skip
def test_a_package_that_is_not_installed_is_one_line(
    arguments: list[str], hidden: str, line: str, tmp_path: Path
) -> None:
    done = without(hidden, arguments, tmp_path)
    assert done.stderr.splitlines() == [line]
    assert done.returncode == 1
    assert list(tmp_path.iterdir()) == []


def test_parity_without_torch_counts_what_it_can_and_says_what_it_did_not_see(tmp_path: Path) -> None:
    done = without("torch", ["burn.tools.parity"], tmp_path)
    assert done.stderr == ""
    line = done.stdout.splitlines()[-1]
    assert line.startswith("not looked at: ")
    assert "LibTorch" in line
    assert line.endswith("needs torch, which is not installed; write pip install 'burn-dl[torch]'")


def without(package: str, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in an interpreter that finds no package of that name."""
    program = f"""
import sys, importlib.abc
class Hidden(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hidden())
import importlib.util
find = importlib.util.find_spec
importlib.util.find_spec = lambda name, package=None: None if name == {package!r} else find(name, package)
{PROGRAM}
"""
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
