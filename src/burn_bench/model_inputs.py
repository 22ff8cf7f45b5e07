"""Random inputs for ONNX files: what shapes, what numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from burn.errors import ArgumentError

FLOATS = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}


def inputs_for(
    session: Any, shapes: Mapping[str, Sequence[int]], seed: int = 0, positive: bool = False
) -> dict[str, Any]:
    """Random inputs: normal floats (from 0 to 1 if `positive`), bytes, truth values, whole numbers 0 and 1.

    Those are valid indices everywhere. A sample rate is 16000: models of speech branch on it.
    """
    generator = np.random.default_rng(seed)
    made: dict[str, Any] = {}
    for each in session.get_inputs():
        if each.name not in shapes:
            continue
        shape, kind = tuple(shapes[each.name]), each.type
        if kind in FLOATS:
            numbers = generator.random(shape) if positive else generator.standard_normal(shape)
            made[each.name] = np.asarray(numbers, FLOATS[kind])
        elif kind == "tensor(bool)":
            made[each.name] = generator.integers(0, 2, shape).astype(bool)
        elif kind == "tensor(uint8)":
            made[each.name] = generator.integers(0, 256, shape).astype(np.uint8)
        elif each.name == "sr":
            made[each.name] = np.full(shape, 16000, np.int64)
        elif kind == "tensor(string)":
            made[each.name] = np.full(shape, "a", object)
        else:
            made[each.name] = generator.integers(0, 2, shape).astype(kind[len("tensor(") : -1])
    return made


def shapes_of(session: Any, sizes: Mapping[str, int]) -> dict[str, tuple[int, ...]]:
    """The shapes that a file gives its inputs; a size that it leaves open is the one given for its name, else 1."""
    return {
        each.name: tuple(size if isinstance(size, int) else sizes.get(str(size), 1) for size in each.shape)
        for each in session.get_inputs()
    }


def sizes_from(words: Sequence[str]) -> dict[str, int]:
    """`batch=4 length=128` as a mapping."""
    faults, found = [], {}
    for word in words:
        name, equals, size = word.partition("=")
        if name and equals and size.isdecimal():
            found[name] = int(size)
        else:
            faults.append(word)
    if faults:
        raise ArgumentError(f"--size: {', '.join(map(repr, faults))}: write a name and its size, such as batch=4")
    return found


def listed_shapes(path: Path | None) -> dict[str, dict[str, list[int]]]:
    """Shapes of inputs by the end of a path: an object of them, or a list of rows with `path` and `in_shapes`."""
    if path is None:
        return {}
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(found, list):
            return {row["path"]: row["in_shapes"] for row in found if row.get("in_shapes")}
        return {str(name): dict(shapes) for name, shapes in found.items()}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise ArgumentError(
            f'--shapes: {path}: {error}; it holds {{"model.onnx": {{"input": [1, 3, 224, 224]}}}}'
        ) from None


def shapes_in(listed: Mapping[str, dict[str, list[int]]], model: Path) -> dict[str, list[int]] | None:
    """The shapes that a list has for a file."""
    place = model.as_posix()
    return next((shapes for end, shapes in listed.items() if place == end or place.endswith("/" + end)), None)
