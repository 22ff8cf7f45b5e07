"""ONNX's own implementations as oracles of rows: one node, run by the standard's reference evaluator."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

OPSET = 26


def onnx_node(kind: str, *inputs: Any, outputs: int = 1, opset: int = OPSET, **attributes: Any) -> Any:
    """What a node of that kind computes; None stands for an absent input and is left out of the call."""
    arrays = [None if each is None else np.asarray(each.detach() if torch.is_tensor(each) else each) for each in inputs]
    names = ["" if each is None else f"x{i}" for i, each in enumerate(arrays)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(kind, names, results, **attributes)
    present = [(name, each) for name, each in zip(names, arrays, strict=True) if each is not None]
    values = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(each.dtype), each.shape)
        for name, each in present
    ]
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph([node], "oracle", values, made)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    found = ReferenceEvaluator(model).run(None, dict(present))
    tensors = tuple(torch.from_numpy(np.array(each)) for each in found)
    return tensors[0] if outputs == 1 else tensors
