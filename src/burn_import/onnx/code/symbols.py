"""Named sizes in a function: read once from its inputs, `batch, length = tokens.shape`, or passed in."""

from __future__ import annotations

import re
from typing import Any

from burn_import.onnx.code.expression import Expression, Form
from burn_import.onnx.code.fields import Fields
from burn_import.onnx.code.frame import INDENT, Frame, Line
from burn_import.onnx.code.names import snake
from burn_import.onnx.ir.graph import Graph

WORD = re.compile(r"[A-Za-z_]\w*")
_AUTOMATIC = re.compile(r"^(s\d+|unk__\d+|.*_dynamic_axes_\d+|dim_?\d+|\?.*)$")
_USUAL = {2: ("batch", "length"), 3: ("batch", "length"), 4: ("batch", "", "height", "width")}


class Symbols(Frame):
    """A function that knows what to call sizes."""

    def __init__(self, graph: Graph, fields: Fields, classes: Any, parent: Symbols | None = None) -> None:
        super().__init__(graph, fields, classes)
        self.outer = parent
        self.symbols: dict[str, str] = {}  # variables of the sizes that the function begins with
        self.plain: list[str] = []  # of a region: parameters that are sizes
        self.passed: dict[str, Expression] = {}  # of a region: what the call gives for each parameter

    def spell(self, symbol: str) -> str:
        """How comments name a size."""
        return self.symbols.get(symbol) or self._hint(symbol)

    def _hint(self, symbol: str) -> str:
        return self.classes.spellings.get(symbol) or snake(symbol) or "size"

    def name_sizes(self) -> None:
        """Choose names for the sizes of the inputs, better ones than tools make up."""
        taken: set[str] = set()
        for value, _ in self.parameters:
            shape = value.tensor.shape or ()
            usual = _USUAL.get(len(shape), ("batch",))
            for axis, size in enumerate(shape):
                symbol = getattr(size, "name", None)
                if symbol is None or symbol in self.classes.spellings:
                    continue
                automatic = symbol == f"{value.name}.{axis}" or _AUTOMATIC.match(symbol)
                known = usual[axis] if axis < len(usual) else ""
                name = known if automatic and known and known not in taken else snake(symbol) or "size"
                self.classes.spellings[symbol] = name
                taken.add(name)

    def resolve(self, symbol: str) -> Expression | None:
        """The variable of a size, or where it can be read."""
        known = self.symbols.get(symbol)
        if known is not None:
            return Expression.name(known, Form.number)
        place = self.sizes.get(symbol)
        if place is None:
            outer = None if self.outer is None else self.outer.resolve(symbol)
            if outer is None:
                return None
            self.symbols[symbol] = self.names.fresh(self._hint(symbol), "size")
            self.plain.append(self.symbols[symbol])
            self.passed[self.symbols[symbol]] = outer
            return Expression.name(self.symbols[symbol], Form.number)
        source, axis = place
        if any(source.text == name for _, name in self.parameters):
            self.symbols[symbol] = self.names.fresh(self._hint(symbol), "size")
            return Expression.name(self.symbols[symbol], Form.number)
        return source.attribute("shape").item(axis).number()

    def prologue(self) -> list[Line]:
        """The lines that read the named sizes from the inputs: `batch, length = tokens.shape`."""
        lines: list[str] = []
        mentioned = self.mentioned()
        for value, name in self.parameters:
            wanted: dict[int, str] = {}
            for symbol, variable in self.symbols.items():
                if variable in self.plain or variable not in mentioned:
                    continue
                source, axis = self.sizes[symbol]
                if source.text == name:
                    wanted[axis] = variable
            rank = value.tensor.rank or 0
            if sorted(wanted) == list(range(len(wanted))) and len(wanted) > 1:
                names = ", ".join(wanted[axis] for axis in sorted(wanted))
                lines.append(f"{names} = {name}.shape" + ("" if len(wanted) == rank else f"[:{len(wanted)}]"))
            else:
                lines += [f"{wanted[axis]} = {name}.shape[{axis}]" for axis in sorted(wanted)]
        return [Line(" " * 2 * INDENT + line) for line in lines]

    def mentioned(self) -> set[str]:
        """Every word of the body, comments left out."""
        return set(WORD.findall("\n".join(line.code for line in self.lines)))
