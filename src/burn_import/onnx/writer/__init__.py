"""From the graph to Python source: regions, the functions of a model, the file. It asks the rows of operators."""

from burn_import.onnx.operators.missing import check_operators, operators_of
from burn_import.onnx.writer.source import Loading, Written, write

__all__ = ["Loading", "Written", "check_operators", "operators_of", "write"]
