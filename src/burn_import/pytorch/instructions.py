"""The instructions of pickles: their codes, the names that `pickletools` gives them, and what each does.

All six protocols are here. Instructions that look up classes by number or make objects of classes are there to be
refused by name.
"""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn_import.pytorch.machine import Machine

Action = Callable[["Machine"], None]

STOP = ord(".")
MAX_INTEGER = 64
"""Bytes of an integer."""

U1, U2, I4, U4, U8, F8 = (struct.Struct(form) for form in ("<B", "<H", "<i", "<I", "<Q", ">d"))


# Texts


def _text(m: Machine, form: struct.Struct) -> None:
    raw = bytes(m.take(m.number(form)))
    try:
        m.push(raw.decode("utf-8", "surrogatepass"))
    except UnicodeDecodeError:
        m.refuse("holds a text that is no UTF-8")


def _old_text(m: Machine, form: struct.Struct) -> None:
    """A text of Python 2, which may have been bytes."""
    m.push(_decoded(bytes(m.take(m.number(form)))))


def _decoded(raw: bytes) -> str:
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")


def _quoted(m: Machine) -> None:
    line = m.line().decode("latin-1")
    if len(line) < 2 or line[0] not in "'\"" or line[-1] != line[0]:
        m.refuse("holds a text without quotes")
    try:
        value = ast.literal_eval("b" + line)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        m.refuse("holds a text that cannot be read")
    if not isinstance(value, bytes):
        m.refuse("holds a text that cannot be read")
    m.push(_decoded(value))


def _escaped(m: Machine) -> None:
    try:
        m.push(m.line().decode("raw-unicode-escape"))
    except UnicodeError:
        m.refuse("holds a text that cannot be read")


# Numbers


def _line_number(m: Machine) -> None:
    text = m.word()
    if text in ("00", "01"):
        m.push(text == "01")
        return
    m.push(_integer(m, text.removesuffix("L")))


def _integer(m: Machine, text: str) -> int:
    if len(text) > 2 * MAX_INTEGER or not text.removeprefix("-").isdecimal() or not text.isascii():
        m.refuse("holds no integer that is read here")
    return int(text)


def _long(m: Machine, form: struct.Struct) -> None:
    length = m.number(form)
    if length > MAX_INTEGER:
        m.refuse(f"holds an integer of {length:,} bytes; {MAX_INTEGER} are allowed")
    m.push(int.from_bytes(m.take(length), "little", signed=True))


def _line_float(m: Machine) -> None:
    try:
        m.push(float(m.word()[:400]))
    except ValueError:
        m.refuse("holds no number")


# Containers


def _tuple(m: Machine, count: int) -> None:
    values = [m.pop() for _ in range(count)]
    m.container(tuple(reversed(values)))


def _append(m: Machine) -> None:
    value = m.pop()
    m.extend(m.top(), [value])


def _appends(m: Machine) -> None:
    values = m.pop_to_mark()
    m.extend(m.top(), values)


def _set_item(m: Machine) -> None:
    value, key = m.pop(), m.pop()
    m.store(m.top(), key, value)


def _set_items(m: Machine) -> None:
    _pairs(m, m.pop_to_mark(), lambda: m.top())


def _dict(m: Machine) -> None:
    made: dict[Any, Any] = {}
    _pairs(m, m.pop_to_mark(), lambda: made)
    m.container(made)


def _pairs(m: Machine, values: list[Any], target: Callable[[], Any]) -> None:
    if len(values) % 2:
        m.refuse("has a key without a value")
    into = target()
    for index in range(0, len(values), 2):
        m.store(into, values[index], values[index + 1])


def _add_items(m: Machine) -> None:
    values = m.pop_to_mark()
    target = m.top()
    if type(target) is not set:
        m.refuse("adds to what is no set")
    target.update(map(m.plain_key, values))


def _duplicate(m: Machine) -> None:
    m.push(m.top())


def _pop(m: Machine) -> None:
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.pop()


# Names and calls


def _global(m: Machine) -> None:
    module, name = m.word(), m.word()
    m.name(module, name)


def _stack_global(m: Machine) -> None:
    name, module = m.pop(), m.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        m.refuse("names something by what is no text")
    m.name(module, name)


def _instance(m: Machine) -> None:
    module, name = m.word(), m.word()
    m.unknown(f"{module}.{name}")


def _object(m: Machine) -> None:
    m.pop_to_mark()
    m.refuse("makes an object of a class, which is never done")


def _reduce(m: Machine) -> None:
    arguments, function = m.pop(), m.pop()
    m.push(m.call(function, arguments))


def _new_object_with_names(m: Machine) -> None:
    named, arguments, function = m.pop(), m.pop(), m.pop()
    if named:
        m.refuse("makes an object with named arguments")
    m.push(m.call(function, arguments))


def _persistent_line(m: Machine) -> None:
    m.persistent_value(m.word())


def _protocol(m: Machine) -> None:
    version = m.number(U1)
    if version > 5:
        m.refuse(f"announces protocol {version}; 0 to 5 are known")


