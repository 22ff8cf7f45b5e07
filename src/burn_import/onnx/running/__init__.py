"""A prepared graph that runs as it stands: evaluated by the rows of operators, recorded, and replayed."""

from burn_import.onnx.running.runtime import Runtime
from burn_import.onnx.running.weights import FileWeights, Weights

__all__ = ["FileWeights", "Runtime", "Weights"]
