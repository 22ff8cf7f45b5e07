"""`burn-bench`: our devices and every installed peer on the same work, in turns.

A benchmark (`benchmark.py`) says how each engine does one piece of work and what the answer is. Every
engine lives in a process of its own (`worker.py`, `process.py`), stopped while another one works. The
runner (`runner.py`) asks them for blocks in alternating order, so that neighbours in time are
compared; `spread.py` turns the blocks into medians, quartiles and verdicts.
"""
