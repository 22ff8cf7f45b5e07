"""A digit, recognised by an ONNX model."""
