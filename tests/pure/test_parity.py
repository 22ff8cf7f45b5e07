"""Nothing of what is owed is missing, and the command says so."""

from __future__ import annotations

import pytest

from burn.tools import parity
from burn.tools.cli import main
from burn.version import __version__


def test_no_name_that_is_owed_is_missing() -> None:
    missing = [
        f"{row.area}: {row.name} (no {row.where})"
        for row in parity.rows()
        if row.is_owed and not parity.is_present(row)
    ]
    assert not missing, "\n" + "\n".join(missing)


def test_the_list_has_every_area() -> None:
    areas = {row.area for row in parity.rows() if row.is_owed}
    assert areas >= {
        "tensor.core", "tensor.basic", "tensor.numeric", "tensor.float", "tensor.int", "tensor.bool", "tensor.quant",
        "tensor.activation", "tensor.grid", "tensor.linalg", "tensor.autodiff", "backend", "decorator", "extension",
    }  # fmt: skip
    assert len(parity.rows()) == len(set(parity.rows()))


def test_a_missing_attribute_and_a_missing_module_are_missing() -> None:
    assert not parity.is_present(parity.Row("a", "b", "burn.version.no_such_name", "seed"))
    assert not parity.is_present(parity.Row("a", "b", "burn.no_such_module.name", "seed"))
    assert parity.is_present(parity.Row("a", "b", "burn.version.__version__", "seed"))


def test_the_report_names_what_is_missing() -> None:
    row = parity.Row("tensor.float", "warp", "burn.version.warp", "seed")
    text = parity.report(parity.tally([row]))
    assert "tensor.float  warp  (no burn.version.warp)" in text


def test_the_command_fails_when_a_name_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parity, "rows", lambda: [parity.Row("a", "b", "burn.version.warp", "seed")])
    assert main(["parity"]) == 1


def test_a_name_that_is_not_owed_does_not_fail_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(parity, "rows", lambda: [parity.Row("a", "b", "burn.version.warp", "beyond")])
    assert main(["parity", "--beyond"]) == 0
    assert "(no burn.version.warp)" in capsys.readouterr().out


def test_the_command_tells_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"burn-dl {__version__}\n"


def test_env_lists_python_numpy_and_the_devices(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["env"]) == 0
    out = capsys.readouterr().out
    assert "numpy" in out
    assert "NdArray()" in out
