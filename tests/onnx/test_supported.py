"""The pages that list supported operators say what the registry says."""

from __future__ import annotations

from pathlib import Path

import pytest

from burn_import.onnx.operators import rows
from burn_import.onnx.supported import COMMAND, domains, limits, main, pages

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("path", "text"), list(pages()), ids=lambda each: each.name if isinstance(each, Path) else "")
def test_the_pages_of_supported_operators_are_up_to_date(path: Path, text: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == text, f"run {COMMAND}"


def test_limits_are_what_a_row_refuses() -> None:
    assert limits(rows()["", "Abs"]) == []
    assert any("scale" in each for each in limits(rows()["com.microsoft", "RotaryEmbedding"]))


def test_every_operator_of_the_standard_is_listed() -> None:
    names = {row.name for row in domains()[""]}
    assert {"Conv", "LSTM", "If", "Loop", "Scan", "Attention", "Einsum"} <= names


def test_the_command_writes_and_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    assert main(["--check"]) == 1
    assert COMMAND in capsys.readouterr().err
    assert main([]) == 0
    assert main(["--check"]) == 0
