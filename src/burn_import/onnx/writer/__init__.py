"""From the graph to Python source: expressions, names, fields, the function, the file."""

from burn_import.onnx.writer.source import Loading, Written, check_operators, operators_of, write

__all__ = ["Loading", "Written", "check_operators", "operators_of", "write"]
