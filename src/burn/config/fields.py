"""Fields: a class whose annotations are its constructor.

    class ModelConfig(Config):
        num_classes: int
        dropout: float = 0.5

Fields without a default are positional, in the order in which they stand; fields with one may follow
by position when they stand after all of these, and always go by name. An optional field that says
nothing defaults to None. The table of fields is built on first use, since annotations may name classes
that come later and most classes of a library are never used by a program.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, get_args, get_origin

from typing_extensions import dataclass_transform

from burn.config.faults import ConfigError, Faults, Path, did_you_mean, fail, instead, show_path
from burn.config.kinds import Kind
from burn.config.names import Names, Scope, own_annotations, scope_of_caller
from burn.config.spelling import spell, spell_call
from burn.config.types import Types, Unsupported
from burn.config.union import Union

ABSENT: Any = dataclasses.MISSING


class Field:
    """One field: its name, its kind, and what it is when it is not given."""

    __slots__ = ("name", "kind", "annotation", "default", "make", "by_name_only")

    def __init__(self, name: str, kind: Kind, annotation: Any) -> None:
        self.name = name
        self.kind = kind
        self.annotation = annotation
        self.default: Any = ABSENT
        self.make: Callable[[], Any] | None = None
        self.by_name_only = False

    @property
    def is_required(self) -> bool:
        return self.default is ABSENT and self.make is None


class Table:
    """The fields of one class."""

    def __init__(self, cls: type[Fields], fields: list[Field]) -> None:
        self.cls = cls
        self.fields = tuple(fields)
        self.by_name = {field.name: field for field in fields}
        self.positional = _positional(fields)
        self.required = tuple(field.name for field in fields if field.is_required)
        self.row = tuple((field.name, field.kind.exact, field.kind.take, field.default, field.make) for field in fields)
        self.validates = cls.__validate__ is not Fields.__validate__

    def make(self, given: dict[str, Any], path: Path, faults: Faults) -> dict[str, Any]:
        """The values of all fields from those given; uses up `given`."""
        values: dict[str, Any] = {}
        for name, exact, take, default, make in self.row:
            if name in given:
                value = given.pop(name)
                values[name] = value if type(value) is exact else take(value, (path, name), faults)
            elif make is not None:
                values[name] = make()
            elif default is ABSENT:
                faults.add((path, name), f"missing; expected {self.by_name[name].kind.expected}")
            else:
                values[name] = default
        for name in given:
            faults.add((path, name), f"{self.cls.__name__} has no such field{instead(name, self.by_name)}")
        return values

    def write(self, value: Fields, path: Path, faults: Faults) -> dict[str, Any]:
        """The fields of a value as plain JSON data."""
        values = vars(value)
        return {field.name: field.kind.write(values[field.name], (path, field.name), faults) for field in self.fields}

    def read(self, data: Mapping[str, Any], path: Path, faults: Faults) -> Any:
        """The value that plain JSON data describes."""
        before = len(faults)
        values: dict[str, Any] = {}
        for field in self.fields:
            place = (path, field.name)
            if field.name in data:
                values[field.name] = field.kind.read(data[field.name], place, faults)
            elif field.is_required:
                faults.add(place, f"missing; expected {field.kind.expected}")
            else:
                values[field.name] = field.default if field.make is None else field.make()
        for name in data:
            if name not in self.by_name:
                faults.add((path, str(name)), f"{self.cls.__name__} has no such field{instead(name, self.by_name)}")
        if len(faults) > before:
            return None
        return self.check(self.cls._from_fields(values), path, faults)

    def check(self, made: Any, path: Path, faults: Faults) -> Any:
        """Let a value look at itself once all its fields are there."""
        if self.validates:
            for sentence in made.__validate__():
                faults.add(path, sentence)
        return made


def _positional(fields: list[Field]) -> tuple[str, ...]:
    """The fields that may be given by position: the required ones, then those with a default that follow them all."""
    free = [field for field in fields if not field.by_name_only]
    last = max((index for index, field in enumerate(free) if field.is_required), default=-1)
    return tuple(field.name for index, field in enumerate(free) if field.is_required or index > last)


class _OfClass:
    """An attribute computed from the table of the class that is asked."""

    def __init__(self, compute: Callable[[type[Fields]], Any]) -> None:
        self.compute = compute

    def __get__(self, instance: object, owner: type[Fields]) -> Any:
        return self.compute(owner)


@dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field,))
class Fields:
    """Values with typed fields: checked when made, immutable, equal by value, written as their source."""

    __scope: ClassVar[Scope | None] = None
    __tables: ClassVar[dict[tuple[Any, ...], Table]] = {}
    if not TYPE_CHECKING:
        __match_args__ = _OfClass(lambda cls: tuple(cls._table().by_name))
        __signature__ = _OfClass(lambda cls: _signature(cls))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__scope = scope_of_caller(cls)
        cls.__tables = {}

    def __init__(self, /, *args: object, **given: object) -> None:
        cls = type(self)
        table = cls.__tables.get(()) or cls._table()
        faults = Faults()
        if args:
            _place(table, args, given, faults)
        values = table.make(given, None, faults)
        self._finish(table, values, faults)

    def _finish(self, table: Table, values: dict[str, Any], faults: Faults) -> None:
        """Hold the values, if nothing is wrong with them."""
        if not faults:
            vars(self).update(values)
            table.check(self, None, faults)
        if faults:
            faults.raise_for(self._title())

    def __validate__(self) -> Iterable[str]:
        """What is wrong with fields that are right by their types, a sentence each; to be overridden."""
        return ()

    @classmethod
    def _title(cls) -> str:
        """The name of the class as its users write it."""
        return cls.__name__

    @classmethod
    def _table(cls, arguments: tuple[Any, ...] = ()) -> Table:
        """The fields of the class, with its type variables replaced by `arguments`."""
        table = cls.__tables.get(arguments)
        if table is None:
            table = cls.__tables[arguments] = Table(cls, cls.__read_fields(arguments))
            _add_builders(cls, table)
        return table

    @classmethod
    def __read_fields(cls, arguments: tuple[Any, ...]) -> list[Field]:
        """Read the annotations of the class and of those it derives from."""
        faults: list[str] = []
        fields: dict[str, Field] = {}
        variables = _variables(cls, arguments)
        for base in reversed(cls.__mro__):
            if not issubclass(base, Fields) or base is Fields:
                continue
            types = Types(cls, Names(base, base.__scope), variables.get(base, {}))
            for name, annotation in own_annotations(base).items():
                if _is_taken(cls, name):
                    faults.append(f"{name}: every config has a method of this name; choose another")
                    continue
                try:
                    fields[name] = Field(name, types.kind(annotation), annotation)
                except Unsupported as error:
                    faults.append(f"{name}: {error}")
        for field in fields.values():
            _find_default(cls, field, faults)
        if faults:
            fail(f"class {cls.__qualname__}", faults)
        return list(fields.values())

    @classmethod
    def _from_fields(cls, values: dict[str, Any]) -> Self:
        """A value whose fields were checked before."""
        made = cls.__new__(cls)
        vars(made).update(values)
        return made

    def replace(self, /, **changes: Any) -> Self:
        """A copy with other values for some of its fields: `changes` by name."""
        cls = type(self)
        table = cls._table()
        values = vars(self)
        faults = Faults()
        made = cls.__new__(cls)
        given = {**{name: values[name] for name in table.by_name}, **changes}
        made._finish(table, table.make(given, None, faults), faults)
        return made

    __replace__ = replace

    def __values(self) -> tuple[Any, ...]:
        values = vars(self)
        return tuple([values[name] for name in type(self)._table().by_name])

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self is other or self.__values() == other.__values()

    def __hash__(self) -> int:
        values = self.__values()
        try:
            return hash((type(self), values))
        except TypeError:
            name = next(name for name, value in zip(type(self)._table().by_name, values) if not _hashes(value))
            raise TypeError(
                f"hash: {self._title()}.{name} holds a {type(vars(self)[name]).__name__}, which may change; "
                "declare a tuple, a frozenset or a config"
            ) from None

    def __repr__(self) -> str:
        values = vars(self)
        return spell_call(self._title(), {name: values[name] for name in type(self)._table().by_name if name in values})

    def __setattr__(self, name: str, value: Any) -> None:
        known = type(self)._table().by_name
        if name in known:
            say = f"it does not change; write config = config.with_{name}({spell(value)})"
        else:
            say = f"it has no field {name!r}{did_you_mean(name, known)}"
        raise AttributeError(f"{self._title()}: {say}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{self._title()}: its fields are always there; {name!r} cannot be deleted")

    def __dir__(self) -> Iterable[str]:
        type(self)._table()
        return super().__dir__()


def attribute_error(value: Fields, name: str) -> Any:
    """What a name that the class does not have leads to: a builder not made yet, or an error that gives near names."""
    cls = type(value)
    if name.startswith("__"):
        raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")
    table = cls._table()
    if name.startswith("with_") and name[5:] in table.by_name:
        return getattr(cls, name).__get__(value)
    builders = [f"with_{each}" for each in table.by_name]
    known = (
        builders if name.startswith("with_") else [each for each in dir(cls) if each[0] != "_"] + list(table.by_name)
    )
    near = did_you_mean(name, dict.fromkeys(known))
    raise AttributeError(
        f"{cls._title()} has no attribute {name!r}{near if 'mean' in near or known is builders else ''}"
    )


def _place(table: Table, args: tuple[Any, ...], given: dict[str, Any], faults: Faults) -> None:
    """Give the positional arguments their names."""
    if len(args) > len(table.positional):
        takes = f"{len(table.positional)} by position" + (
            f" ({', '.join(table.positional)})" if table.positional else ""
        )
        rest = [name for name in table.by_name if name not in table.positional]
        faults.add(None, f"takes {takes}, got {len(args)}" + (f"; give {', '.join(rest)} by name" if rest else ""))
    for name, value in zip(table.positional, args):
        if name in given:
            faults.add((None, name), "given twice, by position and by name")
        given[name] = value


def _is_taken(cls: type, name: str) -> bool:
    """Whether a field of this name would hide a method that all configs have."""
    return any(name in vars(base) for base in cls.__mro__ if base.__module__.startswith("burn.config."))


def _variables(cls: type, arguments: tuple[Any, ...]) -> dict[type, dict[Any, Any]]:
    """What the type variables of a class and of those it derives from stand for."""
    own = dict(zip(getattr(cls, "__parameters__", ()), arguments))
    found = {cls: own}
    for written in vars(cls).get("__orig_bases__", ()):
        base = get_origin(written)
        if isinstance(base, type) and issubclass(base, Fields):
            found.update(_variables(base, tuple(own.get(part, part) for part in get_args(written))))
    for base in cls.__bases__:
        if base not in found and issubclass(base, Fields):
            found.update(_variables(base, ()))
    return found


def _find_default(cls: type[Fields], field: Field, faults: list[str]) -> None:
    """Find out what a field is when it is not given."""
    found = inspect.getattr_static(cls, field.name, ABSENT)
    if isinstance(found, dataclasses.Field):
        if not found.init:
            faults.append(f"{field.name}: a field is always an argument of the constructor; leave out init=False")
        field.by_name_only = found.kw_only is True
        factory: Any = found.default_factory
        field.make = None if factory is ABSENT else _checked(cls, field, factory)
        found = found.default
    if found is ABSENT:
        if field.make is None and isinstance(field.kind, Union) and field.kind.takes_none:
            field.default = None
        return
    wrong = Faults()
    default = field.kind.take(found, (None, field.name), wrong)
    faults += [f"{show_path(fault.path)}: its default does not fit: {fault.sentence}" for fault in wrong]
    if _hashes(default):
        field.default = default
    else:
        field.make = lambda: copy.deepcopy(default)


def _checked(cls: type[Fields], field: Field, factory: Callable[[], Any]) -> Callable[[], Any]:
    """The factory of a default, whose results are checked like values given."""

    def make() -> Any:
        made = field.kind.take(factory(), (None, field.name), faults := Faults())
        faults.raise_for(f"{cls._title()}: the default made for a field")
        return made

    return make


def _hashes(value: object) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _add_builders(cls: type[Fields], table: Table) -> None:
    """Give the class a `with_<field>` method per field, except where it has one of its own."""
    for field in table.fields:
        name = f"with_{field.name}"
        if not hasattr(cls, name):
            setattr(cls, name, _builder(cls, name, field))


def _builder(cls: type[Fields], name: str, field: Field) -> Callable[[Any, Any], Any]:
    changed = field.name

    def build(self: Fields, value: Any, /) -> Fields:
        return self.replace(**{changed: value})

    build.__name__ = name
    build.__qualname__ = f"{cls.__qualname__}.{name}"
    build.__module__ = cls.__module__
    build.__doc__ = f"A copy whose `{changed}` is `value`."
    build.__annotations__ = {"value": field.annotation, "return": cls.__name__}
    return build


def _signature(cls: type[Fields]) -> inspect.Signature | None:
    """The constructor as `help` and editors show it."""
    try:
        table = cls._table()
    except ConfigError:
        return None
    rest = [name for name in table.by_name if name not in table.positional]
    parameters = []
    for name in (*table.positional, *rest):
        field = table.by_name[name]
        how = inspect.Parameter.KEYWORD_ONLY if name in rest else inspect.Parameter.POSITIONAL_OR_KEYWORD
        default = inspect.Parameter.empty if field.is_required else field.make() if field.make else field.default
        parameters.append(inspect.Parameter(name, how, default=default, annotation=field.annotation))
    return inspect.Signature(parameters)
