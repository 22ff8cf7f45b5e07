"""Random tests of the product: `python -m tests.fuzz networks|programs|layers|onnx --n 100 --seed 0`."""
