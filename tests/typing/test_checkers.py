"""mypy --strict and pyright infer the devices of tensors, and refuse `backward` where nothing records."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from burn import NdArray

ROOT = Path(__file__).resolve().parents[2]
CASES = sorted((Path(__file__).parent / "cases").glob("*.py"))
EXPECTED = re.compile(r"^\s*reveal_type\(.*\)  # (.+)$")
REFUSED = "# refused"


class Finding(NamedTuple):
    """What a checker says about a line: a revealed type, or a complaint."""

    file: str
    line: int
    is_error: bool
    text: str


def short(name: str) -> str:
    """A type without module names: `burn.tensor.Tensor[Any]` is `Tensor[Any]`."""
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+(?=[A-Za-z_])", "", name).replace("builtins.", "")


def mypy() -> list[Finding]:
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "--no-pretty"]
    command += ["--no-warn-unreachable", "--show-absolute-path", *map(str, CASES)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    found = []
    for text in result.stdout.splitlines():
        parts = re.match(r"^(.*?):(\d+): (error|note): (.*)$", text)
        if not parts:
            continue
        revealed = re.match(r'Revealed type is "(.*)"', parts[4])
        if parts[3] == "error":
            found.append(Finding(parts[1], int(parts[2]), True, parts[4]))
        elif revealed:
            found.append(Finding(parts[1], int(parts[2]), False, short(revealed[1])))
    return found


def pyright() -> list[Finding]:
    command = [sys.executable, "-m", "basedpyright", "--outputjson", "--pythonpath", sys.executable]
    command += ["--project", str(Path(__file__).parent / "pyrightconfig.json")]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr
    found = []
    for each in json.loads(result.stdout)["generalDiagnostics"]:
        revealed = re.match(r'Type of ".*" is "(.*)"', each["message"], re.DOTALL)
        line = each["range"]["start"]["line"] + 1
        if each["severity"] == "error":
            found.append(Finding(each["file"], line, True, each["message"]))
        elif revealed:
            found.append(Finding(each["file"], line, False, short(revealed[1])))
    return found


def faults(findings: list[Finding]) -> list[str]:
    """Where a checker and the comments in the cases disagree."""
    found = []
    by_line: dict[tuple[str, int], list[Finding]] = {}
    for each in findings:
        by_line.setdefault((str(Path(each.file).resolve()), each.line), []).append(each)
    for path in CASES:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            here = by_line.pop((str(path), number), [])
            where = f"{path.name}:{number}: {line.strip()}"
            errors = [each.text for each in here if each.is_error]
            types = [each.text for each in here if not each.is_error]
            expected = EXPECTED.match(line)
            if line.endswith(REFUSED):
                found += [] if errors else [f"{where}\n    is accepted"]
            elif errors:
                found.append(f"{where}\n    is refused: {'; '.join(errors)}")
            elif expected and types != [expected[1]]:
                found.append(f"{where}\n    is inferred as {' and '.join(types) or 'nothing'}")
    return found


@pytest.mark.parametrize("checker", [mypy, pyright], ids=lambda checker: checker.__name__)
def test_a_checker_agrees_with_the_comments(checker) -> None:  # type: ignore[no-untyped-def]
    found = faults(checker())
    assert not found, f"{checker.__name__} and the cases disagree in {len(found)} places\n" + "\n".join(found)


def test_the_comparison_reports_what_is_accepted_refused_or_inferred_otherwise() -> None:
    assert any("is accepted" in each for each in faults([]))
    assert any("is inferred as nothing" in each for each in faults([]))
    accepted = next(path for path in CASES if path.name == "accepted.py")
    assert any("is refused: odd" in each for each in faults([Finding(str(accepted), 1, True, "odd")]))


def test_the_training_script_runs(tmp_path: Path) -> None:
    from tests.typing.cases import training

    assert training.main(tmp_path, NdArray()) > 0
