"""Models of the ONNX model zoo through the whole way: onnxruntime, burn-import, furnace."""
