"""Facts: what is known of a code object by reading it."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType
from typing import Any

BY_NAME = frozenset("getattr setattr delattr hasattr".split())
"""Functions that reach an attribute by a name that may be computed."""

ALL_OF_SPACES = frozenset("vars __dict__ dir attrgetter getmembers __getattribute__".split())
"""Names under which code reaches every attribute, of classes and modules too."""

ALL_OF_OBJECTS = ALL_OF_SPACES | frozenset(
    "globals locals asdict astuple replace copy deepcopy __getstate__ __reduce_ex__ __setattr__ eval exec pickle "
    "dumps".split()
)

FRAMES = frozenset(
    "gi_frame gi_running gi_suspended gi_yieldfrom cr_frame cr_await ag_frame ag_await f_locals f_globals f_back "
    "f_lineno f_lasti tb_frame tb_lineno __globals__ __builtins__".split()
)
"""What tells where code stands, which cannot be looked at."""

SILENT_TYPES = frozenset("Decimal complex timedelta array float16 float32 float64 Fraction".split())

CHANGES = frozenset(
    "append appendleft extend extendleft insert remove pop popleft popitem clear update setdefault add discard sort "
    "reverse rotate move_to_end fill put".split()
)
"""Methods that change a container."""

LOADS = ("LOAD_GLOBAL", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_NAME", "STORE_NAME")


class Facts:
    """What a code object names, and what it asks for that has no name."""

    __slots__ = ("asked", "classes_of", "everything", "formats", "frames", "global_names", "identities",
                 "imports", "names", "nested", "spaces", "taken")  # fmt: skip

    def __init__(self, code: CodeType) -> None:
        self.names: set[str] = set(code.co_names)
        self.global_names: list[str] = []
        self.imports: list[str] = []
        self.taken: list[str] = []  # globals that are used as values, not called
        self.nested: list[CodeType] = []
        instructions = [each for each in dis.get_instructions(code) if each.opname not in _NOTHING]
        for each in instructions:
            if each.opname == "IMPORT_NAME":
                self.imports.append(each.argval)
            if each.opname in LOADS:
                self.global_names.append(each.argval)
                if each.opname == "LOAD_GLOBAL" and each.arg is not None and not each.arg & 1:
                    self.taken.append(each.argval)
        for constant in code.co_consts:
            if isinstance(constant, str) and constant.isidentifier():
                self.names.add(constant)
            elif isinstance(constant, tuple):
                self.names.update(each for each in constant if isinstance(each, str) and each.isidentifier())
            elif isinstance(constant, CodeType):
                self.nested.append(constant)
                self.nested += facts_of(constant).nested
        self.spaces = _computes_names(instructions) or not ALL_OF_SPACES.isdisjoint(self.names)
        """Whether it may read any attribute of classes and modules."""
        self.everything = self.spaces or not ALL_OF_OBJECTS.isdisjoint(self.names)
        """Whether it may read any attribute of objects."""
        self.asked = self.names if "AttributeError" in self.names else {*_literal_names(instructions)}
        """Attributes that may not be there."""
        self.frames = min(FRAMES & self.names, default="")
        given = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        kept = {*given}.difference(each.argval for each in instructions if each.opname == "STORE_FAST")
        self.classes_of = [path if path and path[0] in kept else () for path in _asked(instructions)]
        """Arguments, and attributes of these, whose classes it asks for; nothing for what is computed."""
        self.identities = (
            "id" in self.global_names
            or not CHANGES.isdisjoint(self.names)
            or any(each.opname in ("STORE_SUBSCR", "DELETE_SUBSCR") for each in instructions)
            or _compares_identities(instructions)
        )
        """Whether it could tell two equal containers from one."""
        self.formats = not SILENT_TYPES.isdisjoint(self.names) or any(
            isinstance(each, str) and "%" in each for each in code.co_consts
        )


_NOTHING = frozenset("CACHE RESUME NOP PRECALL EXTENDED_ARG".split())
_facts: dict[int, tuple[CodeType, Facts]] = {}


def facts_of(code: CodeType) -> Facts:
    """What is known of a code object."""
    found = _facts.get(id(code))
    if found is None:
        if len(_facts) > 10_000:
            _facts.clear()
        found = _facts[id(code)] = (code, Facts(code))
    return found[1]


# Arguments of calls, in code without branches in between


def _arguments(instructions: list[Any], begin: int) -> list[list[Any]] | None:
    """The instructions of each argument of the call whose function is loaded at `begin`; None where it is not plain."""
    depth = 0
    for end in range(begin + 1, len(instructions)):
        each = instructions[end]
        if each.opname == "CALL" and depth == each.arg:
            break
        if each.is_jump_target or each.opname == "KW_NAMES" or each.opcode in _JUMPS:
            return None
        depth += _effect(each)
    else:
        return None
    found: list[list[Any]] = []
    for _ in range(depth):
        begin_of, height = end, 0
        while height != 1 and begin_of > begin + 1:
            begin_of -= 1
            height += _effect(instructions[begin_of])
        found.insert(0, instructions[begin_of:end])
        end = begin_of
    return found


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


def _effect(instruction: Any) -> int:
    """How much higher the stack is after an instruction."""
    if instruction.opname == "CALL":
        return -1 - int(instruction.arg)
    return dis.stack_effect(instruction.opcode, instruction.arg if instruction.opcode >= dis.HAVE_ARGUMENT else None)


def _calls(instructions: list[Any], names: frozenset[str]) -> Iterator[list[list[Any]] | None]:
    """The arguments of every call of functions by these names; None where such a function is used in another way."""
    for index, each in enumerate(instructions):
        if each.opname in ("LOAD_GLOBAL", "LOAD_NAME") and each.argval in names:
            yield _arguments(instructions, index) if each.opname == "LOAD_GLOBAL" and each.arg & 1 else None


def _computes_names(instructions: list[Any]) -> bool:
    """Whether an attribute is reached by a name that is not written there."""
    for arguments in _calls(instructions, BY_NAME):
        if arguments is None or len(arguments) < 2:
            return True
        (*more, name) = arguments[1]
        if more or name.opname != "LOAD_CONST":
            return True
    return False


def _literal_names(instructions: list[Any]) -> Iterator[str]:
    for arguments in _calls(instructions, BY_NAME):
        if arguments is not None and len(arguments) > 1 and arguments[1][-1].opname == "LOAD_CONST":
            yield arguments[1][-1].argval


_NAMES = ("LOAD_FAST", "LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_FAST_BORROW")


def _asked(instructions: list[Any]) -> Iterator[tuple[str, ...]]:
    """Where the values stand whose classes are asked for: a name and attributes; nothing where it is computed."""
    for arguments in _calls(instructions, frozenset(("type",))):
        if arguments is None or len(arguments) == 1:
            yield () if arguments is None else _path(arguments[0])
    for index, each in enumerate(instructions):
        if each.opname == "LOAD_ATTR" and each.argval == "__class__":
            begin = index
            while begin and instructions[begin - 1].opname == "LOAD_ATTR":
                begin -= 1
            yield _path(instructions[max(begin - 1, 0) : index])


def _path(instructions: list[Any]) -> tuple[str, ...]:
    plain = instructions and instructions[0].opname in _NAMES
    if not plain or any(each.opname != "LOAD_ATTR" for each in instructions[1:]):
        return ()
    return tuple(each.argval for each in instructions)


def _compares_identities(instructions: list[Any]) -> bool:
    """Whether two values are compared by `is`, neither of them a constant."""
    return any(each.opname == "IS_OP" and before.opname != "LOAD_CONST" for before, each in pairwise(instructions))
