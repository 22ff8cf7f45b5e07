"""Imports point one way: a package imports only what stands before it in `LAYERS`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "src"

LAYERS = [
    {"version", "dtype", "shape", "errors", "tree", "scalar", "device"},
    {"ops"},
    {"tensor"},
    {"program"},
    {"cube"},
    {"backend"},
    {"capture", "extension"},
    {"module", "record", "config"},
    {"nn", "optim", "lr_scheduler", "grad_clipping", "quantization"},
    {"data"},
    {"train"},
    {"prelude"},
    {"tools", "__init__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
TOP = len(LAYERS)
PACKAGES = ("burn", "burn_import", "furnace")


def parts_of(path: Path) -> tuple[str, ...]:
    """The dotted name of a source file: `burn/ops/op.py` is `("burn", "ops", "op")`."""
    return path.relative_to(SOURCE).with_suffix("").parts


def is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Every node under `node`, in functions too, except what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and is_type_checking(child.test):
            for other in child.orelse:
                yield other
                yield from statements(other)
            continue
        yield child
        yield from statements(child)


def imported_modules(own: tuple[str, ...], source: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Line and dotted name of everything the file `own` imports; `from a import b` counts as `a.b`."""
    for node in statements(ast.parse(source)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = tuple((node.module or "").split(".")) if node.module else ()
            if node.level:
                base = own[: len(own) - node.level] + base
            for alias in node.names:
                yield node.lineno, (*base, alias.name)
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Constant)
            and isinstance(node.args[0].value, str)
            and (getattr(node.func, "attr", None) or getattr(node.func, "id", None)) == "import_module"
        ):
            yield node.lineno, tuple(node.args[0].value.split("."))


def is_member(name: str) -> bool:
    """Whether `burn.<name>` is a module, not something that `burn/__init__.py` exports."""
    return (SOURCE / "burn" / name).is_dir() or (SOURCE / "burn" / f"{name}.py").is_file()


def level_of(module: tuple[str, ...]) -> int | None:
    """The level of a module of ours; None for a module of somebody else."""
    if module[0] not in PACKAGES:
        return None
    if module[0] != "burn":
        return TOP
    if len(module) == 1 or not is_member(module[1]):
        return LEVEL["__init__"]
    return LEVEL[module[1]]


def violations(path: Path) -> list[str]:
    own = parts_of(path)
    level = level_of(own)
    assert level is not None
    found = []
    for line, module in imported_modules(own, path.read_text(encoding="utf-8")):
        other = level_of(module)
        if own[:2] == ("burn", "tools") and module[0] == "burn_import":
            continue  # commands stand above everything: burn-bench measures imported models
        if other is not None and other > level:
            found.append(f"{'/'.join(own)}.py:{line} imports {'.'.join(module)}, which stands after {own[1]}")
        if level == TOP and module[0] in PACKAGES[1:] and PACKAGES.index(module[0]) > PACKAGES.index(own[0]):
            found.append(f"{'/'.join(own)}.py:{line} imports {module[0]}")
    return found


FILES = sorted(path for package in PACKAGES for path in (SOURCE / package).rglob("*.py"))


def test_every_module_has_a_layer() -> None:
    names = {parts_of(path)[1] for path in FILES if parts_of(path)[0] == "burn"}
    assert names - LEVEL.keys() == set(), "give each new module of burn its place in LAYERS"


def test_imports_point_one_way() -> None:
    faults = [fault for path in FILES for fault in violations(path)]
    assert not faults, "\n" + "\n".join(faults)


@pytest.mark.parametrize(
    "source, expected",
    [
        ("from burn.tensor import Tensor", [("burn", "tensor", "Tensor")]),
        ("from ..tensor import Tensor", [("burn", "tensor", "Tensor")]),
        ("def f():\n    import burn.tensor", [("burn", "tensor")]),
        ("if TYPE_CHECKING:\n    import burn.tensor", []),
        ("if TYPE_CHECKING:\n    pass\nelse:\n    import burn.tensor", [("burn", "tensor")]),
        ("import_module('burn.tensor')", [("burn", "tensor")]),
    ],
)
def test_the_reader_sees_hidden_imports_and_skips_those_of_type_checkers(
    source: str, expected: list[tuple[str, ...]]
) -> None:
    assert [module for _, module in imported_modules(("burn", "ops", "op"), source)] == expected
