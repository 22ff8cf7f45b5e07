"""Writes what type checkers know of the constructors of layers: `python tools/typed_constructors.py`.

`class Linear(Module, config=LinearConfig)` is made from the arguments of its config (`Linear(3, 4)`) or from the values
of its fields (`Linear(weight=..., bias=...)`). Checkers cannot follow that, so each such class has its signatures in a
block that this file writes, from the tables that the constructors themselves read. With `--check` nothing is written.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from burn.config.loose import JOINED, signature
from burn.module.fields import declared, hints, optional_type

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
MARK = "written by tools/typed_constructors.py"
REST = "def __init__(self, *args: object, **kwargs: object) -> None: ..."
DEVICE = "device: Device | None = None"
ALSO = (
    (re.compile(r"\b(Pair|Triple)\[(\w+)\]"), r"\1[\2] | \2"),
    (re.compile(r"\b(PaddingConfig\dd)\b"), r"\1 | str | int | Sequence[int]"),
    (re.compile(r"\b(ActivationConfig|InterpolateMode|Initializer|Reduction|SeqLengthOption)\b"), r"\1 | str"),
)
"""What `burn.config.loose` takes beside a value of the type."""


def classes(path: Path) -> Iterator[Any]:
    """The classes in a file that are made from the arguments of a config and have no constructor of their own."""
    module = importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ClassDef) and any(each.arg == "config" for each in node.keywords):
            found = getattr(module, node.name)
            if "__init__" not in vars(found):
                yield found


def block(cls: Any) -> str:
    """The signatures of a class, as they stand in it."""
    forms = [_form([*_arguments(signature(cls._config)), ("*", DEVICE)])]
    fields = cls._config._table()
    if set(JOINED) & set(fields.by_name):
        own = [
            (" " if name in fields.positional else "*", _argument(name, fields.by_name[name]))
            for name in fields.by_name
        ]
        forms.append(_form([*own, ("*", DEVICE)]))
    if any(_is_part(hint) for hint in hints(cls).values()):
        forms.append(_form(_fields(cls)))
    lines = [f"    if TYPE_CHECKING:  # {MARK}"]
    for form in forms:
        lines += ["", "        @overload"] if len(forms) > 1 else [""]
        lines.append(f"        {form}")
    if len(forms) > 1:
        lines += ["", f"        {REST}"]
    return "\n".join(lines) + "\n"


def _form(arguments: list[tuple[str, str]]) -> str:
    parts, starred = ["self"], False
    for how, text in arguments:
        if how == "*" and not starred:
            parts, starred = [*parts, "*"], True
        parts.append(text)
    return f"def __init__({', '.join(parts)}) -> None: ..."


def _arguments(parameters: list[inspect.Parameter]) -> list[tuple[str, str]]:
    found = []
    for each in parameters:
        text = f"{each.name}: {_loose(str(each.annotation))}"
        if each.default is not each.empty:
            text += f" = {_shown(each.default)}"
        found.append(("*" if each.kind is each.KEYWORD_ONLY else " ", text))
    return found


def _argument(name: str, field: Any) -> str:
    text = f"{name}: {_loose(str(field.annotation), name)}"
    if field.is_required:
        return text
    return f"{text} = {'...' if field.make else _shown(field.default)}"


def _loose(annotation: str, name: str = "") -> str:
    if name in JOINED:
        return annotation
    for pattern, replacement in ALSO:
        annotation = pattern.sub(replacement, annotation)
    return annotation


def _fields(cls: Any) -> list[tuple[str, str]]:
    notes = {name: note for base in reversed(cls.__mro__) for name, note in inspect.get_annotations(base).items()}
    found: list[tuple[str, str]] = []
    optional = False
    for name in declared(cls):
        text = f"{name}: {re.sub(r'Param(?![A-Za-z_])', 'Tensor', str(notes[name]))}"
        if hasattr(cls, name):
            text += f" = {_shown(getattr(cls, name))}"
        elif optional_type(cls, name) is not None:
            text += " = None"
        how = "*" if optional and " = " not in text else " "
        optional = optional or " = " in text
        found.append((how, text))
    return found


def _is_part(hint: Any) -> bool:
    """Whether a field holds tensors, states or modules."""
    return bool(
        re.search(
            r"\b(Param|Tensor|State|Module|burn\.nn\.(?!padding|loss\.reduction|interpolate)[\w.]+)\b", repr(hint)
        )
    )


def _shown(value: Any) -> str:
    simple = value is None or isinstance(value, bool | int | float | str)
    return repr(value) if simple else "..."


def written(text: str, found: list[Any]) -> str:
    """The text of a file with the blocks of its classes."""
    lines = text.splitlines(keepends=True)
    nodes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    for cls in reversed(found):
        node = nodes[cls.__name__]
        old = next((each for each in node.body if isinstance(each, ast.If) and MARK in lines[each.lineno - 1]), None)
        if old is not None:
            start, end = old.lineno - 1, old.end_lineno
            lines[start:end] = [block(cls)]
            continue
        before = [each for each in node.body if isinstance(each, ast.Expr | ast.AnnAssign | ast.Assign)]
        last = before[-1].end_lineno if before else node.body[0].lineno - 1
        lines[last:last] = ["\n", block(cls)]
    return _imported("".join(lines))


def _imported(text: str) -> str:
    """The text with the imports that blocks need."""
    wanted = {"typing": ["TYPE_CHECKING"], "collections.abc": []}
    wanted["typing"] += ["overload"] if "@overload" in text else []
    wanted["collections.abc"] += ["Sequence"] if "Sequence[" in text else []
    for module, names in wanted.items():
        line = re.search(rf"^from {module} import (.*)$", text, re.MULTILINE)
        known = line[1].split(", ") if line else []
        if set(names) <= set(known):
            continue
        new = f"from {module} import {', '.join(sorted({*known, *names}))}"
        at = "from __future__ import annotations\n\n"
        text = text.replace(line[0], new) if line else text.replace(at, f"{at}{new}\n")
    return text


def stale(text: str, found: list[Any]) -> list[str]:
    """The classes whose block in the text of a file is not what this file would write."""
    nodes = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.ClassDef)}
    return [
        f"{cls.__module__}.{cls.__name__}"
        for cls in found
        if _meaning(f"class _:\n{block(cls)}") not in map(ast.dump, nodes[cls.__name__].body)
    ]


def _meaning(text: str) -> str:
    (node,) = ast.parse(text).body
    assert isinstance(node, ast.ClassDef)
    return ast.dump(node.body[0])


def differences() -> list[str]:
    """The classes whose block is not up to date."""
    return [name for path, kinds in files() for name in stale(path.read_text(encoding="utf-8"), kinds)]


def files() -> Iterator[tuple[Path, list[Any]]]:
    """The files with such classes."""
    for path in sorted((SOURCE / "burn" / "nn").rglob("*.py")):
        if ", config=" in path.read_text(encoding="utf-8") and (kinds := list(classes(path))):
            yield path, kinds


def main() -> int:
    """Write the blocks, or tell which are out of date."""
    if "--check" in sys.argv[1:]:
        found = differences()
        print("\n".join(f"{name}: run python tools/typed_constructors.py" for name in found) or "all are up to date")
        return bool(found)
    changed = []
    for path, kinds in list(files()):
        path.write_text(written(path.read_text(encoding="utf-8"), kinds), encoding="utf-8")
        changed.append(str(path))
    subprocess.run(["ruff", "check", "-q", "--fix", "--select", "I", *changed], check=True)
    subprocess.run(["ruff", "format", "-q", *changed], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
