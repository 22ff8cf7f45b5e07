"""Measurements: `python -m benches.<name>`. They print ratios and differences; no test asserts a time."""
