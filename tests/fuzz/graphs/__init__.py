"""Random ONNX graphs, imported by us and run by ONNX Runtime."""
