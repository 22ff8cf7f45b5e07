"""Models from elsewhere: ONNX graphs, PyTorch and safetensors weights, as modules and records.

Nothing is exported yet.
"""

__all__: list[str] = []
