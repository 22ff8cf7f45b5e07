"""Every public name says what it does, what its arguments are, and shows it; and every example of a docstring runs.

The style is a section of CONTRIBUTING.md.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import inspect
import math
import pydoc
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import burn
from burn.module import Module
from burn.ops import TABLE
from tests.docs.public_names import Public, public_names

SOURCES = Path(burn.__file__).parents[1]
OBVIOUS = set("x y other input device dtype config path model module optim args kwargs".split())
"""Arguments that mean the same everywhere."""

METHOD_BY_METHOD = "burn burn.tensor burn.capture burn.control burn.shape".split()
METHOD_BY_METHOD += "burn.module.Module burn.train.LearnerBuilder burn.data.dataloader.DataLoaderBuilder".split()
"""Packages and classes whose methods users look up one by one. Elsewhere the example of a class will do."""

NAMES = "burn", "nn", "np", "Tensor"
"""What examples may use without importing it."""


# What a docstring has to have


def prose_and_example(text: str) -> tuple[str, str]:
    """The text of a docstring, and the lines of code of its examples."""
    lines = text.splitlines()
    code = [line for line in lines if line.lstrip().startswith((">>>", "..."))]
    return "\n".join(line for line in lines if line not in code), "\n".join(code)


def is_shown(each: Public) -> bool:
    """Whether an example calls it: its own, or one of its class or of a base."""
    if prose_and_example(each.text)[1]:
        return True
    if each.owner is None:
        return False
    last = each.name.rpartition(".")[2]
    shown = "\n".join(prose_and_example(text)[1] for text in around(each))
    if last == "forward":  # a layer is shown by calling it
        return bool(shown)
    cls = each.name.rpartition(".")[0]
    if not {cls, cls.rpartition(".")[0]} & set(METHOD_BY_METHOD):
        return bool(shown)
    # called, or written by a subclass: a hook is shown by a class that has it
    return re.search(rf"(\.|def ){last}\b", shown) is not None


def around(each: Public) -> list[str]:
    """What stands near a class or method: docstrings of its bases, its class, the methods which it overrides."""
    cls = each.value if each.is_class else each.owner
    bases = cls.__mro__[:-1] if cls else ()
    found = [*bases, *(base.__dict__.get(each.name.rpartition(".")[2]) for base in bases)]
    return [inspect.cleandoc(getattr(one, "__doc__", None) or "") for one in found]


def is_made_elsewhere(each: Public) -> bool:
    """Whether a class says who makes its objects: nobody calls it then, and the maker tells the arguments."""
    return each.is_class and re.search(r"[Mm]ade (by|with)\b|\bmakes? (one|it|them)\b", each.text) is not None


def lacks(each: Public) -> list[str]:
    """What a public name's docstring lacks."""
    prose, _ = prose_and_example(each.text)
    if not prose.strip():
        return ["a docstring"]
    found = []
    first = prose.strip().split("\n\n")[0].rstrip()
    if not first.endswith((".", ":", "`")) or first[0].islower():
        found.append("a sentence to begin with")
    told = "\n".join([prose, *(prose_and_example(text)[0] for text in around(each))])
    needed = [] if is_made_elsewhere(each) else each.parameters
    missing = [name for name in needed if name not in OBVIOUS and not re.search(rf"\b{name}\b", told, re.I)]
    if missing:
        found.append(f"a word about {', '.join(missing)}")
    if not isinstance(each.value, property) and not is_shown(each):
        found.append("an example")
    return found


def test_every_public_name_says_what_it_does_and_shows_it() -> None:
    lacking = [f"{each.name} lacks {', '.join(missing)}" for each in public_names() if (missing := lacks(each))]
    assert not lacking, "see `Docstrings` in CONTRIBUTING.md:\n" + "\n".join(lacking)


LAYERS = [
    kind for kind in map(vars(burn.nn).get, burn.nn.__all__) if isinstance(kind, type) and issubclass(kind, Module)
]


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.__name__)
def test_help_of_a_layer_opens_with_its_arguments(layer: type[Module]) -> None:
    opening = pydoc.render_doc(layer, renderer=pydoc.plaintext).splitlines()[3].lstrip(" |")
    assert opening.startswith(f"{layer.__name__}(")
    assert "*args" not in opening


# What help shows


def test_no_signature_shows_an_object_without_a_name() -> None:
    shown = {each.name: each.signature for each in public_names()}
    assert [name for name, signature in shown.items() if "<object object" in signature] == []


