"""Imports point one way: a package imports only what stands before it in `LAYERS`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

LAYERS = [
    {*"version classes checkout collecting dtype dim symbolic shape errors guesses environment packages html".split()}
    | {*"message_pack tree scalar scoped device".split()},
    {"ops"},
    {"tensor"},
    {"program"},
    {"cube"},
    {"engine"},  # knows no device
    {"backend"},
    {"capture", "control", "extension"},
    {"module", "record", "config"},
    {"nn", "optim", "lr_scheduler", "grad_clipping", "quantization"},
    {"data"},
    {"train"},
    {"prelude"},
    {"tools", "serve", "__init__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

INSIDE: dict[str, list[set[str]]] = {
    "furnace": [
        {"errors", "datatypes", "settings", "watching"},
        {"signature"},
        {"models"},
        {"engine"},  # knows no HTTP
        {"http", "hub"},
        {"inference", "page", "repository", "supervisor"},
        {"protocols"},
        {"client", "peers", "routes"},
        {"app"},
        {"grpc"},
        {"server"},
        {"asgi", "command", "testing", "worker_process", "__main__", "__init__"},
    ],
    "burn.engine": [{"target"}, {"schedule"}, {"lower", "tuning"}, {"patterns"}, {"plan", "runtime"}, {"__init__"}],
    "burn_import": [{"common", "rows"}, {"functions"}, {"pytorch", "safetensors"}, {"weights"}, {"onnx"}, {"__init__"}],
    "burn_import.onnx": [
        {"errors", "versions"},
        {"ir", "kept", "upgrade"},
        {"passes", "reader"},
        {"code"},
        {"operators"},
        {"running", "writer"},
        {"supported", "importing"},
        {"check", "loading", "modules"},
        {"backend", "metadata", "stored", "model_gen"},
        {"command", "__init__"},
    ],
}
"""The same inside of other packages: what stands in the same set may know each other."""

CYCLES = {
    "burn.tensor.tensor": "the methods of Tensor make tensors",
    "burn.module.foreign": "a record of modules holds foreign ones, and these hold modules",
    "burn.cube.ir": "kernels print themselves",
    "burn.data.dataset.dataset": "datasets have methods for the transforms, which are datasets",
    "burn_import.onnx.ir.model": "models print themselves",
}
"""Modules that import each other, inside of functions where they have to, by one of each circle, with the reason."""
UPWARDS = {
    ("burn", "tools", "bench"): ("burn_bench", "the command says how to get the package where it is absent"),
    ("burn", "serve", "__init__"): ("furnace", "another name of it, for where somebody else's furnace is installed"),
    ("burn", "serve", "__main__"): ("furnace", "the command under that name"),
    ("burn", "ops", "exchange"): ("burn_import", "files and programs written earlier ask the framework for what moved"),
}
"""Modules that know a package above them, with the reason; each imports it when it is asked for, never before."""
TOP = len(LAYERS)
PACKAGES = ("burn", "burn_import", "furnace", "burn_bench")


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


@cache
def imports_of(path: Path) -> list[tuple[int, tuple[str, ...]]]:
    """What a source file of ours imports."""
    return list(imported_modules(parts_of(path), path.read_text(encoding="utf-8")))


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
    for line, module in imports_of(path):
        other = level_of(module)
        if own in UPWARDS and module[0] == UPWARDS[own][0]:
            continue
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


def _inside(package: str) -> list[str]:
    """What imports upwards inside of a package."""
    level = {name: number for number, names in enumerate(INSIDE[package]) for name in names}
    prefix, faults = tuple(package.split(".")), []
    for path in FILES:
        own = parts_of(path)
        if own[: len(prefix)] != prefix:
            continue
        here = own[len(prefix)]
        assert here in level, f"give {'.'.join(own)} its place in INSIDE[{package!r}]"
        for line, module in imports_of(path):
            if module[: len(prefix)] == prefix and len(module) > len(prefix):
                there = module[len(prefix)]
                if level.get(there, 0) > level[here]:
                    faults.append(f"{'/'.join(own)}.py:{line} imports {'.'.join(module)}, which stands after {here}")
    return faults


@pytest.mark.parametrize("package", INSIDE)
def test_imports_inside_of_a_package_point_one_way(package: str) -> None:
    faults = _inside(package)
    assert not faults, "\n" + "\n".join(faults)


def _graph() -> dict[str, set[str]]:
    """The modules of ours that each module imports, in functions too."""
    names = {".".join(parts_of(path)).removesuffix(".__init__"): path for path in FILES}
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        graph[name] = set()
        for _, module in imports_of(path):
            longest = next(
                (".".join(module[:n]) for n in (len(module), len(module) - 1) if ".".join(module[:n]) in names), ""
            )
            if longest and longest != name:
                graph[name].add(longest)
    return graph


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found, todo = set(), [start]
    while todo:
        for each in graph[todo.pop()] - found:
            found.add(each)
            todo.append(each)
    return found


def _circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    reached = {name: _reached(graph, name) for name in graph}
    return {
        frozenset(each for each in found if name in reached[each]) for name, found in reached.items() if name in found
    }


def _folders() -> dict[tuple[str, ...], dict[str, set[str]]]:
    """For each folder, which of the modules and packages in it import which others in it."""
    folders: dict[tuple[str, ...], dict[str, set[str]]] = {}
    for name, imported in _graph().items():
        own = tuple(name.split("."))
        for each in imported:
            other = tuple(each.split("."))
            depth = next((n for n, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), None)
            upwards = UPWARDS.get(own, (None,))[0] == other[0]
            if depth is not None and not upwards:
                folder = folders.setdefault(own[:depth], {})
                folder.setdefault(own[depth], set()).add(other[depth])
                folder.setdefault(other[depth], set())
    return folders


def test_packages_import_each_other_only_where_a_module_is_listed_with_a_reason() -> None:
    listed = {tuple(name.split(".")) for name in CYCLES}
    circles = [(folder, sorted(circle)) for folder, graph in _folders().items() for circle in _circles(graph)]
    assert len(circles) >= len(CYCLES)
    unlisted = [each for each in circles if not any((*each[0], name) in listed for name in each[1])]
    assert unlisted == []


def test_modules_import_each_other_only_where_it_is_listed_with_a_reason() -> None:
    circles = _circles(_graph())
    unlisted = [sorted(circle) for circle in circles if not circle & CYCLES.keys()]
    assert unlisted == []
    assert len(circles) == len(CYCLES), "a circle that is listed is gone: take it from the list"


def test_the_engine_knows_no_backend() -> None:
    engine = [path for path in FILES if parts_of(path)[:2] == ("burn", "engine")]
    assert engine
    known = [(path.name, module) for path in engine for _, module in imports_of(path)]
    assert [each for each in known if each[1][:2] == ("burn", "backend")] == []
    assert [path.name for path in engine if "burn.backend" in path.read_text(encoding="utf-8")] == []


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
