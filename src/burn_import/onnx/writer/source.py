"""The whole generated file: header, imports, the class with its fields, `forward`, and the ways to load it.

What is written depends on the model alone, so the same file always gives the same source.
"""

from __future__ import annotations

import re
from dataclasses import field
from pathlib import PurePath

from burn.classes import dataclass
from burn.version import __version__
from burn_import.onnx.code.classes import Classes, described, model_lines, signature_lines
from burn_import.onnx.code.expression import literal
from burn_import.onnx.code.fields import Fields, Source
from burn_import.onnx.code.layout import lay_out
from burn_import.onnx.errors import OnnxError
from burn_import.onnx.ir.graph import Node
from burn_import.onnx.ir.model import Model
from burn_import.onnx.operators.missing import check_operators
from burn_import.onnx.writer.function import FunctionWriter


@dataclass(slots=True)
class Written:
    """A model as source, with the weights that its fields are filled with and the names of its arguments."""

    source: str
    weights: dict[str, Source]
    inputs: list[tuple[str, str]] = field(default_factory=list)  # name in the file, name of the argument
    outputs: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Loading:
    """How the generated class finds its weights: the recorder's names, the file beside the source, embedded bytes."""

    recorder: str = "NamedMpkFileRecorder()"
    bytes_recorder: str | None = "NamedMpkBytesRecorder()"
    file: str | None = None
    embedded: str | None = None


def write(model: Model, loading: Loading | None = None, opset: int = 0) -> Written:
    """The source of a prepared model. Everything that cannot be written is one error.

    `opset` is the operator set of the file, which lifting has changed since.
    """
    check_operators(model)
    fields, classes = Fields(), Classes()
    function = FunctionWriter(model.graph, fields, classes)
    results = function.run()
    if fields.has_copies():  # blocks that share a weight after all: in one class it is one field
        fields, classes = Fields(), Classes()
        function = FunctionWriter(model.graph, fields, classes)
        results = function.run(split=False)
    if function.faults:
        raise OnnxError("import", [f"{_where(node)}: {reason}" for node, reason in function.faults])
    function.statement(function.returned(results))
    body = [
        *classes.lines(),
        "class Model(Module):",
        *_docstring(model),
        "",
        *model_lines(fields),
        "",
        *(line.text() for line in signature_lines(function, model.graph.outputs, _gives(model, function))),
        *(line.text() for line in (*function.prologue(), *function.lines)),
        "",
        *_loaders(loading or Loading()),
    ]
    head = [*_header(model, opset), *_imports(function, classes, "\n".join(body)), "", ""]
    source = "\n".join(line.rstrip() for line in (*head, *body)) + "\n"
    return Written(
        source,
        fields.weights(),
        [(value.name, name) for value, name in function.parameters],
        list(model.graph.output_names),
    )


def _where(node: Node) -> str:
    return f"{node.operator} {node.name or node.outputs[0].name!r}"


def plain(text: str) -> str:
    """Text of a model for a comment: one line of printable ASCII."""
    kept = "".join(character if character.isascii() and character.isprintable() else "?" for character in text)
    return kept.replace('"', "'").replace("\\", "/")[:80]


def _header(model: Model, opset: int) -> list[str]:
    name = plain(PurePath(model.source).name) if model.source else "a model in memory"
    producer = plain(f"{model.producer_name} {model.producer_version}".strip()) or "unknown"
    return [
        f"# Written by burn-import {__version__} from {name}",
        f"# (opset {opset}, producer: {producer}).",
        "# This file is yours: read it, edit it, train it. burn-import asks before it replaces an edited file.",
        "",
    ]


def _imports(function: FunctionWriter, classes: Classes, body: str) -> list[str]:
    """The imports that the body needs."""
    found = {module: set(names) for module, names in function.imports.items()}
    for module, names in classes.imports.items():
        found.setdefault(module, set()).update(names)
    words = set(re.findall(r"\w+", body))
    found = {module: names & words for module, names in found.items() if names & words or module == "numpy"}
    typed = ["from typing import Any"] if re.search(r"\bAny\b", body) else []
    lines = ["from __future__ import annotations", "", "from pathlib import Path", *typed, ""]
    if "numpy" in found:
        lines += ["import numpy as np", ""]
    used = [name for name in ("Device", "Module", "Param", "Tensor", "nn") if re.search(rf"\b{name}\b", body)]
    lines += ["import burn", f"from burn import {', '.join(used)}"]
    for module in sorted(set(found) - {"numpy"}):
        listed = ", ".join(sorted(found[module]))
        line = f"from {module} import {listed}"
        lines += lay_out(line if len(line) <= 110 else f"from {module} import ({listed})", 0)
    return lines


def _docstring(model: Model) -> list[str]:
    name = plain(model.graph.name) or "model"
    return [f'    """The graph {name}."""']


def _gives(model: Model, function: FunctionWriter) -> str:
    names = [
        f"{plain(name)} {described(value, function)}"
        for name, value in zip(model.graph.output_names, model.graph.outputs)
    ]
    text = ", ".join(names)
    return f'"""Gives {text}."""' if len(text) < 85 else f'"""Gives {len(names)} results."""'


def _loaders(loading: Loading) -> list[str]:
    file = loading.file
    lines = [
        "    @classmethod",
        "    def default(cls) -> Model:",
        '        """The model with its trained weights, on the default device."""',
    ]
    if loading.embedded is not None:
        lines.append("        return cls.from_embedded(burn.default_device())")
    elif file is None:
        lines.append(
            '        raise RuntimeError("default: this source was written without weights; give from_file a path")'
        )
    else:
        lines.append(
            f"        return cls.from_file(Path(__file__).with_name({literal(file).text}), burn.default_device())"
        )
    lines += [
        "",
        "    @classmethod",
        "    def from_file(cls, path: str | Path, device: Device) -> Model:",
        '        """The model with the weights of a file."""',
        f"        return cls(device).load_file(path, burn.record.{loading.recorder})",
        "",
    ]
    lines += [
        "    @classmethod",
        "    def from_bytes(cls, data: bytes, device: Device) -> Model:",
        '        """The model with the weights that some bytes hold."""',
    ]
    if loading.bytes_recorder is not None:
        lines.append(f"        return cls(device).load_record(burn.record.{loading.bytes_recorder}.load(data))")
    else:
        lines += [
            "        from io import BytesIO",
            "",
            f"        return cls(device).load_record(burn.record.{loading.recorder}.load(BytesIO(data)))",
        ]
    lines.append("")
    lines += [
        "    @classmethod",
        "    def from_embedded(cls, device: Device) -> Model:",
        '        """The model with the weights that stand in this file."""',
    ]
    if loading.embedded is None:
        lines.append('        raise RuntimeError("from_embedded: no weights are in this file; import it with --embed")')
        return lines
    lines += [
        "        from base64 import b85decode",
        "",
        "        return cls.from_bytes(b85decode(_WEIGHTS), device)",
        "",
        "",
    ]
    lines.append("_WEIGHTS = (")
    data = loading.embedded
    lines += [f'    "{data[start : start + 100]}"' for start in range(0, len(data), 100)] or ['    ""']
    lines.append(")")
    return lines