@pytest.mark.parametrize(
    "value, first",
    [
        (burn.Tensor.pad, "pad(x: 'Tensor[B]', pads: 'Any', value: 'Operand' = 0.0, mode: 'str' = 'constant')"),
        (burn.NdArray, "NdArray(float: 'DType' = f32, int: 'DType' = i64)"),
        (burn.tensor([1, 2]).pad, "pad(pads: 'Any', value: 'Operand' = 0.0, mode: 'str' = 'constant')"),
        (burn.compile, "compile(function: 'Any' = None, *, donate: 'Sequence[int]' = (), check: 'int' = 0"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_help_opens_with_the_real_signature_and_shows_an_example(value: Any, first: str) -> None:
    text = pydoc.plain(pydoc.render_doc(value)).replace(" |  ", "")
    flat = re.sub(r"\s+", " ", text)  # Python 3.13 breaks long signatures
    assert first in flat.replace("( ", "(").replace(", )", ")")
    assert ">>> " in text


# Examples


class Checker(doctest.OutputChecker):
    """Compares as text, but numbers with a point only to five digits: kernels round differently."""

    FLOAT = re.compile(r"(?<![\w.])-?\d+\.\d*(?:e[-+]?\d+)?")

    def check_output(self, want: str, got: str, optionflags: int) -> bool:
        if super().check_output(want, got, optionflags):
            return True
        wanted, given = self.FLOAT.findall(want), self.FLOAT.findall(got)
        return (
            len(wanted) == len(given)
            and super().check_output(self.FLOAT.sub("#", want), self.FLOAT.sub("#", got), optionflags)
            and all(math.isclose(float(a), float(b), rel_tol=1e-5, abs_tol=1e-6) for a, b in zip(wanted, given))
        )


def docstrings(path: Path) -> Iterator[tuple[str, str, int]]:
    """The names, texts and lines of the docstrings of a file that hold examples."""

    def walk(node: Any, name: str) -> Iterator[tuple[str, str, int]]:
        for each in node.body:
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                yield from walk(each, f"{name}.{each.name}")
        text = ast.get_docstring(node)
        if text and ">>> " in text:
            yield name, text, node.body[0].lineno

    text = path.read_text(encoding="utf-8")
    return walk(ast.parse(text), path.stem) if ">>> " in text else iter(())


def run_examples(path: Path) -> list[str]:
    """Run the examples of a file, those of a docstring in a namespace and a folder of their own. What did not fit."""
    known = {"__name__": "__main__", "burn": burn, "nn": burn.nn, "np": np, "Tensor": burn.Tensor}
    reports: list[str] = []
    runner = doctest.DocTestRunner(Checker(), verbose=False, optionflags=doctest.ELLIPSIS)
    for name, text, line in docstrings(path):
        test = doctest.DocTestParser().get_doctest(text, dict(known), name, str(path), line - 1)
        with surroundings():
            runner.run(test, out=reports.append)
    return reports


@contextlib.contextmanager
def surroundings() -> Iterator[None]:
    """An empty folder, the reference backend as default device, and its generator at seed 0. Rows go again."""
    before, device, rows = burn.default_device(), burn.NdArray(), set(TABLE)
    burn.set_default_device(device)
    device.seed(0)
    try:
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            yield
    finally:
        burn.set_default_device(before)
        for each in set(TABLE) - rows:
            del TABLE[each]


FILES = [path for path in sorted(SOURCES.rglob("*.py")) if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCES).with_suffix("")))
def test_the_examples_of_a_module_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    reports = run_examples(path)
    assert not reports, "\n" + "\n".join(reports)


# The instrument itself


def faults_of(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "example.py"
    path.write_text(f'def f():\n    """What.\n\n{text}    """\n', encoding="utf-8")
    return run_examples(path)


def test_numbers_are_compared_to_five_digits(tmp_path: Path) -> None:
    assert faults_of(tmp_path, "    >>> [1, 0.10000001]\n    [1, 0.1]\n") == []
    assert faults_of(tmp_path, "    >>> [1, 0.101]\n    [1, 0.1]\n") != []
    assert faults_of(tmp_path, "    >>> [1, 0.1]\n    [2, 0.1]\n") != []


@pytest.mark.parametrize(
    "text, missing",
    [
        (None, ["a docstring"]),
        ("Add `amount`.", ["an example"]),
        ("Add.\n\n>>> f(1, 2)\n3", ["a word about amount"]),
        ("Add `amount`.\n\n>>> f(1, 2)\n3", []),
        ("add `amount`.\n\n>>> f(1, 2)\n3", ["a sentence to begin with"]),
    ],
)
def test_what_a_docstring_lacks_is_told(text: str | None, missing: list[str]) -> None:
    def f(x: int, amount: int) -> int:
        return x + amount

    f.__doc__ = text
    assert lacks(Public("f", f, None)) == missing


def test_an_example_of_the_class_shows_its_methods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.METHOD_BY_METHOD", ["Counter"])

    class Counter:
        """Counts.

        >>> Counter().step()
        """

        def step(self) -> None:
            """Count one."""

        def back(self) -> None:
            """Count one back."""

    assert lacks(Public("Counter.step", Counter.step, Counter)) == []
    assert lacks(Public("Counter.back", Counter.back, Counter)) == ["an example"]
    monkeypatch.setattr(f"{__name__}.METHOD_BY_METHOD", [])
    assert lacks(Public("Counter.back", Counter.back, Counter)) == []
