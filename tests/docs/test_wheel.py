"""The wheel stands alone: it is small, holds what it should, and the first pages run from it in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.docs.test_docs_run import FROM_THE_WHEEL, ROOT

LIMIT = 2_200_000
"""Bytes that the wheel may have."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (built,) = folder.glob("burn_dl-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the wheel installs."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an empty folder, with the wheel's packages before all others."""
    environment = dict(os.environ, PYTHONPATH=str(installed), PYTHONDONTWRITEBYTECODE="1")
    return subprocess.run(
        [sys.executable, "-W", "error", *arguments], cwd=folder, env=environment, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


def test_the_wheel_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size <= LIMIT


def test_the_wheel_holds_three_packages_and_no_tests(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {
        "burn", "burn_import", "furnace", next(name for name in names if ".dist-info/" in name).partition("/")[0],
    }  # fmt: skip
    assert [name for name in names if Path(name).name.startswith(("test_", "conftest", "pack_"))] == []
    for package in ("burn", "burn_import", "furnace"):
        assert f"{package}/py.typed" in names


def test_what_runs_is_the_wheel_and_not_the_checkout(installed: Path, tmp_path: Path) -> None:
    code = "import burn, burn_import, furnace; print(burn.__file__, burn_import.__file__, furnace.__file__)"
    done = run(installed, tmp_path, "-c", code)
    assert all(each.startswith(str(installed)) for each in done.stdout.split()), done.stdout + done.stderr
    assert run(installed, tmp_path, "-c", "import examples").returncode == 1


@pytest.mark.parametrize("pages", FROM_THE_WHEEL, ids=lambda pages: pages[0].name)
def test_the_first_pages_run_from_the_wheel(pages: list[Path], installed: Path, tmp_path: Path) -> None:
    done = run(installed, tmp_path, str(ROOT / "tests" / "docs" / "test_docs_run.py"), *map(str, pages))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_server_is_found_where_another_furnace_took_the_name(installed: Path, tmp_path: Path) -> None:
    other = tmp_path / "site"
    with_other = other / "furnace"
    other.mkdir()
    for each in installed.iterdir():
        if each.name != "furnace":
            (other / each.name).symlink_to(each)
    with_other.mkdir()
    for each in (installed / "furnace").iterdir():
        if each.name != "__init__.py":
            (with_other / each.name).symlink_to(each)
    (with_other / "__init__.py").write_text("name = 'somebody else'")
    code = (
        "import furnace; from burn import serve; print(furnace.name, serve.Server.__name__, serve.TestServer.__name__)"
    )
    done = run(other, tmp_path, "-c", code)
    assert done.stdout == "somebody else Server TestServer\n", done.stderr
    assert run(other, tmp_path, "-m", "burn.serve", "--version").stdout.startswith("furnace ")
