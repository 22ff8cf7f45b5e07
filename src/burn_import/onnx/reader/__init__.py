"""From a file to the graph: the only place that knows protobuf, tensor encodings and external data.

`read` takes a path, bytes, a binary file or a `ModelProto` and gives an `ir.Model`. Nothing of the `onnx` package is
needed: `wire` decodes the format along the tables of `messages`, `runtime_format` reads `.ort` files into the same
messages, `tensors` and `external` find the elements without copying them, and `build` makes the graph, collecting
every fault on the way.
"""

from burn_import.onnx.reader.build import read

__all__ = ["read"]
