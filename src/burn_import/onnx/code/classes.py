"""The classes of the generated file: the model, and one for each kind of block.

Regions that read the same but for the sizes in their constructors are one class; sizes that differ are arguments of
its constructor. What is compared is the text, names and all, so a class never does more or less than each of the
regions that became it.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import field

from burn.classes import dataclass
from burn_import.onnx.code.expression import Form
from burn_import.onnx.code.fields import Field, Fields
from burn_import.onnx.code.frame import Line, form_of
from burn_import.onnx.code.holes import between, hole_hint, join, merged, split
from burn_import.onnx.code.layout import WIDTH, lay_out
from burn_import.onnx.code.names import RESERVED, Names, camel
from burn_import.onnx.code.sizes import shape_comment
from burn_import.onnx.code.symbols import Symbols
from burn_import.onnx.ir.graph import Node, Value
from burn_import.onnx.ir.types import TensorType

MOST = 6  # arguments of a constructor; blocks that differ in more are classes of their own
_TRAILING = re.compile(r"(_\d+)+$")
_CHAIN = re.compile(r"^(nn\.[\w.]+Config\(.*\))(\.init\(\w*\))((?:\.\w+\([^()]*\))+)$")
_CALL = re.compile(r"\.\w+\([^()]*\)")
_FIXED = ("Tensor",)  # annotations of fields whose numbers are data


@dataclass(slots=True, eq=False)
class Block:
    """One region as a class of its own would have it, and the field that holds it."""

    hint: str
    fields: list[Field]
    head: list[Line]  # the signature
    body: list[Line]
    name: str = ""
    group: int = 0
    kind: Kind | None = None
    is_again: bool = False  # the same instance as one before

    def numbers(self) -> tuple[int, ...]:
        """Every number of the constructors, those of blocks inside in their places."""
        found: list[int] = []
        for each in self.fields:
            found += _split(each)[1] if each.block is None else each.block.numbers()
        return tuple(found)

    def key(self) -> Hashable:
        """What blocks of one class have in common."""
        fields = tuple(
            (each.name, each.annotation, _split(each)[0] if each.block is None else each.block.group)
            for each in self.fields
        )
        return fields, tuple(line.code for line in (*self.head, *self.body))


@dataclass(slots=True, eq=False)
class Kind:
    """A class of the file: the blocks that it stands for, and the sizes that they differ in."""

    blocks: list[Block]
    name: str = ""
    arguments: list[tuple[str, int]] = field(default_factory=list)  # with the first number each stands for
    fillings: list[str] = field(default_factory=list)  # for each number: itself, or an argument

    def choose(self) -> None:
        """Name what differs."""
        columns = list(zip(*(block.numbers() for block in self.blocks)))
        names, chosen = Names(RESERVED), {}
        hints = _hints(self.blocks[0])
        for place, column in enumerate(columns):
            if len(set(column)) == 1:
                self.fillings.append(str(column[0]))
                continue
            if column not in chosen:
                chosen[column] = names.fresh(between([h for h, c in zip(hints, columns) if c == column]), "size")
                self.arguments.append((chosen[column], place))
            self.fillings.append(chosen[column])

    def lines(self) -> list[str]:
        """The source of the class."""
        first = self.blocks[0]
        columns = {}
        for name, place in self.arguments:
            columns[tuple(block.numbers()[place] for block in self.blocks)] = name
        lines = [f"class {self.name}(Module):", f'    """{_used(self.blocks)}"""', ""]
        comments = [merged(each, columns) for each in zip(*([f.comment for f in b.fields] for b in self.blocks))]
        lines += field_lines(first.fields, comments)
        lines += constructor_lines(first.fields, [name for name, _ in self.arguments], self.fillings)
        lines.append("")
        for each in zip(*((*block.head, *block.body) for block in self.blocks)):
            lines.append(Line(each[0].code, merged([line.comment for line in each], columns)).text())
        return [*lines, "", ""]


class Classes:
    """The classes of one file, innermost first; `spellings` are the names that sizes have in it."""

    def __init__(self) -> None:
        self.names = Names(RESERVED)
        self.groups: dict[Hashable, list[Block]] = {}
        self.imports: dict[str, set[str]] = {}
        self.spellings: dict[str, str] = {}
        self.learnt: set[tuple[Node, Value]] = set()  # numbers that are fields, since blocks differ in them
        self.shared: dict[Value, str] = {}  # the names of what several regions use

    def add(self, function: Symbols, hint: str, results: Sequence[Value]) -> Block:
        """A region that is written, as a block of some class."""
        made = Block(
            hint,
            function.fields.entries,
            signature_lines(function, results, ""),
            [*function.prologue(), *function.lines],
        )
        for module, names in function.imports.items():
            self.imports.setdefault(module, set()).update(names)
        known = self.groups.setdefault(made.key(), [])
        made.group = known[0].group if known else len(self.groups)
        known.append(made)
        return made

    def lines(self) -> list[str]:
        """The source of all classes; from here on blocks know what they are instances of."""
        found: list[str] = []
        for blocks in self.groups.values():
            for kind in _kinds(blocks):
                kind.name = self._fresh(camel("_".join(_singular(word) for word in kind.blocks[0].hint.split("."))))
                kind.choose()
                found += kind.lines()
        return found

    def _fresh(self, hint: str) -> str:
        base = hint if hint[:1].isalpha() else f"Block{hint}"
        name, count = base, 1
        while name in self.names:
            count += 1
            name = f"{base}{count}"
        self.names.reserve(name)
        return name


def _kinds(blocks: list[Block]) -> list[Kind]:
    """The classes that blocks of one shape become: one, unless they differ too much or hold different classes."""
    apart: dict[Hashable, list[Block]] = {}
    for block in blocks:
        inside = tuple(id(each.block.kind) for each in block.fields if each.block is not None)
        apart.setdefault(inside, []).append(block)
    kinds: list[Kind] = []
    for group in apart.values():
        columns = set(zip(*(block.numbers() for block in group)))
        if len([column for column in columns if len(set(column)) > 1]) <= MOST:
            kinds.append(Kind(group))
            continue
        same: dict[Hashable, list[Block]] = {}
        for block in group:
            same.setdefault(block.numbers(), []).append(block)
        kinds += [Kind(each) for each in same.values()]
    for kind in kinds:
        for block in kind.blocks:
            block.kind = kind
    return kinds


def _split(each: Field) -> tuple[tuple[str, ...], tuple[int, ...]]:
    if each.annotation in _FIXED:
        return (each.construction.text,), ()
    return split(each.construction.text)


def _hints(block: Block) -> list[str]:
    hints: list[str] = []
    for each in block.fields:
        if each.block is not None:
            inner = _hints(each.block)
            kind = each.block.kind
            if kind is not None:
                inner = [filling if filling.isidentifier() else hint for filling, hint in zip(kind.fillings, inner)]
            hints += inner
            continue
        parts, numbers = _split(each)
        hints += [hole_hint(each.annotation, parts, place) for place in range(len(numbers))]
    return hints


def _used(blocks: Sequence[Block]) -> str:
    """Where a class is used, for its docstring."""
    names = list(dict.fromkeys(block.name for block in blocks))
    count = "once" if len(blocks) == 1 else "twice" if len(blocks) == 2 else f"{len(blocks)} times"
    shown = ", ".join(names if len(names) <= 4 else [*names[:2], "...", names[-1]])
    return f"Used {count}: {shown}."


def _singular(word: str) -> str:
    """The name of one item of a list: layers_0 is a layer."""
    name = _TRAILING.sub("", word)
    return name[:-1] if name != word and name.endswith("s") and not name.endswith("ss") and len(name) > 3 else name


def field_lines(fields: Sequence[Field], comments: Sequence[str]) -> list[str]:
    """The annotations of a class."""
    lines = []
    for each, comment in zip(fields, comments):
        kind = each.annotation
        if each.block is not None:
            assert each.block.kind is not None
            kind = each.block.kind.name
        lines.append(Line(f"    {each.name}: {kind}", comment).text())
    return [*lines, ""] if lines else []


def constructor_lines(fields: Sequence[Field], arguments: Sequence[str], fillings: Sequence[str]) -> list[str]:
    """`def __init__`, with `fillings` in the place of the numbers of all fields."""
    given = ", ".join(["self", *(f"{name}: int" for name in arguments), "device: Device"])
    lines = lay_out(f"def __init__({given}) -> None:", 4)
    start = 0
    for each in fields:
        if each.block is not None:
            kind = each.block.kind
            assert kind is not None
            count = len(kind.fillings)
            own = fillings[start : start + count]
            passed = [f"{name}={own[place]}" for name, place in kind.arguments]
            text = f"{kind.name}({', '.join([*passed, 'device=device' if passed else 'device'])})"
        else:
            parts, numbers = _split(each)
            count = len(numbers)
            text = join(parts, fillings[start : start + count])
        start += count
        lines += _construction(f"self.{each.name} = ", text)
    return lines if fields else [*lines, "        pass"]


def _construction(target: str, text: str) -> list[str]:
    """A field that is set; a chain of calls that is too long stands call by call below each other."""
    chain = _CHAIN.match(text)
    if len(target) + len(text) + 8 <= WIDTH or chain is None or len(chain[1]) + 12 > WIDTH:
        return lay_out(target + text, 8)
    calls = [chain[1], chain[2], *_CALL.findall(chain[3])]
    return [f"        {target}(", *(f"            {each}" for each in calls), "        )"]


def model_lines(fields: Fields) -> list[str]:
    """Fields and constructor of the model itself, whose sizes are all known."""
    numbers: list[int] = []
    for each in fields.entries:
        numbers += _split(each)[1] if each.block is None else each.block.numbers()
    return [
        *field_lines(fields.entries, [each.comment for each in fields.entries]),
        *constructor_lines(fields.entries, [], [str(number) for number in numbers]),
    ]


def signature_lines(function: Symbols, results: Sequence[Value], docstring: str) -> list[Line]:
    """`def forward`, its parameters with their shapes in comments."""
    kinds = [_kind(form_of(each)) for each in results]
    result = kinds[0] if len(kinds) == 1 else f"tuple[{', '.join(kinds) or '()'}]"
    if len(kinds) > 4:
        result = f"tuple[{'Tensor' if set(kinds) == {'Tensor'} else 'Any'}, ...]"
    lines = []
    for value, name in function.parameters:
        kind = _kind(function.values[value].form)
        lines.append(Line(f"        {name}: {kind},", described(value, function)))
    lines += [Line(f"        {name}: {'Device' if name == 'device' else 'int'},") for name in function.plain]
    if not lines:
        head = [Line(f"    def forward(self) -> {result}:")]
    else:
        head = [Line("    def forward("), Line("        self,"), *lines, Line(f"    ) -> {result}:")]
    return [*head, *([Line(f"        {docstring}")] if docstring else [])]


def _kind(form: Form) -> str:
    """The type of a parameter or result."""
    return {Form.tensor: "Tensor", Form.number: "int", Form.numbers: "list[int]"}.get(form, "Any")


def described(value: Value, function: Symbols) -> str:
    """The type of a value for a comment."""
    if not isinstance(value.type, TensorType):
        return "".join(c for c in str(value.type) if c.isascii() and (c.isalnum() or c in "_ ?+-*/().,[]"))[:60]
    dtype = "?" if value.type.dtype is None else str(value.type.dtype)
    return f"{dtype} {shape_comment(value.type.shape, function.spell)}".strip()


__all__ = ["Block", "Classes", "described", "model_lines", "signature_lines"]
