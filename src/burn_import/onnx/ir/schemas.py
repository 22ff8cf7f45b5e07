"""What the standard says about each operator and version: names, counts and types of inputs, outputs and attributes.

The facts lie in `schemas.json`, written from the `onnx` package's own tables by

    python -m burn_import.onnx.ir.schemas

so that nothing of that package is needed to import a model. A test compares the two. Beside the standard's domains
there are the operators of ONNX Runtime's `com.microsoft` domain: of those only the name and version 1 are known here.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from functools import cache
from pathlib import Path
from typing import Any

from burn.classes import dataclass

FILE = Path(__file__).with_name("schemas.json")
DOMAINS = ("", "ai.onnx.ml", "ai.onnx.preview", "ai.onnx.preview.training")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One formal input or output. `kind` is "single", "optional" or "variadic"; `type` is a type variable such as
    `T`, or a type such as `tensor(int64)`."""

    name: str
    type: str
    kind: str = "single"


@dataclass(frozen=True, slots=True)
class AttributeSchema:
    """One attribute: its kind (`INT`, `FLOATS`, `GRAPH` ...), whether a node must have it, and its default."""

    kind: str
    required: bool
    default: Any = None


@dataclass(frozen=True, slots=True)
class Schema:
    """One version of one operator."""

    domain: str
    name: str
    version: int
    inputs: tuple[Parameter, ...]
    outputs: tuple[Parameter, ...]
    attributes: dict[str, AttributeSchema]
    min_inputs: int
    max_inputs: int
    min_outputs: int
    max_outputs: int
    deprecated: bool = False


@cache
def _table() -> dict[tuple[str, str], dict[int, Any]]:
    rows: list[dict[str, Any]] = json.loads(FILE.read_text(encoding="utf-8"))
    table: dict[tuple[str, str], dict[int, Any]] = {}
    for row in rows:
        table.setdefault((row["domain"], row["name"]), {})[row["version"]] = row
    return table


@cache
def versions(domain: str, name: str) -> tuple[int, ...]:
    """The versions of an operator, ascending; empty when it is unknown."""
    return tuple(sorted(_table().get((domain, name), ())))


@cache
def schema(domain: str, name: str, version: int) -> Schema | None:
    """The schema of exactly that version, or None."""
    row = _table().get((domain, name), {}).get(version)
    return None if row is None else _from_row(row)


@cache
def resolve(domain: str, name: str, opset: int) -> int | None:
    """The version of an operator that a graph importing `opset` means; None when there is none."""
    known = versions(domain, name)
    position = bisect_right(known, opset)
    return known[position - 1] if position else None


@cache
def newest(domain: str, name: str) -> int | None:
    """The newest version of an operator; None when it is unknown."""
    known = versions(domain, name)
    return known[-1] if known else None


@cache
def newest_opset(domain: str) -> int:
    """The newest operator set of a domain that this table knows; 0 for an unknown domain."""
    return max((max(found) for (of, _), found in _table().items() if of == domain), default=0)


def operators() -> tuple[tuple[str, str], ...]:
    """Every known (domain, name)."""
    return tuple(_table())


def _from_row(row: dict[str, Any]) -> Schema:
    return Schema(
        row["domain"],
        row["name"],
        row["version"],
        tuple(Parameter(*each) for each in row["inputs"]),
        tuple(Parameter(*each) for each in row["outputs"]),
        {name: AttributeSchema(*each) for name, each in row["attributes"].items()},
        row["counts"][0],
        row["counts"][1],
        row["counts"][2],
        row["counts"][3],
        row.get("deprecated", False),
    )


def rows_from_onnx() -> list[dict[str, Any]]:
    """The rows of the table, from the installed `onnx` package."""
    import onnx.defs
    import onnx.helper

    kinds = {0: "single", 1: "optional", 2: "variadic"}
    rows = []
    every: list[Any] = list(onnx.defs.get_all_schemas_with_history())
    for each in every:
        attributes = {}
        for name, attribute in sorted(each.attributes.items()):
            default: Any = None
            if attribute.default_value.name:
                default = onnx.helper.get_attribute_value(attribute.default_value)
                if isinstance(default, bytes):
                    default = default.decode()
                elif isinstance(default, list):
                    default = [item.decode() if isinstance(item, bytes) else item for item in default]
                elif not isinstance(default, int | float | str):
                    default = None
            entry = [attribute.type.name, bool(attribute.required)]
            attributes[name] = entry if default is None else [*entry, default]
        row: dict[str, Any] = {
            "domain": each.domain,
            "name": each.name,
            "version": each.since_version,
            "inputs": [_parameter(one, kinds[int(one.option.value)]) for one in each.inputs],
            "outputs": [_parameter(one, kinds[int(one.option.value)]) for one in each.outputs],
            "attributes": attributes,
            "counts": [each.min_input, each.max_input, each.min_output, each.max_output],
        }
        if each.deprecated:
            row["deprecated"] = True
        rows.append(row)
    return sorted(rows, key=lambda row: (row["domain"], row["name"], row["version"]))


def _parameter(formal: Any, kind: str) -> list[str]:
    types = sorted(formal.types)
    of = types[0] if len(types) == 1 else formal.type_str  # a variable that stands for one type only is that type
    return [formal.name, of] if kind == "single" else [formal.name, of, kind]


def write() -> None:
    """Write the table anew from the installed `onnx` package."""
    lines = ",\n".join(json.dumps(row, separators=(",", ":")) for row in rows_from_onnx())
    FILE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    write()
