"""What clients speak: Furnace's JSON, the Open Inference Protocol, KServe v1, and the endpoints of operators."""
