"""The classes of the generated file: the model, and one for each kind of block.

Two regions that read the same are one class, used twice: their text is compared, names and all.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from burn_import.onnx.ir.graph import Value
from burn_import.onnx.ir.types import TensorType
from burn_import.onnx.writer.expression import Expression, Form
from burn_import.onnx.writer.fields import Fields
from burn_import.onnx.writer.function import FunctionWriter
from burn_import.onnx.writer.layout import WIDTH, lay_out
from burn_import.onnx.writer.names import RESERVED, Names, camel
from burn_import.onnx.writer.sizes import shape_comment

_TRAILING = re.compile(r"(_\d+)+$")


class Classes:
    """The classes of one file, innermost first."""

    def __init__(self) -> None:
        self.names = Names(RESERVED)
        self.known: dict[str, str] = {}  # body to name
        self.counts: dict[str, int] = {}
        self.imports: dict[str, set[str]] = {}

    def add(self, function: FunctionWriter, results: Sequence[Value], given: Sequence[Expression]) -> str:
        """The name of the class that a region's function is a method of."""
        function.finish(f"return {', '.join(each.text for each in given)}")
        body = "\n".join([
            *field_lines(function.fields),
            *constructor_lines(function.fields),
            "",
            *signature_lines(function, results, ""),
            *function.prologue(),
            *function.lines,
        ])  # fmt: skip
        for module, names in function.imports.items():
            self.imports.setdefault(module, set()).update(names)
        name = self.known.get(body)
        if name is None:
            name = self._fresh(camel("_".join(_singular(word) for word in function.scope[-2:])) or "Block")
            self.known[body] = name
        self.counts[name] = self.counts.get(name, 0) + 1
        return name

    def _fresh(self, hint: str) -> str:
        name, count = hint if hint[0].isalpha() else f"Block{hint}", 1
        while name in self.names:
            count += 1
            name = f"{hint}{count}"
        self.names.reserve(name)
        return name

    def lines(self) -> list[str]:
        """The source of all classes."""
        found: list[str] = []
        for body, name in self.known.items():
            count = self.counts[name]
            used = "Stands in one place." if count == 1 else f"Stands in {count} places."
            found += [f"class {name}(Module):", f'    """{used}"""', "", body, "", ""]
        return found


def _singular(word: str) -> str:
    """The name of one item of a list: layers_0 is a layer."""
    name = _TRAILING.sub("", word)
    return name[:-1] if name != word and name.endswith("s") and not name.endswith("ss") and len(name) > 3 else name


def field_lines(fields: Fields) -> list[str]:
    lines = [
        f"    {each.name}: {each.annotation}" + (f"  # {each.comment}" if each.comment else "")
        for each in fields.entries
    ]
    return [*lines, ""] if lines else []


def constructor_lines(fields: Fields) -> list[str]:
    lines = ["    def __init__(self, device: Device) -> None:"]
    for each in fields.entries:
        lines += lay_out(f"self.{each.name} = {each.construction.text}", 8)
    return lines if fields.entries else [*lines, "        pass"]


def signature_lines(function: FunctionWriter, results: Sequence[Value], docstring: str) -> list[str]:
    """`def forward`, its parameters with their shapes in comments."""
    count = len(results)
    result = "Tensor" if count == 1 else f"tuple[{', '.join(['Tensor'] * count)}]"
    if count > 4:
        result = "tuple[Tensor, ...]"
    if count == 0:
        result = "tuple[()]"
    lines = []
    for value, name in function.parameters:
        form = function.values[value].form
        kind = {Form.tensor: "Tensor", Form.number: "int", Form.numbers: "list[int]"}.get(form, "object")
        line = f"        {name}: {kind},"
        comment = f"  # {described(value, function)}"
        lines.append(line + comment if len(line) + len(comment) <= WIDTH else line)
    lines += [f"        {name}: {'Device' if name == 'device' else 'int'}," for name in function.plain]
    if not lines:
        head = [f"    def forward(self) -> {result}:"]
    else:
        head = ["    def forward(", "        self,", *lines, f"    ) -> {result}:"]
    return [*head, *([f"        {docstring}"] if docstring else [])]


def described(value: Value, function: FunctionWriter) -> str:
    """The type of a value for a comment."""
    if not isinstance(value.type, TensorType):
        return "".join(c for c in str(value.type) if c.isascii() and c.isprintable())[:60]
    dtype = "?" if value.type.dtype is None else str(value.type.dtype)
    return f"{dtype} {shape_comment(value.type.shape, function.spell)}".strip()


__all__ = ["Classes", "constructor_lines", "described", "field_lines", "signature_lines"]
