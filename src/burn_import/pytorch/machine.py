"""A reader of pickles that runs nothing.

A pickle is a program for a small stack machine. This one knows the instructions that build numbers, texts and
containers, and calls only the functions of `known.py`, which are our own. A name that is not among them is refused
where it stands. What a file can make us hold is bounded: instructions, containers, elements of copies and bytes of
expanded tensors are counted, and whatever is announced longer than the file ends the reading.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NoReturn

from burn.record.errors import RecordError
from burn_import.pytorch.instructions import STOP, TABLE
from burn_import.pytorch.unfinished import Unfinished

MAX_INSTRUCTIONS = 6_000_000
MAX_CONTAINERS = 1_500_000
MAX_REMEMBERED = 2_000_000
MAX_COPIED = 4_000_000
"""Elements that calls such as `list(other)` may copy, all together."""

MAX_REPEATED = 1 << 28
"""Bytes that expanded tensors, such as `zeros(1).expand(n)`, may take up beyond the file."""

MAX_KEY = 8
"""Parts of a key that is a tuple."""

SCALARS = (str, int, float, bool, bytes, type(None))


class Known:
    """A name that pickles may use. `call` makes the value; None where it is only a name."""

    __slots__ = ("call", "name", "value")

    def __init__(self, name: str, call: Callable[..., Any] | None = None, value: Any = None) -> None:
        self.name, self.call, self.value = name, call, value

    def __repr__(self) -> str:
        return self.name


class Dictionary(dict[Any, Any]):
    """A dict that was an object: an ordered or default dict, or a namespace."""

    __slots__ = ("takes_state",)

    def __init__(self, takes_state: bool = False) -> None:
        super().__init__()
        self.takes_state = takes_state


class PickleError(RecordError):
    r"""A pickle that is damaged, or asks for what is not read.

    >>> from pathlib import Path
    >>> from burn_import.pytorch import PickleError, PytorchReader
    >>> _ = Path("model.pt").write_bytes(b"cbuiltins\nprint\n.")  # a pickle that asks for a function
    >>> try:
    ...     PytorchReader("model.pt")
    ... except PickleError as error:
    ...     print("builtins.print" in str(error))
    True
    """


Find = Callable[[str], "Known | None"]
Persistent = Callable[[Any], Any]


class Machine:
    """Reads one pickle: `run` gives its value, `position` then stands after it."""

    def __init__(self, view: memoryview, position: int, find: Find, persistent: Persistent | None = None) -> None:
        self.view, self.position, self.end = view, position, len(view)
        self.find, self.persistent = find, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.instruction, self.at = "", position
        self.containers = self.copied = self.repeated = 0

    def run(self) -> Any:
        """The value of the pickle."""
        table = TABLE
        view, count = self.view, 0
        while True:
            if self.position >= self.end:
                raise PickleError("the pickle ends in the middle")
            code = view[self.position]
            self.at = self.position
            self.position += 1
            count += 1
            if count > MAX_INSTRUCTIONS:
                raise PickleError(f"a pickle of more than {MAX_INSTRUCTIONS:,} instructions")
            row = table.get(code)
            if row is None:
                raise PickleError(f"byte {self.at:,}: 0x{code:02x} is no instruction of a pickle that is read here")
            self.instruction = row[0]
            if code == STOP:
                if len(self.stack) != 1 or self.marks:
                    self.refuse("leaves more or less than one value")
                return self.stack[0]
            row[1](self)

    # Errors and bounds

    def refuse(self, what: str) -> NoReturn:
        """End the reading, naming the instruction."""
        raise PickleError(f"opcode {self.instruction} at byte {self.at:,} {what}")

    def count_copied(self, count: int) -> None:
        """Count elements that are copied."""
        self.copied += count
        if self.copied > MAX_COPIED:
            self.refuse(f"copies more than {MAX_COPIED:,} elements")

    def count_repeated(self, size: int) -> None:
        """Count bytes that a tensor takes up beyond the file."""
        self.repeated += size
        if self.repeated > MAX_REPEATED:
            self.refuse(
                f"expands tensors by more than {MAX_REPEATED:,} bytes; save tensor.contiguous(), or what it was made of"
            )

    # Bytes

    def take(self, count: int) -> memoryview:
        """The next bytes."""
        if count > self.end - self.position:
            self.refuse(f"announces {count:,} bytes, and {self.end - self.position:,} are left")
        start = self.position
        self.position += count
        return self.view[start : self.position]

    def number(self, form: struct.Struct) -> int:
        """The next integer of a fixed size."""
        return form.unpack(self.take(form.size))[0]  # type: ignore[no-any-return]

    def line(self) -> bytes:
        """The bytes up to the end of the line."""
        at = self.position
        while at < self.end:
            found = bytes(self.view[at : at + 4096]).find(b"\n")
            if found >= 0:
                line = bytes(self.view[self.position : at + found])
                self.position = at + found + 1
                return line
            at += 4096
        self.refuse("has no end of line")

    def word(self) -> str:
        """The text up to the end of the line."""
        return self.line().decode("utf-8", "replace")

    # The stack

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def container(self, value: Any) -> None:
        """Put a new container on the stack."""
        self.containers += 1
        if self.containers > MAX_CONTAINERS:
            self.refuse(f"makes more than {MAX_CONTAINERS:,} containers")
        self.stack.append(value)

    def pop(self) -> Any:
        """Take a value from the stack."""
        if not self.stack or (self.marks and self.marks[-1] == len(self.stack)):
            self.refuse("finds nothing on the stack")
        return self.stack.pop()

    def top(self) -> Any:
        """The value on the stack."""
        if not self.stack or (self.marks and self.marks[-1] == len(self.stack)):
            self.refuse("finds nothing on the stack")
        return self.stack[-1]

    def pop_to_mark(self) -> list[Any]:
        """Take everything after the last mark."""
        if not self.marks:
            self.refuse("finds no mark on the stack")
        start = self.marks.pop()
        found = self.stack[start:]
        del self.stack[start:]
        return found

    # Containers

    def store(self, target: Any, key: Any, value: Any) -> None:
        """Put an entry into a dict. Keys are plain, so that hashing them costs nothing."""
        if not isinstance(target, dict):
            self.refuse("sets an entry of what is no dict")
        target[self.plain_key(key)] = value

    def plain_key(self, key: Any) -> Any:
        """A key of a dict or an element of a set, if it is plain."""
        for each in key if isinstance(key, tuple) and len(key) <= MAX_KEY else (key,):
            if not isinstance(each, SCALARS) or (isinstance(each, int) and not -(1 << 63) <= each < 1 << 64):
                self.refuse("uses a key that is neither a number nor a text")
        return key

    def extend(self, target: Any, values: list[Any]) -> None:
        """Append to a list."""
        if type(target) is not list:
            self.refuse("appends to what is no list")
        target += values

    # Names and calls

    def name(self, module: str, name: str) -> None:
        """Put what a name stands for on the stack; unknown names end the reading."""
        full = f"{module}.{name}"
        known = self.find(full)
        if known is None:
            self.unknown(full)
        self.push(known)

    def unknown(self, full: str) -> NoReturn:
        """Refuse a name, and tell a whole model from anything else."""
        shown = full if len(full) <= 120 else f"{full[:120]}..."
        shown = "".join(each if each.isprintable() else "?" for each in shown)
        ahead = bytes(self.view[self.at : self.at + (1 << 20)])
        if shown.startswith("torch.nn.modules.") or (b"_parameters" in ahead and b"_modules" in ahead):
            raise PickleError(
                f"it holds a whole pickled module ({shown}, opcode {self.instruction} at byte {self.at:,}), which "
                "could only be read by running its code; save its weights instead: "
                "torch.save(model.state_dict(), path)"
            )
        self.refuse(
            f"names {shown}; tensors, numbers, texts and plain containers are read, and nothing else is ever "
            "looked up or called; save the weights alone: torch.save(model.state_dict(), path)"
        )

    def call(self, function: Any, arguments: Any) -> Any:
        """The value of a call of a known name."""
        if not isinstance(function, Known) or function.call is None:
            self.refuse(f"calls {function.name if isinstance(function, Known) else type(function).__name__}")
        if not isinstance(arguments, tuple):
            self.refuse(f"calls {function.name} without a tuple of arguments")
        self.containers += 1
        if self.containers > MAX_CONTAINERS:
            self.refuse(f"makes more than {MAX_CONTAINERS:,} containers")
        try:
            return function.call(self, *arguments)
        except PickleError:
            raise
        except RecordError as error:
            self.refuse(f"calls {function.name}: {error}")
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError):
            self.refuse(f"calls {function.name} with values that it does not take")

    def build(self) -> None:
        """Complete a value by a state."""
        state, target = self.pop(), self.top()
        if isinstance(target, Unfinished):
            try:
                target.build(state)
            except (TypeError, ValueError, LookupError, AttributeError) as error:
                if isinstance(error, PickleError):
                    raise
                self.refuse(f"completes a {type(target).__name__} with values that it does not take: {error}"[:400])
        elif isinstance(target, Dictionary):
            if target.takes_state and isinstance(state, dict):
                self.count_copied(len(state))
                target.update(state)
        else:
            self.refuse(f"changes a {type(target).__name__}")

    # Values that are used again

    def remember(self, index: int) -> None:
        """Keep the value on the stack under a number."""
        self.memo[index] = self.top()
        if len(self.memo) > MAX_REMEMBERED:
            self.refuse(f"keeps more than {MAX_REMEMBERED:,} values")

    def recall(self, index: int) -> None:
        """Put a value that was remembered on the stack."""
        if index not in self.memo:
            self.refuse(f"asks for value {index}, which was not kept")
        self.stack.append(self.memo[index])

    def persistent_value(self, key: Any) -> None:
        """Put a storage on the stack."""
        if self.persistent is None:
            self.refuse("asks for a value outside the pickle, and there is none")
        try:
            self.push(self.persistent(key))
        except PickleError:
            raise
        except RecordError as error:
            self.refuse(f"asks for a storage: {error}")
