"""From the graph to Python source: expressions, names, fields, the function, the file.

Rows of operators build expressions and fields, and the function writer calls rows: what is loaded here is loaded when
it is asked for, so that either side may be imported first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from burn_import.onnx.writer.source import Loading, Written, check_operators, operators_of, write

__all__ = ["Loading", "Written", "check_operators", "operators_of", "write"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from burn_import.onnx.writer import source

        return getattr(source, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
