"""How each ONNX operator is written as Python: one file a family, one row an operator.

Every module of this package whose name is not one of the machinery's is loaded when the table is first asked for, so
a new family is a new file. `docs/contributing/onnx-operator.md` shows how to write one.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from burn_import.onnx.operators.registry import ROWS, Row, operator

__all__ = ["Row", "operator", "rows"]

_MACHINERY = {"registry", "operation", "values", "executed", "missing"}


@cache
def _load() -> None:
    added = dict(ROWS)  # rows of a user, which stand even where we have one
    ROWS.clear()
    for each in pkgutil.iter_modules(__path__):
        if each.name not in _MACHINERY:
            importlib.import_module(f"{__name__}.{each.name}")
    ROWS.update(added)


def rows() -> dict[tuple[str, str], Row]:
    """Every row by domain and name."""
    _load()
    return ROWS
