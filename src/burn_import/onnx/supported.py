"""The table of supported operators, out of the registry: what is written here is what the importer has rows for.

    python -m burn_import.onnx.supported            # writes both pages, in the root of the repository
    python -m burn_import.onnx.supported --check    # exit code 1 when one of them is out of date

Limits are the refusals that stand in the rows themselves.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

from burn_import.onnx.ir import schemas
from burn_import.onnx.operators import rows
from burn_import.onnx.operators.registry import Row

PAGE, SHORT = Path("docs/supported-onnx-operators.md"), Path("SUPPORTED-ONNX-OPS.md")
COMMAND = "python -m burn_import.onnx.supported"
TITLES = {
    "": "The standard (ai.onnx)",
    "ai.onnx.ml": "Classical machine learning (ai.onnx.ml)",
    "ai.onnx.preview": "Preview (ai.onnx.preview)",
    "ai.onnx.preview.training": "Training (ai.onnx.preview.training)",
    "com.microsoft": "ONNX Runtime (com.microsoft)",
}


def page() -> str:
    """The page of the documentation: one table for each domain."""
    known = domains()
    lines = [
        "# Supported ONNX operators",
        "",
        f"<!-- written by {COMMAND} -->",
        "",
        f"{_count(known)} operators. Every version of an operator is read: older ones are brought to the newest",
        "first, so a row stands for all of them. `burn-import --input model.onnx --list-ops` says which ones a model",
        "needs. An operator of your own is one function, see [ONNX models](import-onnx.md).",
        "",
        "*Family* is the file of `src/burn_import/onnx/operators/` where it is written. *Limits* are cases that the",
        "row refuses, before anything is written.",
    ]
    for domain, found in known.items():
        lines += ["", f"## {TITLES.get(domain, domain)}", ""]
        lines += ["| operator | versions | family | limits |", "|---|---|---|---|"]
        for row in found:
            lines.append(f"| {row.name} | {_versions(row)} | {row.family} | {'; '.join(limits(row))} |")
    replaced = _replaced()
    if replaced:
        lines += ["", "## Older operators that become others", ""]
        lines += [f"{', '.join(replaced)}: files that have them are brought to the operators that replaced them."]
    return "\n".join(lines) + "\n"


def short() -> str:
    """The page in the root of the repository: names only."""
    known = domains()
    lines = [
        "# Supported ONNX operators",
        "",
        f"<!-- written by {COMMAND} -->",
        "",
        f"{_count(known)} operators, all versions of each. Families and limits are in [the documentation]({PAGE}).",
    ]
    for domain, found in known.items():
        lines += ["", f"## {TITLES.get(domain, domain)}: {len(found)}", ""]
        lines += textwrap.wrap(", ".join(row.name for row in found), 118, break_long_words=False)
    return "\n".join(lines) + "\n"


def domains() -> dict[str, list[Row]]:
    """Rows by domain, the standard first, by name."""
    found: dict[str, list[Row]] = {}
    for (domain, _), row in sorted(rows().items(), key=lambda each: (each[0][0], each[0][1].lower())):
        if not _is_ours(row):
            found.setdefault(domain, []).append(row)
    return found


def _count(known: dict[str, list[Row]]) -> int:
    return sum(len(found) for found in known.values())


def limits(row: Row) -> list[str]:
    """What the function that writes an operator refuses, and the functions of the same file that it calls."""
    module = inspect.getmodule(row.write)
    functions = {row.write.__name__: row.write}
    waiting = [row.write.__name__]
    found: dict[str, None] = {}
    seen: set[str] = set()
    while waiting:
        name = waiting.pop(0)
        function = functions.get(name) or getattr(module, name, None)
        if name in seen or not inspect.isfunction(function) or function.__module__ != row.write.__module__:
            continue
        seen.add(name)
        for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
            if isinstance(node, ast.Call):
                if isinstance(node.func, ast.Attribute) and node.func.attr == "refuse" and node.args:
                    found[_text(node.args[0])] = None
                elif isinstance(node.func, ast.Name):
                    waiting.append(node.func.id)
    return [text for text in found if text]


def _text(node: ast.expr) -> str:
    """A message as a table shows it; what is only known for a model is left open."""
    if isinstance(node, ast.JoinedStr):
        parts = (each.value if isinstance(each, ast.Constant) else "..." for each in node.values)
        return "".join(str(part) for part in parts).replace("|", "/")
    return str(node.value).replace("|", "/") if isinstance(node, ast.Constant) else ""


def _is_ours(row: Row) -> bool:
    """Whether no file has an operator: passes make it, or a user added it."""
    return row.write.__module__.partition(".")[0] != "burn_import" or row.name in ("GradientOf",)


def _versions(row: Row) -> str:
    return ", ".join(str(version) for version in schemas.versions(row.domain, row.name)) or "1"


def _replaced() -> list[str]:
    """Operators of the standard that have no row because lifting turns them into others."""
    known = {name for domain, name in schemas.operators() if domain == ""}
    return sorted(name for name in known if ("", name) not in rows())


def pages() -> Iterator[tuple[Path, str]]:
    """Both pages, by their places in the repository."""
    yield PAGE, page()
    yield SHORT, short()


def main(arguments: Sequence[str]) -> int:
    """Write the pages below the working folder, or check that they are up to date."""
    check = "--check" in arguments
    stale = 0
    for path, text in pages():
        current = path.read_text(encoding="utf-8") if path.is_file() else ""
        if current == text:
            continue
        stale += 1
        if check:
            print(f"{path} is out of date; run {COMMAND}", file=sys.stderr)
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
