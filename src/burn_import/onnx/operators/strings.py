"""Operators on strings, which are NumPy arrays on the host, and those that only the host can do."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from burn_import.onnx.code.expression import Expression
from burn_import.onnx.ir.constant import Constant
from burn_import.onnx.ir.types import ElementType, MapType, TensorType
from burn_import.onnx.operators.calling import written
from burn_import.onnx.operators.operation import Operation
from burn_import.onnx.operators.registry import operator

ML = "ai.onnx.ml"


def words(op: Operation, name: str) -> list[str]:
    """A list of strings among the attributes."""
    return [each.decode() if isinstance(each, bytes) else str(each) for each in op.attribute(name) or ()]


@operator("StringConcat")
def concat(op: Operation) -> Expression:
    return written(op, "text", "concat", op.raw(0), op.raw(1)).other()


@operator("StringNormalizer")
def normalize(op: Operation) -> Expression:
    sensitive = op.flag("is_case_sensitive")
    case, left_out = op.attribute("case_change_action", "NONE"), words(op, "stopwords")
    return written(op, "text", "normalize", op.raw(0), case, left_out or (), sensitive).other()


@operator("StringSplit")
def split(op: Operation) -> list[Expression | None]:
    pair = op.assign(
        "parts",
        written(op, "text", "split", op.raw(0), op.attribute("delimiter") or None, op.attribute("maxsplit")),
    )
    return [pair.item(0).other(), op.new(pair.item(1), ElementType.i64)]


@operator("RegexFullMatch")
def matches(op: Operation) -> Expression:
    pattern = op.attribute("pattern")
    try:
        re.compile(pattern)
    except re.error as error:
        raise op.refuse(f"pattern {pattern!r}: {error}") from None
    return op.new(written(op, "text", "matches", op.raw(0), pattern), ElementType.bool_)


@operator("TfIdfVectorizer")
def count_sequences(op: Operation) -> Expression:
    """Words are counted as their places in the pool."""
    x, pool = op.raw(0), op.attribute("pool_int64s")
    if op.dtype() is ElementType.string:
        texts = words(op, "pool_strings")
        numbers = {each: place for place, each in reversed(list(enumerate(texts)))}
        pool = [numbers[each] for each in texts]
        x = op.new(written(op, "text", "positions", x, texts), ElementType.i64)
    indexes, weights = op.attribute("ngram_indexes"), op.attribute("weights")
    return written(
        op, "host", "count_sequences", x, _table(op, "pool", pool), _table(op, "starts", op.attribute("ngram_counts")),
        _table(op, "indexes", indexes), None if not weights else op.table("weights", np.asarray(weights, np.float32)),
        op.attribute("min_gram_length"), op.attribute("max_gram_length"), op.attribute("max_skip_count"),
        op.attribute("mode"), max(indexes) + 1,
    )  # fmt: skip


def _table(op: Operation, hint: str, values: Any) -> Expression:
    return op.table(hint, np.asarray(values, np.int64))


@operator("ImageDecoder")
def decode_image(op: Operation) -> Expression:
    return written(op, "host", "decode_image", op.x, op.attribute("pixel_format", "RGB"))


# Labels and categories


def _side(op: Operation, side: str) -> tuple[str, list[Any]]:
    """The keys or values of a label encoder, and the kind of attribute that has them."""
    for kind in ("strings", "int64s", "floats"):
        found = op.attribute(f"{side}_{kind}")
        if found:
            return kind, words(op, f"{side}_{kind}") if kind == "strings" else list(found)
    tensor = op.node.attributes.get(f"{side}_tensor")
    if not isinstance(tensor, Constant):
        raise op.refuse(f"no {side}")
    return "tensor", tensor.array.reshape(-1).tolist()


def _default(op: Operation, kind: str) -> Any:
    if kind == "tensor":
        found = op.node.attributes.get("default_tensor")
        if isinstance(found, Constant):
            return found.array.reshape(-1)[0].item() if found.array.dtype != object else str(found.array.reshape(-1)[0])
        return {ElementType.string: "_Unused", ElementType.i64: -1}.get(op.output_dtype(), -0.0)
    usual: dict[str, tuple[str, Any]] = {
        "strings": ("default_string", "_Unused"),
        "int64s": ("default_int64", -1),
        "floats": ("default_float", -0.0),
    }
    return op.attribute(*usual[kind])


@operator("LabelEncoder", domain=ML)
def label_encoder(op: Operation) -> Expression:
    _, keys = _side(op, "keys")
    kind, values = _side(op, "values")
    default, target = _default(op, kind), op.output_dtype()
    if op.dtype() is ElementType.string or target is ElementType.string:
        found = written(op, "text", "encode", op.raw(0), keys, values, default)
        return found.other() if target is ElementType.string else op.new(found, target)
    return op.cast(written(op, "classical", "encode_labels", op.x, keys, values, default), target)


@operator("CategoryMapper", domain=ML)
def category_mapper(op: Operation) -> Expression:
    numbers, names = list(op.attribute("cats_int64s") or ()), words(op, "cats_strings")
    if op.dtype() is ElementType.string:
        default = op.attribute("default_int64", -1)
        return op.new(written(op, "text", "encode", op.raw(0), names, numbers, default), ElementType.i64)
    return written(op, "text", "encode", op.x, numbers, names, op.attribute("default_string", "_Unused")).other()


@operator("OneHotEncoder", domain=ML)
def one_hot(op: Operation) -> Expression:
    """Unknown categories are zeros, as the operator's attribute `zeros` says by default."""
    if not op.attribute("zeros", 1):
        raise op.refuse("zeros=0, which makes unknown categories an error")
    if op.dtype() is ElementType.string:
        names = words(op, "cats_strings")
        x = op.new(written(op, "text", "positions", op.raw(0), names), ElementType.i64)
        return written(op, "classical", "one_hot_categories", x, _table(op, "categories", range(len(names))))
    return written(op, "classical", "one_hot_categories", op.x, _table(op, "categories", op.attribute("cats_int64s")))


@operator("ZipMap", domain=ML)
def zip_map(op: Operation) -> Expression:
    """One dict an item, from labels to numbers."""
    labels = words(op, "classlabels_strings") or list(op.attribute("classlabels_int64s") or ())
    return written(op, "text", "name_columns", op.x, labels).other()


@operator("DictVectorizer", domain=ML)
def dict_vectorizer(op: Operation) -> Expression:
    vocabulary = words(op, "string_vocabulary") or list(op.attribute("int64_vocabulary") or ())
    target = op.output_dtype()
    if target is ElementType.string:
        raise op.refuse("values that are strings")
    return op.new(written(op, "text", "values_of", op.raw(0), vocabulary), target)


@operator("CastMap", domain=ML)
def cast_map(op: Operation) -> Expression:
    """A dense map gives its values in the order of keys, a sparse one puts them at the places that keys name."""
    given = op.type(0)
    target = op.output_dtype()
    if target is ElementType.string or not isinstance(given, MapType) or _holds_text(given):
        raise op.refuse("maps to or from strings")
    places = list(range(op.attribute("max_map", 1))) if op.attribute("map_form", "DENSE") == "SPARSE" else None
    return op.new(written(op, "text", "values_of", op.raw(0), places), target)


def _holds_text(type_: MapType) -> bool:
    return isinstance(type_.value, TensorType) and type_.value.dtype is ElementType.string
