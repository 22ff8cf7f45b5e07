"""Models from files: ONNX, what `burn-import` wrote, and records of the Rust server, told apart by what lies there.

    open_model(Path("mnist_burn.mpk"), device)     # with mnist_burn.json beside it
    open_model(Path("model.onnx"), device)         # imported on the fly

Nothing of a file is executed. The `.py` of an import is used only when the caller allows it and its checksum is the
one in the `.json`. A file that is no model is an error that says what is missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import burn
from burn import Device
from burn.errors import BurnError
from furnace import datatypes
from furnace.errors import ModelError
from furnace.models.preprocessing import declared
from furnace.models.served import ServedModel
from furnace.models.serving import serve_graph, serve_module
from furnace.signature import Signature, Size, TensorSpec

RECORDS = (".mpk", ".mpk.gz", ".bin", ".bin.gz")


def open_model(
    path: Path, device: Device, *, name: str | None = None, version: str = "1", allow_source: bool = False
) -> ServedModel:
    """The model of a file, ready to run on `device`; ModelError when it cannot be served.

    `path` is an `.onnx`, or a `.mpk` with its `.json` beside it; `name` is the file's without one, and `version` what
    clients are told. Nothing in a file is run, unless `allow_source` lets the `.py` beside it.

    >>> import onnx
    >>> from pathlib import Path
    >>> from furnace import open_model
    >>> text = '<ir_version: 8, opset_import: ["": 17]> graph (float[N, 2] x) => (float[N, 2] y) { y = Relu(x) }'
    >>> onnx.save(onnx.parser.parse_model(text), "relu.onnx")
    >>> model = open_model(Path("relu.onnx"), burn.NdArray())
    >>> model.name, [spec.name for spec in model.signature.inputs]
    ('relu', ['x'])
    """
    if not path.exists():
        raise ModelError(f"model: there is no file {str(path)!r}")
    stem, extension = _parts(path)
    name = name or stem
    try:
        if extension in (".onnx", ".ort"):
            return _from_onnx(path, device, name, version)
        if extension in RECORDS:
            return _from_record(path, path.with_name(f"{stem}.json"), device, name, version, allow_source)
    except ModelError:
        raise
    except (BurnError, OSError) as error:
        raise ModelError(f"model {name!r}: {str(path)!r} cannot be loaded: {error}") from error
    raise ModelError(
        f"model: {path.name!r} is of no kind that can be served; give a .onnx file, or the "
        f"{', '.join(RECORDS)} file that burn-import wrote"
    )


def _parts(path: Path) -> tuple[str, str]:
    name = path.name
    for extension in (*RECORDS[::-1], ".onnx", ".ort"):
        if name.endswith(extension):
            return name[: -len(extension)], extension
    return path.stem, path.suffix


def _from_onnx(path: Path, device: Device, name: str, version: str) -> ServedModel:
    from burn_import.onnx.importing import import_model
    from burn_import.onnx.kept import opening_of
    from burn_import.onnx.loading import loaded
    from burn_import.onnx.metadata import describe

    imported = import_model(path)
    described = describe(imported, None, name=name, files={}, options={}, program=None)
    module = loaded(imported, device, opening_of(path, device))
    described["preprocessing"] = _preprocessing_beside(path)
    return _from_described(module, described, device, name, version, "onnx")


def _from_record(path: Path, beside: Path, device: Device, name: str, version: str, allow_source: bool) -> ServedModel:
    described = _read_metadata(beside)
    if described is not None and described.get("format") == "burn-import":
        from burn_import.onnx import open_program

        if described.get("program") is None and allow_source:
            return _from_described(_from_source(path, described, device), described, device, name, version, "burn")
        module = open_program(beside, path, device)
        return _from_described(module, described, device, name, version, "burn")
    if described is not None and described.get("model_type") == "mlp":
        from furnace.models.perceptron import open_perceptron

        return open_perceptron(path, described, device, name=name, version=version)
    raise ModelError(_without_metadata(path, beside, described))


def _from_source(path: Path, described: dict[str, Any], device: Device) -> Any:
    from burn_import.onnx.metadata import file_checksum
    from burn_import.onnx.modules import open_files

    source = path.with_name(f"{_parts(path)[0]}.py")
    expected = described.get("checksums", {}).get("code")
    if not source.exists():
        raise ModelError(f"model: {source.name!r} is not beside {path.name!r}")
    if expected is None or file_checksum(source) != expected:
        raise ModelError(
            f"model: {source.name!r} is not the file that burn-import wrote (its checksum differs from the one in the "
            f".json); import again with `burn-import`, or serve the program of the .json without --allow-source"
        )
    return open_files(source, path, described, device)


def _from_described(
    module: Any, described: dict[str, Any], device: Device, name: str, version: str, platform: str
) -> ServedModel:
    signature = Signature(
        tuple(_spec(each) for each in described["inputs"]), tuple(_spec(each) for each in described["outputs"])
    )
    kept = ("producer", "producer_version", "opset", "import_version", "graph", "operators")
    from burn_import.onnx.loading import runtime_of

    runtime = runtime_of(module)
    if runtime is None:
        made = serve_module(module, device, signature, name=name, version=version)
    else:
        made = serve_graph(module, runtime, device, signature, name=name, version=version)
    made.platform, made.preprocessing = platform, described.get("preprocessing")
    declared(made.preprocessing, signature.inputs)  # what is wrong with it is told now, not at the first picture
    made.metadata = {key: described[key] for key in kept if key in described}
    return made


def _spec(described: dict[str, Any]) -> TensorSpec:
    shape: tuple[Size, ...] | None = None
    if described.get("shape") is not None:
        shape = tuple(size if isinstance(size, int) else str(size) for size in described["shape"])
    optional = str(described.get("type", "")).startswith("optional")
    return TensorSpec(described["name"], datatypes.from_metadata(described.get("dtype")), shape, optional)


def _read_metadata(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ModelError(f"model: {path.name!r} cannot be read: {error}") from error
    return found if isinstance(found, dict) else None


def _preprocessing_beside(path: Path) -> Any:
    described = _read_metadata(path.with_suffix(".json")) if path.with_suffix(".json").exists() else None
    return None if described is None else described.get("preprocessing")


def _without_metadata(path: Path, beside: Path, described: dict[str, Any] | None) -> str:
    why = (
        f"there is no {beside.name!r} beside it" if described is None else f"{beside.name!r} says nothing that is known"
    )
    held = ", ".join(_held(path)) or "no tensors that can be read without names"
    return (
        f"model: {path.name!r} is a record, and {why}, so what to compute with it is not known; it holds {held}. "
        "Convert the model with `burn-import --input model.onnx --output name`, which writes both files"
    )


def _held(path: Path) -> list[str]:
    from burn.record import NamedMpkFileRecorder, NamedMpkGzFileRecorder

    recorder: Any = NamedMpkGzFileRecorder() if path.name.endswith(".gz") else NamedMpkFileRecorder()
    try:
        record = recorder.load(path, burn.NdArray())
        return list(_tensors(record.item))[:40] if record.is_described else []
    except (BurnError, OSError):
        return []


def _tensors(item: Any, path: str = "") -> Any:
    if isinstance(item, dict):
        for key, value in item.items():
            yield from _tensors(value, f"{path}.{key}" if path else str(key))
    elif isinstance(item, list):
        for index, value in enumerate(item):
            yield from _tensors(value, f"{path}.{index}")
    elif hasattr(item, "data"):
        yield f"{path} {list(item.data.shape)}"
