"""Names: what the annotations of a class refer to.

Annotations may be text (`from __future__ import annotations`) that names classes of the module, of the
functions around the class, or of the class itself, some of them defined later. So they are read on
first use of the class. What the functions around it knew is noted when the class is made, as these may
have returned by then; only the names that occur in its annotations are kept, so nothing else stays alive.
"""

from __future__ import annotations

import builtins
import inspect
import re
import sys
from collections.abc import Iterator, Mapping
from types import FrameType, ModuleType
from typing import Any, ClassVar, get_origin

IDENTIFIER = re.compile(r"[^\W\d]\w*")
CLASS_VARIABLE = re.compile(r"^\s*(?:\w+\s*\.\s*)?ClassVar\b")


NAMELESS = "builtins"
"""What Python gives as the module of a class that code without one makes, by `exec` for instance."""


class Scope:
    """Where a class was made: the globals of its module, and the names of the functions around it."""

    __slots__ = ("globals", "captured")

    def __init__(self, module_globals: dict[str, Any], captured: dict[str, Any]) -> None:
        self.globals = module_globals
        self.captured = captured


def scope_of_caller(cls: type) -> Scope | None:
    """The scope in which `cls` is being made now; None for a class of a module, whose globals suffice."""
    module = _module_of(cls)
    if "<locals>" not in cls.__qualname__ and module is not None:
        return None
    # As they stand in the class: asking for them may already evaluate them, too early.
    written = vars(cls).get("__annotations__", {})
    texts = [each for each in written.values() if isinstance(each, str)]
    wanted = {name for text in texts for name in IDENTIFIER.findall(text)}
    module_globals = vars(module) if module is not None else None
    captured: dict[str, Any] = {}
    for frame in _frames_of(cls.__module__):
        module_globals = module_globals if module_globals is not None else frame.f_globals
        if frame.f_locals is not frame.f_globals:
            for name in wanted & frame.f_locals.keys():
                captured.setdefault(name, frame.f_locals[name])
    return Scope(module_globals if module_globals is not None else {}, captured)


def _module_of(cls: type) -> ModuleType | None:
    """The module of a class, if it is loaded."""
    return None if cls.__module__ == NAMELESS else sys.modules.get(cls.__module__)


def _frames_of(module: str) -> Iterator[FrameType]:
    """The calls now under way, innermost first, of functions of one module."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_globals.get("__name__", NAMELESS) == module and not isinstance(frame.f_locals, Names):
            yield frame
        frame = frame.f_back


class Names(Mapping[str, Any]):
    """The names that an annotation of a class may use, as a mapping for `eval`."""

    def __init__(self, cls: type, scope: Scope | None) -> None:
        module = _module_of(cls)
        self.module = cls.__module__
        self.globals = scope.globals if scope else vars(module) if module else {}
        self.captured = scope.captured if scope else {}
        fields = inspect.get_annotations(cls)
        self.own = {name: value for name, value in vars(cls).items() if name not in fields}
        self.itself = (cls.__name__, cls)

    def __getitem__(self, name: str) -> Any:
        for names in (self.own, self.captured, self.globals, vars(builtins)):
            if name in names:
                return names[name]
        if name == self.itself[0]:
            return self.itself[1]
        for frame in _frames_of(self.module):
            if name in frame.f_locals:
                return frame.f_locals[name]
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter({**self.globals, **self.captured, **self.own})

    def __len__(self) -> int:
        return len(list(iter(self)))

    def read(self, annotation: str) -> Any:
        """The type that the text of an annotation means."""
        return eval(annotation.strip(), {"__builtins__": {"__import__": __import__}}, self)  # generics import lazily


def own_annotations(cls: type) -> dict[str, Any]:
    """The annotations of the class body itself, as they were written, without class variables."""
    written = inspect.get_annotations(cls)
    return {name: annotation for name, annotation in written.items() if not is_class_variable(annotation)}


def is_class_variable(annotation: Any) -> bool:
    """Whether an annotation marks what belongs to the class, not to its values."""
    if isinstance(annotation, str):
        return CLASS_VARIABLE.match(annotation) is not None
    return annotation is ClassVar or get_origin(annotation) is ClassVar
