"""What the package imports is what the project asks for: in the core, or in the extra that an error names."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest

from burn.packages import DISTRIBUTIONS, EXTRAS, missing
from tests.pure.test_layers import FILES, ROOT, imported_modules, parts_of

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OURS = {"burn", "burn_import", "furnace", "burn_bench"}


def names(requirements: list[str]) -> set[str]:
    """The distributions of a list of requirements, as pip compares names."""
    return {re.split(r"[^A-Za-z0-9_.-]", each)[0].lower().replace("_", "-") for each in requirements}


def distribution(package: str) -> str:
    return DISTRIBUTIONS.get(package, package).lower().replace("_", "-")


CORE = names(PROJECT["dependencies"])
SHIPPED = [path for path in FILES if parts_of(path)[0] != "burn_bench"]


def test_every_package_that_is_imported_is_in_the_core_or_in_an_extra() -> None:
    unknown = set()
    for path in SHIPPED:
        for _, module in imported_modules(parts_of(path), path.read_text(encoding="utf-8")):
            top = module[0]
            if top not in OURS and top not in sys.stdlib_module_names and distribution(top) not in CORE:
                unknown |= {top} - EXTRAS.keys()
    assert unknown == set()


@pytest.mark.parametrize("package, extra", [(name, extra) for name, extra in EXTRAS.items() if extra])
def test_an_extra_has_the_package_that_an_error_sends_there_for(package: str, extra: str) -> None:
    assert distribution(package) in names(PROJECT["optional-dependencies"][extra])


def test_all_is_every_extra_that_users_ask_for() -> None:
    extras = PROJECT["optional-dependencies"]
    (line,) = extras["all"]
    listed = set(re.findall(r"\w+", line.partition("[")[2]))
    assert listed == extras.keys() - {"all", "bench", "dev"}


def test_the_line_for_a_missing_package_says_what_to_write() -> None:
    assert missing("image", "PIL") == "image: needs Pillow, which is not installed; write pip install 'burn-dl[data]'"
    assert missing("a", "datasets") == "a: needs datasets, which is not installed; write pip install datasets"


def test_the_versions_of_python_are_those_that_are_tested() -> None:
    listed = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if "Python :: 3." in each]
    assert listed == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == ">=3.11"
