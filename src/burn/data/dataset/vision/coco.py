"""COCO annotation files: images, categories and boxes, all of one JSON object."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from burn.data.dataset.vision.annotation import BoundingBox, BoundingBoxes
from burn.errors import DataError, raise_faults

MOST_FAULTS = 20


def read_coco(path: Path) -> tuple[list[str], list[tuple[str, BoundingBoxes]]]:
    """The names of the classes, and each image's file name with its boxes, in the order of the file.

    COCO numbers its categories with gaps; here they are counted from 0 in the order of their ids. Annotations
    that stand for a crowd have no box of their own object and are left out.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise DataError(f"coco: there is no file {path}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"coco: {path} is not JSON: {error}") from None
    needed = ("images", "annotations", "categories")
    lacking = [name for name in needed if not isinstance(data, dict) or not isinstance(data.get(name), list)]
    if lacking:
        raise DataError(f"coco: {path} has no list {', '.join(lacking)}")
    faults: list[str] = []
    categories = _by_id(data["categories"], "name", "category", faults)
    images = _by_id(data["images"], "file_name", "image", faults)
    labels = {number: label for label, number in enumerate(sorted(categories))}
    boxes: dict[Any, list[BoundingBox]] = {number: [] for number in images}
    for index, each in enumerate(data["annotations"]):
        fault = _add(each, labels, boxes)
        if fault:
            faults.append(f"annotation {index}: {fault}")
        if len(faults) >= MOST_FAULTS:
            break
    raise_faults(f"coco: {path}", faults, DataError)
    names = [categories[number] for number in sorted(categories)]
    return names, [(name, BoundingBoxes(tuple(boxes[number]))) for number, name in images.items()]


def _by_id(rows: list[Any], field: str, what: str, faults: list[str]) -> dict[int, str]:
    found: dict[int, str] = {}
    for index, row in enumerate(rows):
        if isinstance(row, dict) and isinstance(row.get("id"), int) and isinstance(row.get(field), str):
            found[row["id"]] = row[field]
        elif len(faults) < MOST_FAULTS:
            faults.append(f"{what} {index}: has no id or no {field}")
    return found


def _add(row: Any, labels: dict[int, int], boxes: dict[Any, list[BoundingBox]]) -> str | None:
    """Add the box of one annotation; what is wrong with it, if something is."""
    if not isinstance(row, dict):
        return "is not an object"
    if row.get("iscrowd"):
        return None
    if row.get("image_id") not in boxes:
        return f"there is no image {row.get('image_id')}"
    if row.get("category_id") not in labels:
        return f"there is no category {row.get('category_id')}"
    box = row.get("bbox")
    if not isinstance(box, list) or len(box) != 4 or not all(isinstance(each, int | float) for each in box):
        return f"bbox is {box!r}, not four numbers"
    x, y, width, height = (float(each) for each in box)
    boxes[row["image_id"]].append(BoundingBox((x, y, width, height), labels[row["category_id"]]))
    return None
