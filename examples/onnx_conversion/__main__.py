"""`python -m examples.onnx_conversion` runs the whole way and prints the table."""

from examples.onnx_conversion.test_onnx_conversion import main

raise SystemExit(main())