def _frame(m: Machine) -> None:
    length = m.number(U8)
    if length > m.end - m.position:
        m.refuse(f"announces {length:,} bytes, and {m.end - m.position:,} are left")


def _refused(m: Machine) -> None:
    m.refuse("is not used by files of weights and is not read")


def _line_index(m: Machine) -> int:
    return _integer(m, m.word())


_ROWS: list[tuple[Any, str, Action]] = [
    (0x80, "PROTO", _protocol),
    (0x95, "FRAME", _frame),
    (".", "STOP", _refused),
    ("(", "MARK", lambda m: m.marks.append(len(m.stack))),
    ("0", "POP", _pop),
    ("1", "POP_MARK", lambda m: m.pop_to_mark().clear()),
    ("2", "DUP", _duplicate),
    ("N", "NONE", lambda m: m.push(None)),
    (0x88, "NEWTRUE", lambda m: m.push(True)),
    (0x89, "NEWFALSE", lambda m: m.push(False)),
    ("I", "INT", _line_number),
    ("L", "LONG", _line_number),
    ("J", "BININT", lambda m: m.push(m.number(I4))),
    ("K", "BININT1", lambda m: m.push(m.number(U1))),
    ("M", "BININT2", lambda m: m.push(m.number(U2))),
    (0x8A, "LONG1", lambda m: _long(m, U1)),
    (0x8B, "LONG4", lambda m: _long(m, U4)),
    ("F", "FLOAT", _line_float),
    ("G", "BINFLOAT", lambda m: m.push(m.number(F8))),
    ("S", "STRING", _quoted),
    ("T", "BINSTRING", lambda m: _old_text(m, U4)),
    ("U", "SHORT_BINSTRING", lambda m: _old_text(m, U1)),
    ("V", "UNICODE", _escaped),
    ("X", "BINUNICODE", lambda m: _text(m, U4)),
    (0x8C, "SHORT_BINUNICODE", lambda m: _text(m, U1)),
    (0x8D, "BINUNICODE8", lambda m: _text(m, U8)),
    ("B", "BINBYTES", lambda m: m.push(bytes(m.take(m.number(U4))))),
    ("C", "SHORT_BINBYTES", lambda m: m.push(bytes(m.take(m.number(U1))))),
    (0x8E, "BINBYTES8", lambda m: m.push(bytes(m.take(m.number(U8))))),
    (0x96, "BYTEARRAY8", lambda m: m.push(bytes(m.take(m.number(U8))))),
    ("]", "EMPTY_LIST", lambda m: m.container([])),
    ("a", "APPEND", _append),
    ("e", "APPENDS", _appends),
    ("l", "LIST", lambda m: m.container(m.pop_to_mark())),
    (")", "EMPTY_TUPLE", lambda m: m.push(())),
    ("t", "TUPLE", lambda m: m.container(tuple(m.pop_to_mark()))),
    (0x85, "TUPLE1", lambda m: _tuple(m, 1)),
    (0x86, "TUPLE2", lambda m: _tuple(m, 2)),
    (0x87, "TUPLE3", lambda m: _tuple(m, 3)),
    ("}", "EMPTY_DICT", lambda m: m.container({})),
    ("d", "DICT", _dict),
    ("s", "SETITEM", _set_item),
    ("u", "SETITEMS", _set_items),
    (0x8F, "EMPTY_SET", lambda m: m.container(set())),
    (0x90, "ADDITEMS", _add_items),
    (0x91, "FROZENSET", lambda m: m.container(frozenset(map(m.plain_key, m.pop_to_mark())))),
    ("g", "GET", lambda m: m.recall(_line_index(m))),
    ("h", "BINGET", lambda m: m.recall(m.number(U1))),
    ("j", "LONG_BINGET", lambda m: m.recall(m.number(U4))),
    ("p", "PUT", lambda m: m.remember(_line_index(m))),
    ("q", "BINPUT", lambda m: m.remember(m.number(U1))),
    ("r", "LONG_BINPUT", lambda m: m.remember(m.number(U4))),
    (0x94, "MEMOIZE", lambda m: m.remember(len(m.memo))),
    ("c", "GLOBAL", _global),
    (0x93, "STACK_GLOBAL", _stack_global),
    ("R", "REDUCE", _reduce),
    (0x81, "NEWOBJ", _reduce),
    (0x92, "NEWOBJ_EX", _new_object_with_names),
    ("b", "BUILD", lambda m: m.build()),
    ("P", "PERSID", _persistent_line),
    ("Q", "BINPERSID", lambda m: m.persistent_value(m.pop())),
    ("i", "INST", _instance),
    ("o", "OBJ", _object),
    (0x82, "EXT1", _refused),
    (0x83, "EXT2", _refused),
    (0x84, "EXT4", _refused),
    (0x97, "NEXT_BUFFER", _refused),
    (0x98, "READONLY_BUFFER", _refused),
]

TABLE: dict[int, tuple[str, Action]] = {
    code if isinstance(code, int) else ord(code): (name, action) for code, name, action in _ROWS
}
"""Name and action by code."""
