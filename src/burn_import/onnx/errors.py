"""The one error of the ONNX importer: every fault of a file or graph, listed at once."""

from __future__ import annotations

from collections.abc import Sequence

from burn.errors import BurnError


class OnnxError(BurnError, ValueError):
    """A file that is no valid ONNX model, or a graph that breaks the rules; `faults` holds the single sentences.

    >>> from burn_import.onnx import OnnxError, load
    >>> try:
    ...     load(b"no model")
    ... except OnnxError as error:
    ...     print(len(error.faults))
    1
    """

    def __init__(self, operation: str, faults: Sequence[str]) -> None:
        self.operation = operation
        self.faults = tuple(faults)
        super().__init__(_message(operation, self.faults))


class TextOnly(Exception):
    """Something that can be written and not be run as it is."""


LIMIT = 50  # a message with thousands of lines helps nobody


def _message(operation: str, faults: tuple[str, ...]) -> str:
    if len(faults) == 1:
        return f"{operation}: {faults[0]}"
    lines = [f"  {number}. {fault}" for number, fault in enumerate(faults[:LIMIT], 1)]
    if len(faults) > LIMIT:
        lines.append(f"  ... and {len(faults) - LIMIT} more")
    return f"{operation}: {len(faults)} faults\n" + "\n".join(lines)
