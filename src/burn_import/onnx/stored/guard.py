"""A second look at source that came from a file somebody else may have written.

The writer escapes every text of a model, and tests hold it to that. Should it ever fail, this check still stands in the
way: generated source is imports of the framework and classes, and calls no function that reaches beyond them.
"""

from __future__ import annotations

import ast

from burn_import.onnx.errors import OnnxError

_MODULES = frozenset(["__future__", "pathlib", "burn", "numpy", "io", "base64"])
_FUNCTIONS = "burn_import.functions"
_FORBIDDEN = frozenset(
    "eval exec compile open input breakpoint globals locals vars getattr setattr delattr memoryview os sys subprocess "
    "environ system popen builtins importlib ctypes pickle load_module fromfile tofile memmap".split()
)
_NEEDED = frozenset(["__file__", "__len__"])
_TOP = (ast.Import, ast.ImportFrom, ast.ClassDef)


def guard(source: str) -> None:
    """Raise `OnnxError` when source is more than a generated module can be."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise OnnxError("open_program", ["the program gives source that is not valid"]) from None
    faults = [f"line {node.lineno}: {type(node).__name__}" for node in tree.body if not isinstance(node, _TOP)]
    for node in ast.walk(tree):
        fault = _fault(node)
        if fault:
            faults.append(f"line {getattr(node, 'lineno', 0)}: {fault}")
    if faults:
        raise OnnxError("open_program", [f"the program gives source that does more than compute: {', '.join(faults)}"])


def _fault(node: ast.AST) -> str:
    if isinstance(node, ast.Import):
        names = [each.name for each in node.names]
    elif isinstance(node, ast.ImportFrom):
        if node.module == "typing" and [each.name for each in node.names] == ["Any"]:
            return ""
        names = [node.module or ""]
    elif isinstance(node, ast.Name | ast.Attribute):
        name = node.id if isinstance(node, ast.Name) else node.attr
        allowed = name in _NEEDED or (not name.startswith("__") and name not in _FORBIDDEN)
        return "" if allowed else f"the name {name}"
    elif isinstance(node, ast.ClassDef):
        return "" if [ast.unparse(base) for base in node.bases] == ["Module"] else f"class {node.name}"
    else:
        return ""
    return next(
        (f"import of {name}" for name in names if name != _FUNCTIONS and name.partition(".")[0] not in _MODULES), ""
    )


__all__ = ["guard"]
