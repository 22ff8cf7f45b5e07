"""Measurements: `python -m benches` is burn-bench, `python -m benches.dispatch` what a call costs.

They print ratios and differences; no test asserts a time.
"""
