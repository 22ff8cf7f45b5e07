"""Products of bytes as an oracle that is exact on every processor.

Without VNNI, ONNX Runtime adds pairs of u8 × i8 products in 16 bits, which saturate; its u8 × u8 products do not. So
signed bytes are given to it as unsigned ones, 128 higher, with zero points that are 128 higher: the same integers. What
it gives as bytes comes back 128 lower. `tests/onnx/test_exact_integers.py` holds this against sums in 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Operands = dict[int, tuple[int, int | None]]

OPERANDS: dict[str, Operands] = {
    "MatMulInteger": {0: (2, None), 1: (3, None)},
    "ConvInteger": {0: (2, None), 1: (3, None)},
    "QLinearMatMul": {0: (2, 1), 3: (5, 4)},
    "QLinearConv": {0: (2, 1), 3: (5, 4)},
    "QGemm": {0: (2, 1), 3: (5, 4)},
    "DynamicQuantizeMatMul": {1: (3, 2)},
    "MatMulIntegerToFloat": {0: (4, 2), 1: (5, 3)},
    "DynamicQuantizeLSTM": {1: (9, 8), 2: (11, 10)},
    "QAttention": {0: (6, 3), 1: (7, 4)},
}
"""Of nodes that multiply bytes, the operands, each with the places of its zero point and of its scale."""

RESULT = {"QLinearMatMul": 7, "QLinearConv": 7, "QGemm": 8}
"""The zero point of the result, where that is bytes too."""

HALF = 128


def unsigned(kind: str, inputs: list[Any]) -> tuple[list[Any], bool]:
    """The inputs of a node with unsigned bytes alone, and whether its result has to come back by 128."""
    given = list(inputs)
    for operand, (zero, scale) in OPERANDS.get(kind, {}).items():
        if given[operand] is None or given[operand].dtype != np.int8:
            continue
        given.extend([None] * (zero + 1 - len(given)))
        if given[zero] is None:
            given[zero] = np.zeros(() if scale is None else np.shape(given[scale]), np.int8)
        given[operand], given[zero] = _raised(given[operand]), _raised(given[zero])
    place = RESULT.get(kind)
    signed = place is not None and place < len(given) and given[place] is not None and given[place].dtype == np.int8
    if signed:
        given[place] = _raised(given[place])
    return given, signed


def lowered(result: Any) -> Any:
    """Unsigned bytes of a result as the signed ones they stand for."""
    return (result.astype(np.int16) - HALF).astype(np.int8)


def _raised(signed: Any) -> Any:
    return np.asarray(signed.astype(np.int16) + HALF, np.uint8)
