"""Structs and choices: the kinds of fields that hold a config or a variant of an enumeration.

In JSON a config is an object of its fields. A config of a class derived from the declared one carries
its class name, `{"AdamConfig": {...}}`. A variant is written as Rust's serde writes it: `"Same"` without
fields, `{"Explicit": {"h": 1, "w": 1}}` with them, `{"Value": 0.5}` or `{"Explicit": [1, 1]}` where they have
only positions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burn.config.faults import Faults, Path, did_you_mean, show_json
from burn.config.kinds import Kind

if TYPE_CHECKING:
    from burn.config.enumeration import Enumeration
    from burn.config.fields import Fields


class Struct(Kind):
    """A config of a class, or of one derived from it."""

    def __init__(self, cls: type[Fields], arguments: tuple[Any, ...] = ()) -> None:
        self.cls = cls
        self.arguments = arguments
        self.exact = None if arguments else cls

    @property
    def expected(self) -> str:
        return self.cls.__name__

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, self.cls):
            written = f"{self.expected}(...)" if isinstance(value, dict) or value is self.cls else self.expected
            faults.unexpected(path, written, value)
        elif self.arguments:
            table = self.cls._table(self.arguments)
            taken = {
                name: field.kind.take(vars(value)[name], (path, name), faults) for name, field in table.by_name.items()
            }
            return self.cls._from_fields({**vars(value), **taken}) if type(value) is self.cls else value
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        written = self.write_fields(value, path, faults)
        return written if type(value) is self.cls else {type(value).__name__: written}

    def write_fields(self, value: Any, path: Path, faults: Faults) -> Any:
        """The object of the fields, without the class name."""
        return type(value)._table(self.arguments if type(value) is self.cls else ()).write(value, path, faults)

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        if type(value) is dict and len(value) == 1:
            ((name, content),) = value.items()
            derived = None if name in self.cls._table().by_name else self.derived(name)
            if derived:
                if len(derived) > 1:
                    places = " and ".join(f"{each.__module__}.{each.__qualname__}" for each in derived)
                    faults.add(path, f'"{name}" may be {places}; give one of them another name')
                    return value
                return Struct(derived[0]).read_fields(content, (path, name), faults)
        return self.read_fields(value, path, faults)

    def read_fields(self, value: Any, path: Path, faults: Faults) -> Any:
        """A config of exactly this class, from the object of its fields."""
        if type(value) is not dict:
            faults.unexpected(path, f"an object for {self.expected}", value, as_json=True)
            return value
        return self.cls._table(self.arguments).read(value, path, faults)

    def derived(self, name: str) -> list[type[Fields]]:
        """The classes of that name derived from this one."""
        found, waiting = [], self.cls.__subclasses__()
        while waiting:
            each = waiting.pop()
            found += [each] if each.__name__ == name else []
            waiting += each.__subclasses__()
        return found


class Choice(Kind):
    """A variant of an enumeration."""

    def __init__(self, cls: type[Enumeration]) -> None:
        self.cls = cls

    @property
    def expected(self) -> str:
        return self.cls.__name__

    def take(self, value: Any, path: Path, faults: Faults) -> Any:
        if not isinstance(value, self.cls):
            variants = self.cls._enumeration().variants()
            name = next((name for name, each in variants.items() if each is value or name == value), None)
            meant = "" if name is None else f".{name}" + ("(...)" if isinstance(variants[name], type) else "")
            faults.unexpected(path, self.expected + meant, value)
        return value

    def write(self, value: Any, path: Path, faults: Faults) -> Any:
        name = value._variant_name()
        if value._is_unit():
            return name
        place = (path, name)
        table = type(value)._table()
        if not value._is_positional():
            return {name: table.write(value, place, faults)}
        written = list(table.write(value, place, faults).values())
        return {name: written[0] if len(written) == 1 else written}

    def read(self, value: Any, path: Path, faults: Faults) -> Any:
        variants = self.cls._enumeration().variants()
        if type(value) is str:
            name, content = value, None
        elif type(value) is dict and len(value) == 1:
            ((name, content),) = value.items()
        else:
            names = " or ".join(
                f'"{name}"' if not isinstance(each, type) else f'{{"{name}": ...}}' for name, each in variants.items()
            )
            faults.unexpected(path, f"{self.expected}, that is {names}", value, as_json=True)
            return value
        if name not in variants:
            faults.add(path, f'{self.expected} has no variant "{name}"{did_you_mean(name, variants, quote=chr(34))}')
            return value
        found = variants[name]
        if not isinstance(found, type):
            if content is not None:
                faults.add((path, name), f'a variant without fields: write "{name}", got {show_json(value)}')
            elif not isinstance(found, self.cls):
                faults.add(path, f'expected the variant "{self.cls._variant_name()}", got "{name}"')
            return found
        if not issubclass(found, self.cls):
            faults.add(path, f'expected the variant "{self.cls._variant_name()}", got "{name}"')
            return value
        return self._fields(found, content, (path, name), faults)

    def _fields(self, variant: type[Enumeration], content: Any, path: Path, faults: Faults) -> Any:
        """The variant, from an object of its fields or a list of them in order; a single one stands alone."""
        table = variant._table()
        if not variant._is_positional():
            content = {} if content is None else content
            if type(content) is dict:
                return table.read(content, path, faults)
        elif len(table.fields) == 1:
            before = len(faults)
            value = table.fields[0].kind.read(content, path, faults)
            return (
                value
                if len(faults) > before
                else table.check(variant._from_fields({table.fields[0].name: value}), path, faults)
            )
        if type(content) in (list, tuple) and len(content) == len(table.fields):
            return table.read(dict(zip(table.by_name, content)), path, faults)
        shape = f"a list of {len(table.fields)}" if variant._is_positional() else "an object of its fields"
        faults.unexpected(path, shape, content, as_json=True)
        return content
