"""From the graph to Python source: regions, the functions of a model, the file. It asks the rows of operators."""

from burn_import.onnx.operators.missing import check_operators
from burn_import.onnx.writer.source import Loading, Written, operators_of, write

__all__ = ["Loading", "Written", "check_operators", "operators_of", "write"]
